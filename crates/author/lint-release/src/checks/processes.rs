//! What monit starts, and what bpm runs: of files that render with the defaults and examples of the spec.

use std::collections::BTreeSet;

use monit::{Kind, ProcessId, Service};
use problem::hint_for_unknown;

use super::Rendered;
use crate::finding::Findings;
use crate::rules;
use crate::source::{JobSource, ReleaseSource};

const BPM_YML: &str = "config/bpm.yml";

pub(crate) fn check(release: &ReleaseSource, job: &JobSource, findings: &mut Findings) {
    let processes = bpm_yml(release, job, findings);
    monit_file(job, processes.as_ref(), findings);
}

/// Checks the bpm.yml; the names of its processes, if it renders.
fn bpm_yml(release: &ReleaseSource, job: &JobSource, findings: &mut Findings) -> Option<BTreeSet<String>> {
    let template = job.template(BPM_YML)?;
    let text = job.rendered_text(BPM_YML)?;
    let rendered = Rendered { template, text: &text };
    let config = match bpm::parse_for_job(&text, &template.file, &job.name) {
        Ok(config) => config,
        Err(problems) => {
            for problem in problems.into_vec() {
                let place = problem.place.filter(|_| !template.has_tags());
                let place = place.unwrap_or_else(|| problem::Place::file(&template.file));
                // With tags, a message could quote an example of the spec.
                let message =
                    if template.has_tags() { "bpm refuses the rendered file".to_owned() } else { problem.message };
                findings.add(rules::BPM_INVALID, place, message);
            }
            return None;
        }
    };
    for key in bpm::unknown_keys(text.as_bytes()) {
        let place = rendered.place(Some((key.line, key.column)), &key.name);
        let hint = hint_for_unknown(&key.name, key.known.iter().copied(), || {
            format!("the keys are: {}", key.known.join(", "))
        });
        let message = format!("bpm ignores the key '{}'", key.name.escape_debug());
        findings.add(rules::BPM_KEY, place, message).hint(hint);
    }
    for process in &config.processes {
        executable(release, job, &process.executable, rendered, findings);
        if let Some(hooks) = &process.hooks {
            executable(release, job, &hooks.pre_start, rendered, findings);
        }
        store(job, process, rendered, findings);
    }
    Some(config.processes.into_iter().map(|process| process.name).collect())
}

/// A program that a bpm.yml names.
fn executable(release: &ReleaseSource, job: &JobSource, program: &str, rendered: Rendered, findings: &mut Findings) {
    let place = || rendered.place(None, program);
    if let Some(path) = program.strip_prefix(&format!("/var/vcap/jobs/{}/", job.name)) {
        // BOSH links the packages of a job into its directory.
        if path.starts_with("packages/") {
            return;
        }
        if !job.spec.templates.iter().any(|template| template.destination == path) {
            let destinations = job.spec.templates.iter().map(|template| template.destination.as_str());
            let message = format!("job '{}' has no file '{path}'", job.name);
            let finding = findings.add(rules::BPM_EXECUTABLE, place(), message);
            finding.hint = problem::did_you_mean(path, destinations).map(|name| format!("did you mean '{name}'?"));
        } else if !path.starts_with("bin/") {
            let message = format!("'{path}' is not executable: only files below bin/ are");
            findings.add(rules::EXECUTABLE_OUTSIDE_BIN, place(), message);
        }
    }
    let Some(path) = program.strip_prefix("/var/vcap/packages/") else { return };
    let package = path.split('/').next().unwrap_or_default();
    let is_listed = job.spec.packages.iter().any(|(name, _)| name == package);
    if release.is_source && !is_listed && !release.packages.contains(package) {
        let similar = problem::did_you_mean(package, release.packages.iter().map(String::as_str));
        // A package of another release, unless it is misspelt.
        if let Some(similar) = similar {
            let message = format!("the release has no package '{package}'");
            findings.add(rules::BPM_EXECUTABLE, place(), message).hint(format!("did you mean '{similar}'?"));
        }
    }
}

/// Uses of the persistent disk that no volume makes visible to the process.
fn store(job: &JobSource, process: &bpm::ProcessConfig, rendered: Rendered, findings: &mut Findings) {
    const STORE: &str = "/var/vcap/store/";
    let volumes = process.additional_volumes.iter().chain(&process.unsafe_.unrestricted_volumes);
    let mut mounted: Vec<&str> = volumes.map(|volume| volume.path.as_str()).collect();
    let own = format!("{STORE}{}", job.name);
    if process.persistent_disk {
        mounted.push(&own);
    }
    let is_mounted = |path: &str| mounted.iter().any(|volume| path.starts_with(volume.trim_end_matches('*')));
    let words = process.args.iter().chain(process.env.values()).chain(&process.workdir).chain([&process.executable]);
    for word in words.filter(|_| !process.unsafe_.privileged) {
        let Some(at) = word.find(STORE) else { continue };
        let path = &word[at..];
        if !is_mounted(path) {
            let place = rendered.place(None, word);
            let message = format!("process '{}' names a path below {STORE}, which is not mounted for it", process.name);
            let hint =
                if path.starts_with(&own) { "set persistent_disk: true" } else { "add it to additional_volumes" };
            findings.add(rules::STORE_UNMOUNTED, place, message).hint(hint);
        }
    }
}

fn monit_file(job: &JobSource, processes: Option<&BTreeSet<String>>, findings: &mut Findings) {
    let (Some(template), Some(text)) = (&job.monit, job.rendered_text("monit")) else { return };
    if monit::is_for_windows(&text) {
        return;
    }
    let config = match monit::parse(&text, &template.file) {
        Ok(config) => config,
        Err(problems) => {
            for problem in problems.into_vec() {
                let place = problem.place.filter(|_| !template.has_tags());
                let message =
                    if template.has_tags() { "monit refuses the rendered file".to_owned() } else { problem.message };
                findings.add(
                    rules::MONIT_INVALID,
                    place.unwrap_or_else(|| problem::Place::file(&template.file)),
                    message,
                );
            }
            return;
        }
    };
    let rendered = Rendered { template, text: &text };
    let place = |at: monit::Span, part: &str| rendered.place(Some((at.line, at.column)), part);
    let mut started = BTreeSet::new();
    for service in &config.services {
        for program in [&service.start, &service.stop].into_iter().flatten() {
            let path = program.argv.first().map(String::as_str).unwrap_or_default();
            let own = path.strip_prefix(&format!("/var/vcap/jobs/{}/", job.name));
            let is_there = |path: &str| job.spec.templates.iter().any(|template| template.destination == path);
            if let Some(missing) = own.filter(|path| !path.starts_with("packages/") && !is_there(path)) {
                let message = format!("job '{}' has no file '{missing}'", job.name);
                let finding = findings.add(rules::MONIT_PROGRAM, place(program.at, path), message);
                let names = job.spec.templates.iter().map(|template| template.destination.as_str());
                finding.hint = problem::did_you_mean(missing, names).map(|name| format!("did you mean '{name}'?"));
            } else if let Some(outside) = own.filter(|path| !path.starts_with("bin/") && !path.starts_with("packages/"))
            {
                let message = format!("'{outside}' is not executable: only files below bin/ are");
                findings.add(rules::EXECUTABLE_OUTSIDE_BIN, place(program.at, path), message);
            }
        }
        let Some((program, bpm)) = service.start.as_ref().and_then(|start| Some((start, start.bpm_start()?))) else {
            continue;
        };
        pid_file(service, &bpm, &place, findings);
        if bpm.job == job.name {
            if let Some(known) = processes.filter(|known| !known.contains(&bpm.process)) {
                let message = format!("{BPM_YML} has no process '{}'", bpm.process);
                let finding = findings.add(rules::BPM_PROCESS, place(program.at, &program.argv[0]), message);
                finding.hint(hint_for_unknown(&bpm.process, known.iter().map(String::as_str), || {
                    format!("its processes are: {}", known.iter().cloned().collect::<Vec<_>>().join(", "))
                }));
            }
            started.insert(bpm.process);
        }
    }
    unstarted(job, processes, &started, findings);
}

/// bpm writes the pid where monit must look for it.
fn pid_file(
    service: &Service,
    bpm: &monit::BpmStart,
    place: &dyn Fn(monit::Span, &str) -> problem::Place,
    findings: &mut Findings,
) {
    let Kind::Process(ProcessId::Pidfile(path)) = &service.kind else { return };
    let expected = format!("/var/vcap/sys/run/bpm/{}/{}.pid", bpm.job, bpm.process);
    // `/var/run` of releases of old leads to the same place.
    let shown = path.replace("/var/vcap/data/sys/", "/var/vcap/sys/");
    if shown != expected {
        let place = place(service.at, path);
        let message = format!("bpm does not write the pid file of service '{}'", service.name);
        findings.add(rules::MONIT_PID_FILE, place, message).hint(format!("the pid file is {expected}"));
    }
}

/// Processes that monit does not start, in a job whose others it starts, and no script either.
fn unstarted(
    job: &JobSource,
    processes: Option<&BTreeSet<String>>,
    started: &BTreeSet<String>,
    findings: &mut Findings,
) {
    let (Some(processes), Some(template), Some(text)) = (processes, job.template(BPM_YML), job.rendered_text(BPM_YML))
    else {
        return;
    };
    if started.is_empty() {
        return;
    }
    let uses_bpm = |text: &str| text.contains("bpm run") || text.contains("bpm start") || text.contains("bin/bpm");
    let others = job.templates.iter().filter(|other| other.destination != BPM_YML);
    if others.into_iter().any(|other| uses_bpm(&other.text())) {
        return;
    }
    for process in processes.difference(started) {
        let place = Rendered { template, text: &text }.place(None, process);
        let message = format!("process '{process}' is started neither by monit nor by a script of the job");
        findings.add(rules::BPM_PROCESS_UNUSED, place, message);
    }
}
