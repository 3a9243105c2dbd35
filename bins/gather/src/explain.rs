//! What the pods of a deployment need beyond the Pod Security Standard *restricted*.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use handoff::bpm_info::BpmInfo;
use handoff::deployment::Deployment;
use handoff::output::{self, BPM_YAML, DEPLOYMENT_YAML};
use kubernetes_objects::{ScriptsAs, Standard, needs};
use problem::{IoContext, Problem, Problems, Result, code};
use workload::{Pod, Settings};

/// For each group the least standard that admits its pods, and below it what needs more than *restricted*. `planned` is the output
/// directory of `plan`.
pub(crate) fn security(planned: &Path, scripts_as: ScriptsAs) -> Result<String> {
    let text = document(planned, "deployment", DEPLOYMENT_YAML)?;
    let deployment = Deployment::decode(&text, &planned.display().to_string())?;
    // How long an instance has to stop does not matter here.
    let settings = Settings { grace: Duration::ZERO, template_settings: Vec::new() };
    let mut problems = Vec::new();
    let mut report = String::new();
    for group in &deployment.instance_groups {
        let file = format!("{}/bpm", group.name);
        let info = document(planned, &file, BPM_YAML).and_then(|text| BpmInfo::decode(&text, &file));
        match info {
            Ok(info) => add(&mut report, &Pod::new(&info, group, &settings), scripts_as),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    Problems::check(problems)?;
    Ok(report)
}

fn add(report: &mut String, pod: &Pod, scripts_as: ScriptsAs) {
    let needs = needs(pod, scripts_as);
    let least = needs.iter().map(|need| need.standard).max().unwrap_or(Standard::Restricted);
    // Writing to a String does not fail.
    let _ = writeln!(report, "{}: {}", pod.group, least.name());
    for need in needs {
        let _ = writeln!(report, "  {}: {}", need.container, need.what);
    }
}

fn document(planned: &Path, directory: &str, key: &str) -> Result<String> {
    let path = planned.join(directory).join("output.json");
    let text = match vcap::input::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let problem = Problem::input(format!("{} does not exist", path.display())).code(code::DOCUMENT_MISSING);
            return Err(problem.hint("`boson plan --output-dir DIR` writes it").into());
        }
        read => read.io("read", &path)?,
    };
    output::decode(&String::from_utf8_lossy(&text), key, &path.display().to_string())
}
