//! The command `monit`, as release scripts call it: what each service does, and starting and stopping services.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use control::{Reply, Request, State, Status};
use hooks::services;
use monit::{Kind, Service};
use problem::{Problem, Result, code};
use startup::Common;
use vcap::Vcap;

use crate::print;
use crate::process::{Process, pid_here, refused};

/// One line for `--help`.
pub const ABOUT: &str = "monit's command: list, start and stop services";

/// The flags of `monit`.
#[derive(Debug, Args)]
#[command(
    long_about = "Do what monit's command does. Release scripts call it as /var/vcap/bosh/bin/monit, where render-jobs puts it. As \
        monit does, it returns as soon as the services have been asked to start or stop, before they have.\n\n\
        An unmonitored process goes on running; its rules do not count, and it is not started again when it exits, until \
        `monit monitor` or `monit start`.",
    after_long_help = "Examples:\n\
        \x20\x20monit summary\n\
        \x20\x20monit restart nats\n\
        \x20\x20monit unmonitor galera-init\n\
        \x20\x20monit stop -g vcap\n\n\
        Exit codes: 0 done; 1 refused; 2 usage; 65 there is no such service; 70 the environment failed."
)]
pub struct Options {
    /// What to do
    #[arg(value_enum)]
    action: Action,
    /// The service, as the jobs' monit names it, or `all`
    #[arg(value_name = "SERVICE")]
    service: Option<String>,
    /// All services of this group
    #[arg(short, long, conflicts_with = "service")]
    group: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Start, and monitor
    Start,
    /// Stop, and do not monitor any more
    Stop,
    /// Stop and start
    Restart,
    /// Monitor; start what does not run
    Monitor,
    /// Do not monitor any more; what runs goes on running
    Unmonitor,
    /// One line for each service
    Summary,
    /// Some lines for each service
    Status,
    /// Nothing: what the jobs' monit says does not change while an instance runs
    Reload,
}

/// A service of the instance.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// The job of its process and the process; absent if it is not a process.
    process: Option<(String, String)>,
    name: String,
    /// What monit calls its kind.
    kind: &'static str,
    /// What is checked, if that is a path.
    path: Option<PathBuf>,
    groups: Vec<String>,
    depends_on: Vec<String>,
}

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let vcap = Vcap::under(&common.root);
    let all = entries(&vcap)?;
    let request = match options.action {
        Action::Summary | Action::Status => {
            let wanted =
                if options.service.is_none() && options.group.is_none() { all } else { select(&all, &options)? };
            return show(&vcap, &wanted, options.action);
        }
        Action::Reload => return Ok(0),
        // monit monitors what it starts.
        Action::Start | Action::Monitor => Request::Monitor,
        Action::Stop => Request::Stop { wait: false },
        Action::Restart => Request::Restart { wait: false },
        Action::Unmonitor => Request::Unmonitor,
    };
    let mut wanted = select(&all, &options)?;
    if request == Request::Unmonitor {
        add_dependents(&all, &mut wanted);
    }
    let mut code = 0;
    for entry in &wanted {
        if let Some((job, process)) = &entry.process
            && let Some(Reply::Refused { message }) = Process::of_monit(&vcap, job, process).send(request)?
        {
            code = refused(Problem::internal(format!("{}: {message}", entry.name)).code(code::CONTROL_REFUSED));
        }
    }
    Ok(code)
}

/// The services of all jobs, in order. Those of a job without `monit` are its processes.
fn entries(vcap: &Vcap) -> Result<Vec<Entry>> {
    let mut all = Vec::new();
    for job in vcap.rendered_jobs()? {
        let processes = services::of_job(vcap, &job)?;
        let Some(config) = services::monit_config(vcap, &job)? else {
            all.extend(processes.into_iter().map(|found| Entry {
                name: found.process.clone(),
                process: Some((found.job, found.process)),
                kind: "Process",
                path: None,
                groups: vec!["vcap".to_owned()],
                depends_on: Vec::new(),
            }));
            continue;
        };
        for service in &config.services {
            let process = processes.iter().find(|found| found.monit.as_ref() == Some(&service.name));
            all.extend(entry(service, process.map(|found| (found.job.clone(), found.process.clone()))));
        }
    }
    Ok(all)
}

fn entry(service: &Service, process: Option<(String, String)>) -> Option<Entry> {
    let (kind, path) = match &service.kind {
        Kind::Process(_) => ("Process", None),
        Kind::File(path) => ("File", Some(path)),
        Kind::Directory(path) => ("Directory", Some(path)),
        Kind::Filesystem(path) => ("Filesystem", Some(path)),
        Kind::Fifo(path) => ("Fifo", Some(path)),
        Kind::Host(_) => ("Remote Host", None),
        Kind::Status(_) | Kind::System => return None,
    };
    Some(Entry {
        process,
        name: service.name.clone(),
        kind,
        path: path.map(PathBuf::from),
        groups: service.groups.clone(),
        depends_on: service.depends_on.clone(),
    })
}

/// The services that the command line names.
fn select(all: &[Entry], options: &Options) -> Result<Vec<Entry>> {
    let names: Vec<&str> = all.iter().map(|entry| entry.name.as_str()).collect();
    let hint = format!("the services are: {}", names.join(", "));
    let wanted = |entry: &&Entry| match (&options.group, options.service.as_deref()) {
        (Some(group), _) => entry.groups.iter().any(|other| other.eq_ignore_ascii_case(group)),
        (None, Some(name)) => name == "all" || entry.name == name,
        (None, None) => false,
    };
    let found: Vec<Entry> = all.iter().filter(wanted).cloned().collect();
    match (&options.group, options.service.as_deref()) {
        (None, None) => {
            Err(Problem::usage("please specify the service name or 'all'").code(code::USAGE).hint(hint).into())
        }
        (None, Some(name)) if found.is_empty() && name != "all" => {
            let problem =
                Problem::input(format!("there is no service by the name '{name}'")).code(code::PROCESS_UNKNOWN);
            Err(problem.hint(hint).into())
        }
        _ => Ok(found),
    }
}

/// Adds what depends on the services, directly or not: monit leaves them alone together.
fn add_dependents(all: &[Entry], wanted: &mut Vec<Entry>) {
    let mut names = BTreeSet::new();
    names.extend(wanted.iter().map(|entry| entry.name.clone()));
    loop {
        let depends = |entry: &&Entry| {
            !names.contains(&entry.name) && entry.depends_on.iter().any(|depends| names.contains(depends))
        };
        let Some(next) = all.iter().find(depends) else { return };
        names.insert(next.name.clone());
        wanted.push(next.clone());
    }
}

/// Prints in monit's layout, which scripts search.
fn show(vcap: &Vcap, wanted: &[Entry], action: Action) -> Result<u8> {
    print(&format!("The Monit daemon 5.2.5 uptime: {} \n", uptime(vcap)));
    for entry in wanted {
        let status = match &entry.process {
            Some((job, process)) => Process::of_monit(vcap, job, process).status()?,
            None => None,
        };
        let (state, is_monitored) = describe(entry, status.as_ref());
        if action == Action::Summary {
            print(&format!("{:<35} {state}", format!("{} '{}'", entry.kind, entry.name)));
            continue;
        }
        let monitoring = if is_monitored { "monitored" } else { "not monitored" };
        print(&format!(
            "{} '{}'\n  {:<33} {state}\n  {:<33} {monitoring}",
            entry.kind, entry.name, "status", "monitoring status"
        ));
        if let Some(pid) = status.as_ref().and_then(pid_here) {
            print(&format!("  {:<33} {pid}", "pid"));
        }
        print("");
    }
    Ok(0)
}

/// How long the instance has existed, in monit's format.
fn uptime(vcap: &Vcap) -> String {
    let made = vcap.base().join("bosh/bin").metadata().and_then(|meta| meta.modified());
    let minutes = made.ok().and_then(|made| made.elapsed().ok()).map_or(0, |age| age.as_secs() / 60);
    match (minutes / 1440, minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, minutes) => format!("{hours}h {minutes}m"),
        (days, hours, minutes) => format!("{days}d {hours}h {minutes}m"),
    }
}

/// What monit calls the state of a service, and whether it is monitored.
fn describe(entry: &Entry, status: Option<&Status>) -> (String, bool) {
    const UNMONITORED: &str = "not monitored";
    if entry.process.is_none() {
        let exists = entry.path.as_ref().is_none_or(|path| path.exists());
        return match (entry.kind, exists) {
            ("Process", _) => (UNMONITORED.to_owned(), false),
            ("Remote Host", _) => ("online with all services".to_owned(), true),
            (_, true) => ("accessible".to_owned(), true),
            (_, false) => ("Does not exist".to_owned(), true),
        };
    }
    let Some(status) = status else { return ("Does not exist".to_owned(), true) };
    match (status.state, status.failing.as_deref()) {
        (State::Starting, _) => ("initializing".to_owned(), true),
        (State::Running, None) => ("running".to_owned(), true),
        (State::Running, Some(why)) if why.starts_with(UNMONITORED) => (UNMONITORED.to_owned(), false),
        // The rule, in the words of the file.
        (State::Running, Some(why)) => (why.to_owned(), true),
        (State::Stopping, _) => ("running - stop pending".to_owned(), true),
        (State::Stopped, _) => (UNMONITORED.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries_of(text: &str) -> Vec<Entry> {
        let config = monit::parse(text, "monit").unwrap();
        let process = |service: &Service| service.is_process().then(|| ("job".to_owned(), service.name.clone()));
        config.services.iter().filter_map(|service| entry(service, process(service))).collect()
    }

    const TEXT: &str = "check process a with pidfile /a start program \"/a\" group vcap
check process b with pidfile /b start program \"/b\" group other depends on a
check process c with pidfile /c start program \"/c\" depends on b
check file f with path /nowhere/f
check system here";

    fn named(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn services_are_selected_by_name_group_or_all() {
        let all = entries_of(TEXT);
        let select = |service: Option<&str>, group: Option<&str>| {
            let (service, group) = (service.map(str::to_owned), group.map(str::to_owned));
            select(&all, &Options { action: Action::Stop, service, group })
        };
        assert_eq!(named(&select(Some("all"), None).unwrap()), ["a", "b", "c", "f"]);
        assert_eq!(named(&select(Some("b"), None).unwrap()), ["b"]);
        assert_eq!(named(&select(None, Some("VCAP")).unwrap()), ["a"]);
        assert_eq!(select(None, None).unwrap_err().exit_code(), 2);
        let unknown = select(Some("x"), None).unwrap_err();
        assert_eq!(unknown.exit_code(), 65);
        assert!(unknown.to_string().contains("the services are: a, b, c, f"), "{unknown}");
    }

    #[test]
    fn what_depends_on_a_service_is_left_alone_with_it() {
        let all = entries_of(TEXT);
        let mut wanted = vec![all[0].clone()];
        add_dependents(&all, &mut wanted);
        assert_eq!(named(&wanted), ["a", "b", "c"]);
    }

    #[test]
    fn states_have_monits_names() {
        let all = entries_of(TEXT);
        let status = |state, failing: Option<&str>| Status {
            state,
            pid: None,
            pid_namespace: None,
            exit_code: None,
            since: 0,
            failing: failing.map(str::to_owned),
        };
        for (state, failing, expected) in [
            (State::Running, None, ("running", true)),
            (State::Running, Some("not monitored"), ("not monitored", false)),
            (State::Running, Some("if failed (monit, line 3)"), ("if failed (monit, line 3)", true)),
            (State::Stopped, None, ("not monitored", false)),
            (State::Starting, None, ("initializing", true)),
        ] {
            let (text, monitored) = describe(&all[0], Some(&status(state, failing)));
            assert_eq!((text.as_str(), monitored), expected);
        }
        assert_eq!(describe(&all[0], None).0, "Does not exist");
        assert_eq!(describe(&all[3], None).0, "Does not exist");
    }
}
