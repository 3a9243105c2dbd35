//! `bpm list`: all processes of the instance.

use handoff::process_state::{ProcessState, State};
use problem::{IoContext, Problems, Result};
use vcap::Vcap;

use crate::process::{Process, pid_here, state_name};
use crate::{Named, print};

/// Prints BPM's table: one row for each process of each rendered `bpm.yml`.
pub(crate) fn run(vcap: &Vcap) -> Result<u8> {
    let mut rows = vec![["Name".to_owned(), "Pid".to_owned(), "Status".to_owned()]];
    let mut problems = Vec::new();
    for job in vcap.rendered_jobs()? {
        match rows_of(vcap, &job) {
            Ok(some) => rows.extend(some),
            Err(e) => problems.extend(Problems::into_vec(e)),
        }
    }
    let widths: Vec<usize> = (0..2).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    for [name, pid, status] in &rows {
        print(&format!("{name:<0$} {pid:<1$} {status}", widths[0], widths[1]));
    }
    // What is right with the others is worth knowing.
    Problems::check(problems)?;
    Ok(0)
}

fn rows_of(vcap: &Vcap, job: &str) -> Result<Vec<[String; 3]>> {
    let path = vcap.job(job).join("config/bpm.yml");
    let text = match std::fs::read_to_string(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.io("read", &path)?,
    };
    let config = bpm::parse_for_job(&text, &path.to_string_lossy(), job)?;
    let row = |name: &str| {
        let named = Named { job: job.to_owned(), process: Some(name.to_owned()) };
        let status = Process::new(vcap, named).status()?;
        let pid = status.as_ref().and_then(pid_here).map_or("-".to_owned(), |pid| pid.to_string());
        let name_of_state = match &status {
            None if has_failed(vcap, job, name) => "failed",
            status => state_name(status.as_ref()),
        };
        // BPM: the process that is called as its job has the job's name alone.
        let name = if name == job { job.to_owned() } else { format!("{job}.{name}") };
        Ok([name, pid, name_of_state.to_owned()])
    };
    config.processes.iter().map(|process| row(&process.name)).collect()
}

/// BPM: what ended and was not stopped has failed. The last state of a process without supervisor shows that: it
/// crashed, or its supervisor was killed and left something else there.
fn has_failed(vcap: &Vcap, job: &str, process: &str) -> bool {
    let path = vcap.process_state(job, process);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    ProcessState::decode(&text, &path.display().to_string()).is_ok_and(|found| found.state != State::Exited)
}
