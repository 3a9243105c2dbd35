//! Every directory of `e2e/scenarios` is a test: it goes through the real stages, and the output of each is compared
//! with the numbered files.
//!
//! ```text
//! 1-manifest.yml                      in:  the deployment
//! 2-releases/<release>/               in:  its releases, as source directories
//! 3-output/<group>/ig-resolved.yaml   out: resolved by `plan`
//! 3-output/<group>/bpm.yaml           out: the processes found by `plan`
//! 4-rendered/<group>-<index>/<job>/   out: rendered by `render-jobs`, for each instance
//! 5-processes.txt                     out: the processes that `run-process` would run
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use e2e::{UPDATE, check, here, run};
use handoff::bpm_info::{BpmInfo, ErrandKind, Instance, Run, Service};
use handoff::deployment::Deployment;
use handoff::output::{BPM_YAML, DEPLOYMENT_YAML, PROPERTIES_YAML, decode};
use libtest_mimic::{Arguments, Failed, Trial};
use walkdir::WalkDir;

fn main() {
    // Built before the tests start, so that no test waits for it.
    let _ = testkit::executable("plan");
    let mut directories: Vec<PathBuf> = fs::read_dir(here().join("scenarios"))
        .expect("e2e/scenarios")
        .filter_map(Result::ok)
        .map(|e| e.path())
        .filter(|p| p.is_dir())
        .collect();
    directories.sort();
    // A scenario that changes is written once, and then compared with itself in the other isolation mode.
    let modes: &[&str] = if std::env::var_os(UPDATE).is_some() { &["auto"] } else { &["auto", "process"] };
    let trials = directories.into_iter().flat_map(|directory| {
        modes.iter().map(move |isolation| {
            let directory = directory.clone();
            let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Trial::test(format!("{name}/{isolation}"), move || scenario(&directory, isolation).map_err(Failed::from))
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

/// The output: the file's path in the scenario, and its content.
type Files = BTreeMap<String, String>;

/// Runs the stages in an isolation mode of templates.
fn scenario(directory: &Path, isolation: &str) -> Result<(), String> {
    let work = tempfile::tempdir().map_err(|e| e.to_string())?;
    let work = work.path();
    let base = work.join("all-releases");
    copy_jobs(&directory.join("2-releases"), &base)?;
    plan(&directory.join("1-manifest.yml"), &base, &work.join("output"), isolation)?;

    let mut files = Files::new();
    let mut processes = String::new();
    let deployment = document(&work.join("output/deployment"), DEPLOYMENT_YAML)?;
    for group in groups(&deployment)? {
        let group = work.join("output").join(group);
        let resolved = document(&group.join("ig-resolved"), PROPERTIES_YAML)?;
        let bpm = document(&group.join("bpm"), BPM_YAML)?;
        let info = BpmInfo::decode(&bpm, "bpm.yaml").map_err(|e| e.to_string())?;
        let name = info.group().name.clone();
        fs::write(work.join("properties.yaml"), &resolved).map_err(|e| e.to_string())?;
        for instance in &info.group().properties.quarks.instances {
            let jobs = work.join("jobs").join(format!("{name}-{}", instance.index));
            render_jobs(work, &base, &jobs, &info, instance, isolation)?;
            rendered(&jobs, &info, &format!("4-rendered/{name}-{}", instance.index), &mut files)?;
            list_processes(&jobs, &info, instance, &mut processes)?;
        }
        files.insert(format!("3-output/{name}/ig-resolved.yaml"), resolved);
        files.insert(format!("3-output/{name}/bpm.yaml"), bpm);
    }
    files.insert("3-output/deployment.yaml".to_owned(), deployment);
    files.insert("5-processes.txt".to_owned(), processes);
    compare(directory, &files)
}

/// Names of the groups, sorted.
fn groups(deployment: &str) -> Result<BTreeSet<String>, String> {
    let deployment = Deployment::decode(deployment, "deployment.yaml").map_err(|e| e.to_string())?;
    Ok(deployment.instance_groups.into_iter().map(|group| group.name).collect())
}

fn copy_jobs(releases: &Path, base: &Path) -> Result<(), String> {
    for release in children(releases)? {
        let name = release.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let from = text(&release.join("jobs"));
        let to = text(&base.join("jobs-src").join(name));
        succeed(&["copy-jobs", "--from", &from, "--to", &to], &[])?;
    }
    Ok(())
}

fn plan(manifest: &Path, base: &Path, output: &Path, isolation: &str) -> Result<(), String> {
    let (manifest, base, output) = (text(manifest), text(base), text(output));
    let environment = [("BOSH_MANIFEST_PATH", &*manifest), ("BASE_DIR", &base), ("TEMPLATE_ISOLATION", isolation)];
    succeed(&["plan", "--output-dir", &output], &environment)
}

fn render_jobs(
    work: &Path,
    base: &Path,
    jobs: &Path,
    info: &BpmInfo,
    instance: &Instance,
    isolation: &str,
) -> Result<(), String> {
    let group = info.group();
    let environment = [
        ("BOSH_MANIFEST_PATH", text(&work.join("properties.yaml"))),
        ("JOBS_DIR", text(base)),
        ("OUTPUT_DIR", text(jobs)),
        ("INSTANCE_GROUP_NAME", group.name.clone()),
        ("AZ_INDEX", instance.az_index.to_string()),
        ("REPLICAS", group.properties.quarks.replicas.to_string()),
        ("POD_ORDINAL", instance.ordinal.to_string()),
        ("POD_IP", format!("10.0.{}.{}", instance.az_index, 10 + instance.ordinal)),
        ("TEMPLATE_ISOLATION", isolation.to_owned()),
    ];
    let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    fs::create_dir_all(jobs).map_err(|e| e.to_string())?;
    succeed(&["render-jobs"], &environment)
}

/// Adds the rendered files of an instance, below `prefix`, and a list of their modes.
fn rendered(jobs: &Path, info: &BpmInfo, prefix: &str, files: &mut Files) -> Result<(), String> {
    let mut modes = String::new();
    for job in &info.group().jobs {
        let directory = jobs.join(&job.name);
        let root = fs::canonicalize(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        for entry in WalkDir::new(&root).sort_by_file_name() {
            let entry = entry.map_err(|e| e.to_string())?;
            if !entry.file_type().is_file() {
                continue;
            }
            let path = format!("{}/{}", job.name, entry.path().strip_prefix(&root).unwrap_or(&root).display());
            let mode = entry.metadata().map_err(|e| e.to_string())?.permissions().mode() & 0o7777;
            let _ = writeln!(modes, "{mode:04o} {path}");
            let content = fs::read_to_string(entry.path()).map_err(|e| format!("{path}: {e}"))?;
            files.insert(format!("{prefix}/{path}"), content);
        }
    }
    files.insert(format!("{prefix}/modes.txt"), modes);
    Ok(())
}

/// Adds the processes of an instance: its services, as in the `bpm.yml` rendered for it, errands, and jobs that
/// have hooks only.
fn list_processes(jobs: &Path, info: &BpmInfo, instance: &Instance, list: &mut String) -> Result<(), String> {
    let group = info.group();
    let _ = writeln!(list, "{}/{} ({})", group.name, instance.index, group.lifecycle);
    for job in &group.jobs {
        let (name, quarks) = (&job.name, &job.properties.quarks);
        let starts = |service: &&Service| service.instances.as_ref().is_none_or(|all| all.contains(&instance.index));
        let services: Vec<&Service> = quarks.services.iter().filter(starts).collect();
        let runs = |process: &str| {
            quarks.errand == Some(ErrandKind::Bpm)
                || services.iter().any(|service| service.run == Run::Bpm && service.process == process)
        };
        if quarks.errand == Some(ErrandKind::Script) {
            let _ = writeln!(list, "  {name}: /var/vcap/jobs/{name}/bin/run");
        } else if services.is_empty() && quarks.errand.is_none() {
            let _ = writeln!(list, "  {name}: hooks only");
        }
        if quarks.bpm.is_some() {
            let path = jobs.join(name).join("config/bpm.yml");
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let processes = bpm::parse(&text, name).map_err(|e| e.to_string())?.processes;
            for process in processes.iter().filter(|process| runs(&process.name)) {
                let command = format!("{} {}", process.executable, process.args.join(" "));
                let _ = writeln!(list, "  {name} {}: {command}", process.name);
            }
        }
        for service in services.iter().filter(|service| service.run == Run::Monit) {
            let _ = writeln!(list, "  {name} {}: by monit", service.process);
        }
    }
    Ok(())
}

/// Compares the output with the committed files, in both directions.
fn compare(directory: &Path, files: &Files) -> Result<(), String> {
    let mut committed = Vec::new();
    for part in ["3-output", "4-rendered"] {
        let root = directory.join(part);
        if std::env::var_os(UPDATE).is_some() && root.exists() {
            fs::remove_dir_all(&root).map_err(|e| e.to_string())?;
        }
        for entry in WalkDir::new(&root).into_iter().filter_map(Result::ok).filter(|e| e.file_type().is_file()) {
            committed.push(entry.path().strip_prefix(directory).unwrap_or(entry.path()).display().to_string());
        }
    }
    let mut wrong: Vec<String> =
        files.iter().filter_map(|(path, text)| check(&directory.join(path), text).err()).collect();
    let gone = committed.iter().filter(|path| !files.contains_key(*path));
    wrong.extend(gone.map(|path| format!("{}: does not come any more", directory.join(path).display())));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn document(directory: &Path, key: &str) -> Result<String, String> {
    let path = directory.join("output.json");
    let json = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    decode(&json, key, &text(&path)).map_err(|e| e.to_string())
}

fn succeed(arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let outcome = run(arguments, environment, &here());
    // The scenario of docs/contract.md has settings for pods, which a warning names.
    let is_expected = |line: &str| {
        line.starts_with("  --> ")
            || [" of pods has no effect:", " has no effect, as its job does not declare it:"]
                .iter()
                .any(|end| line.ends_with(end))
    };
    if outcome.code == Some(0) && outcome.stderr.lines().all(is_expected) {
        return Ok(());
    }
    Err(format!("{} ended with {:?}\n{}{}", arguments.join(" "), outcome.code, outcome.stdout, outcome.stderr))
}

fn children(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|e| e.path()).filter(|p| p.is_dir()).collect();
    paths.sort();
    Ok(paths)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
