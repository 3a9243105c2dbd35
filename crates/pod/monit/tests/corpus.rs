//! Every construct of the language with the model that it means, and every error with its message: `tests/corpus/*.txt`.
//!
//! A file has cases, each a name behind `=== `, the text of a `monit` file, a line `---`, and what it means, one thing per
//! line. With `BOSON_UPDATE=1` the tests write what they would compare.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use monit::{
    Account, Action, Change, Condition, Config, Endpoint, Kind, Limit, Mode, Operator, ProcessId, Program, Protocol,
    Rate, Resource, Rule, Service, Transport,
};

const UPDATE: &str = "BOSON_UPDATE";

/// A case: its name, the file's text and what is expected.
struct Case {
    name: String,
    text: String,
    expected: String,
}

fn files() -> Vec<PathBuf> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn cases(text: &str) -> Vec<Case> {
    let read = |case: &str| {
        let (name, rest) = case.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("---\n").unwrap_or((rest, ""));
        Case { name: name.to_owned(), text: text.to_owned(), expected: expected.to_owned() }
    };
    text.split("=== ").skip(1).map(read).collect()
}

#[test]
fn every_case_means_what_is_expected() {
    let mut count = 0;
    let mut wrong = String::new();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        let mut written = String::new();
        for case in cases(&text) {
            let actual = meaning(&case.text);
            count += 1;
            if actual != case.expected {
                writeln!(wrong, "{}: {}\n{}\n--- actual\n{actual}", file.display(), case.name, case.text).unwrap();
            }
            write!(written, "=== {}\n{}---\n{actual}", case.name, case.text).unwrap();
        }
        if std::env::var_os(UPDATE).is_some() {
            fs::write(&file, written).unwrap();
        }
    }
    assert!(count >= 200, "the corpus has only {count} cases");
    assert!(wrong.is_empty() || std::env::var_os(UPDATE).is_some(), "{UPDATE}=1 writes it\n{wrong}");
}

#[test]
fn carriage_returns_do_not_matter() {
    for file in files() {
        for case in cases(&fs::read_to_string(&file).unwrap()) {
            let crlf = monit::parse(&case.text.replace('\n', "\r\n"), "monit");
            let plain = monit::parse(&case.text, "monit");
            assert_eq!(crlf.is_ok(), plain.is_ok(), "{}: {}", file.display(), case.name);
            if let (Ok(crlf), Ok(plain)) = (crlf, plain) {
                assert_eq!(shown(&crlf), shown(&plain), "{}: {}", file.display(), case.name);
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_services_or_problems_with_places() {
    for file in files() {
        for case in cases(&fs::read_to_string(&file).unwrap()) {
            for (end, _) in case.text.char_indices() {
                if let Err(problems) = monit::parse(&case.text[..end], "monit") {
                    assert!(problems.iter().all(|problem| problem.place.as_ref().unwrap().line.is_some()));
                }
            }
        }
    }
}

/// What a file means, or its problems.
fn meaning(text: &str) -> String {
    match monit::parse(text, "monit") {
        Ok(config) => {
            let problems = monit::check(&[("monit", &config)]);
            let problems: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
            shown(&config) + &problems
        }
        Err(problems) => format!("{problems}\n"),
    }
}

fn shown(config: &Config) -> String {
    let mut text: String = config.services.iter().map(service).collect();
    for unsupported in &config.unsupported {
        let of = unsupported.service.as_deref().unwrap_or("-");
        writeln!(text, "unsupported {of}: {} {}:{}", unsupported.what, unsupported.at.line, unsupported.at.column)
            .unwrap();
    }
    text
}

fn service(service: &Service) -> String {
    let kind = match &service.kind {
        Kind::Process(ProcessId::Pidfile(path)) => format!("process pidfile {path}"),
        Kind::Process(ProcessId::Matching(regex)) => format!("process matching {regex}"),
        Kind::File(path) => format!("file {path}"),
        Kind::Directory(path) => format!("directory {path}"),
        Kind::Filesystem(path) => format!("filesystem {path}"),
        Kind::Fifo(path) => format!("fifo {path}"),
        Kind::Status(path) => format!("status {path}"),
        Kind::Host(address) => format!("host {address}"),
        Kind::System => "system".to_owned(),
    };
    let mut text = format!("{} {}:{}: {kind}\n", service.name, service.at.line, service.at.column);
    for (name, program) in [("start", &service.start), ("stop", &service.stop)] {
        if let Some(program) = program {
            writeln!(text, "  {name} {}", shown_program(program)).unwrap();
        }
    }
    if !service.depends_on.is_empty() {
        writeln!(text, "  depends on {:?}", service.depends_on).unwrap();
    }
    if !service.groups.is_empty() {
        writeln!(text, "  group {:?}", service.groups).unwrap();
    }
    if service.mode != Mode::Active {
        writeln!(text, "  mode {:?}", service.mode).unwrap();
    }
    if let Some(every) = service.every {
        writeln!(text, "  every {every}").unwrap();
    }
    if service.is_started() != service.start.is_some() {
        writeln!(text, "  not started").unwrap();
    }
    for rule in &service.rules {
        writeln!(text, "  {}", shown_rule(rule)).unwrap();
    }
    text
}

fn shown_program(program: &Program) -> String {
    let mut text = format!("{:?}", program.argv);
    for (name, account) in [("uid", &program.uid), ("gid", &program.gid)] {
        match account {
            Some(Account::Name(account)) => write!(text, " {name} {account}").unwrap(),
            Some(Account::Id(id)) => write!(text, " {name} {id}").unwrap(),
            None => {}
        }
    }
    if program.timeout.as_secs() != 30 {
        write!(text, " timeout {}s", program.timeout.as_secs()).unwrap();
    }
    if let Some(bpm) = program.bpm_start() {
        write!(text, " = bpm {}/{}", bpm.job, bpm.process).unwrap();
    }
    text
}

fn shown_rate(rate: Rate) -> String {
    if rate == Rate::default() { String::new() } else { format!(" {} of {}", rate.count, rate.cycles) }
}

fn shown_action(action: &Action) -> String {
    match action {
        Action::Exec(program) => format!("exec {}", shown_program(program)),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn shown_rule(rule: &Rule) -> String {
    let condition = match &rule.condition {
        Condition::Connection(connection) => {
            let mut text = match &connection.endpoint {
                Endpoint::Inet { host, port } => format!("failed {host} {port}"),
                Endpoint::Unix(path) => format!("failed {path}"),
            };
            if connection.transport != Transport::Tcp {
                write!(text, " {:?}", connection.transport).unwrap();
            }
            match &connection.protocol {
                Protocol::Default => {}
                Protocol::Http { request, host_header } => {
                    write!(text, " http {}", request.as_deref().unwrap_or("/")).unwrap();
                    if let Some(host) = host_header {
                        write!(text, " host {host}").unwrap();
                    }
                }
                Protocol::Other(name) => write!(text, " {name}").unwrap(),
            }
            if connection.timeout.as_secs() != 5 {
                write!(text, " timeout {}s", connection.timeout.as_secs()).unwrap();
            }
            text
        }
        Condition::Resource(limit) => {
            let resource = match limit.resource {
                Resource::TotalMemory => "totalmem".to_owned(),
                Resource::Memory => "mem".to_owned(),
                other => format!("{other:?}").to_lowercase(),
            };
            let operator = match limit.operator {
                Operator::Greater => ">",
                Operator::Less => "<",
                Operator::Equal => "==",
                Operator::NotEqual => "!=",
            };
            let value = match limit.limit {
                Limit::Bytes(bytes) => format!("{bytes} B"),
                Limit::Percent(percent) => format!("{percent} %"),
                Limit::Count(count) => count.to_string(),
                Limit::Tenths(tenths) => format!("{}.{}", tenths / 10, tenths % 10),
            };
            format!("{resource} {operator} {value}")
        }
        Condition::Restarts { count, cycles } => format!("{count} restarts in {cycles}"),
        Condition::Missing => "missing".to_owned(),
        Condition::Changed(change) => match change {
            Change::ParentPid => "changed ppid".to_owned(),
            other => format!("changed {other:?}").to_lowercase(),
        },
        Condition::Other => "other".to_owned(),
    };
    let mut text = format!("if {condition}{} then {}", shown_rate(rule.rate), shown_action(&rule.action));
    if let Some(recovery) = &rule.recovery {
        write!(text, " else{} {}", shown_rate(recovery.rate), shown_action(&recovery.action)).unwrap();
    }
    text
}
