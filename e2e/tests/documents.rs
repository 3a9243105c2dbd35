//! The reference pages match the executables.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use e2e::help::{topics, verbs};
use e2e::{check, here, run};

/// Executables and their verbs, as `--help` and the help of each topic list them.
fn commands() -> Vec<(&'static str, Vec<String>)> {
    let all = |name| {
        let short = help(&[name]);
        let topics = topics(&short).into_iter().map(|topic| help(&[name, "help", &topic]));
        let texts: Vec<String> = [short.clone()].into_iter().chain(topics).collect();
        (name, texts.iter().flat_map(|text| verbs(text)).collect())
    };
    ["boson", "boson-pod", "boson-cloud", "boson-brokerpak"].map(all).into()
}

/// The help of a command: an executable, then verbs.
fn help(command: &[&str]) -> String {
    let arguments = [command, &["--help"]].concat();
    // The width of help texts follows the terminal's, or this variable.
    let outcome = run(&arguments, &[("COLUMNS", "80")], &here());
    assert_eq!(outcome.code, Some(0), "{arguments:?}: {}", outcome.stderr);
    let wide: Vec<&str> = outcome.stdout.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{arguments:?}: too wide for a terminal: {wide:#?}");
    outcome.stdout
}

#[test]
fn cli_md_matches_help() {
    let mut text = "# Command line\n\nThe output of `--help` of `boson`, `boson-pod`, `boson-cloud` and `boson-brokerpak`, and\nof each of their verbs; a verb of several executables is shown once.\n[cli-cluster.md](cli-cluster.md) has that of `boson-cluster`. A test compares this page with\nthe executables.\n".to_owned();
    let mut page = |title: &str, help: &str| {
        text.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", help.trim_end()));
    };
    let mut shown = BTreeSet::new();
    for (name, verbs) in commands() {
        let short = help(&[name]);
        page(name, &short);
        for topic in topics(&short) {
            page(&format!("{name} help {topic}"), &help(&[name, "help", &topic]));
        }
        for verb in verbs {
            // Verbs that both executables have are the same in both.
            if shown.insert(verb.clone()) {
                let text = help(&[name, &verb]);
                page(&format!("{name} {verb}"), &text);
                for inner in e2e::help::verbs(&text) {
                    page(&format!("{name} {verb} {inner}"), &help(&[name, &verb, &inner]));
                }
            }
        }
    }
    let text: String = text.lines().map(|l| format!("{}\n", l.trim_end())).collect();
    check(&here().join("../docs/cli.md"), &text).unwrap();
}

#[test]
fn env_md_lists_every_variable() {
    let mut known = BTreeSet::new();
    for (name, verbs) in commands() {
        known.extend(variables(&help(&[name])));
        for verb in verbs {
            let text = help(&[name, &verb]);
            let inner = e2e::help::verbs(&text).into_iter().map(|inner| help(&[name, &verb, &inner]));
            known.extend(inner.chain([text.clone()]).flat_map(|text| variables(&text)));
        }
    }
    let page = std::fs::read_to_string(here().join("../docs/env.md")).unwrap();
    let listed: BTreeSet<String> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect();
    assert_eq!(listed, known, "left: docs/env.md, right: --help");
}

#[test]
fn an_empty_variable_counts_as_unset() {
    for verb in ["copy-jobs", "plan", "render-jobs", "run-process"] {
        let known = variables(&help(&[verb]));
        let empty: Vec<(&str, &str)> = known.iter().map(|name| (name.as_str(), "")).collect();
        assert_eq!(run(&[verb], &empty, &here()), run(&[verb], &[], &here()), "{verb}");
    }
}

#[test]
fn errors_md_matches_the_messages_and_lists_every_case() {
    let path = here().join("../docs/errors.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let case = |above: &str| {
        let name = above.strip_prefix("[e2e/bad-input/")?.split(']').next()?;
        Some(std::fs::read_to_string(here().join("bad-input").join(name)).unwrap())
    };
    let (after, filled) = e2e::fill(&page, case);
    assert!(filled >= 15, "{filled} examples");
    check(&path, &after).unwrap();
    let all = std::fs::read_dir(here().join("bad-input")).unwrap();
    let names: BTreeSet<String> = all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let unnamed: Vec<&String> = names.iter().filter(|name| !page.contains(&format!("/bad-input/{name})"))).collect();
    assert!(unnamed.is_empty(), "docs/errors.md does not name: {unnamed:?}");
}

#[test]
fn every_error_code_is_used() {
    let root = here().join("..");
    let files = ["bins", "crates"].into_iter().flat_map(|of| walkdir::WalkDir::new(root.join(of)));
    let is_source = |path: &Path| {
        path.extension().is_some_and(|e| e == "rs")
            && path.components().any(|part| part.as_os_str() == "src")
            && !path.ends_with("problem/src/code.rs")
    };
    let paths = files.filter_map(|entry| Some(entry.ok()?.into_path())).filter(|path| is_source(path));
    let sources: Vec<String> = paths.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    for (constant, code) in problem::code::ALL {
        let name = format!("code::{constant}");
        let is_used = |text: &String| {
            text.match_indices(&name)
                .any(|(at, _)| !text[at + name.len()..].starts_with(|c: char| c.is_ascii_uppercase() || c == '_'))
        };
        assert!(sources.iter().any(is_used), "no source has an error with the code {code}");
    }
}

/// The variables in `[env: NAME=]`.
fn variables(help: &str) -> Vec<String> {
    let parts = help.split("[env: ").skip(1);
    parts.filter_map(|part| part.split(['=', ']']).next()).map(str::to_owned).collect()
}

/// The pages about BOSH, each with what it names of other programs, and of what boson does not have.
const PAGES: [(&str, &[&str]); 10] = [
    ("boson-up.md", &["--tarball", "CAP_SYS_RESOURCE"]),
    ("contract.md", &["--id", "--port", "INITIAL_ROLLOUT", "OUTPUT_FILE_PATH", "REMOTE_ID"]),
    ("control.md", &["SO_PEERCRED"]),
    ("dialects/erb.md", &["--version"]),
    ("images.md", &["CONTAINER_ENGINE", "SOURCE_DATE_EPOCH"]),
    (
        "kubernetes.md",
        &[
            "--allowed-unsafe-sysctls",
            "--clusterrole",
            "--field-manager",
            "--force",
            "--grace-period",
            "--resource",
            "--server-side",
            "--serviceaccount",
            "--verb",
            "NET_BIND_SERVICE",
        ],
    ),
    ("manifests.md", &["PREFIX_NAME"]),
    ("run-process.md", &["MONIT_DATE", "MONIT_EVENT", "MONIT_SERVICE"]),
    ("tail-logs.md", &["LOGROTATE_INTERVAL"]),
    ("wait-for.md", &[]),
];

fn is_flag(word: &str) -> bool {
    word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
}

fn is_variable(word: &str) -> bool {
    word.contains('_')
        && !word.ends_with('_')
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c == '_' || c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// The flags in a text, and the variables in its backquotes.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let flags = text.split(|c: char| !is_part(c)).filter(|word| is_flag(word));
    let variables = text.split('`').skip(1).step_by(2).filter(|word| is_variable(word));
    flags.chain(variables).map(str::to_owned).collect()
}

/// The output of `--help` of a script of the repository.
fn usage(script: &str) -> String {
    let output = Command::new(here().join("..").join(script)).arg("--help").output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn flags_variables_and_verbs_that_pages_name_exist() {
    let read = |page: &str| fs::read_to_string(here().join("../docs").join(page)).unwrap();
    let help = ["cli.md", "cli-cluster.md", "cli-templates.md"].map(read).concat();
    let scripts = ["release", "pak"].map(|script| usage(&format!("images/{script}/build")));
    let known = named(&[help.clone(), read("env.md"), scripts.concat()].concat());
    let mut wrong = Vec::new();
    for (page, others) in PAGES {
        let text = read(page);
        let unknown = named(&text).into_iter().filter(|name| !known.contains(name) && !others.contains(&name.as_str()));
        wrong.extend(unknown.map(|name| format!("docs/{page}: {name}")));
        for (call, executables) in
            [("`boson ", &["boson"][..]), ("kubectl boson ", &["boson-cluster", "boson-templates"])]
        {
            for rest in text.split(call).skip(1) {
                let verb: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
                let is_known = executables.iter().any(|name| help.contains(&format!("\n## {name} {verb}\n")));
                if !verb.is_empty() && !verb.starts_with('-') && !is_known {
                    wrong.push(format!("docs/{page}: {call}{verb}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The defaults of a flag, of all verbs that have it.
fn defaults<'a>(help: &'a str, flag: &str) -> BTreeSet<&'a str> {
    let is_flag = |line: &&str| line.split(['`', ' ', ',']).any(|word| word == flag);
    let mut lines = help.lines();
    let mut found = BTreeSet::new();
    while lines.by_ref().find(|line| line.trim_start().starts_with('-') && is_flag(line)).is_some() {
        let mut rest = lines.clone().take_while(|line| !line.trim_start().starts_with('-'));
        found.extend(rest.find_map(|line| line.trim().strip_prefix("[default: ")?.strip_suffix(']')));
    }
    found
}

#[test]
fn defaults_behind_flags_are_those_of_help() {
    let read = |page: &str| fs::read_to_string(here().join("../docs").join(page)).unwrap();
    let help = read("cli.md");
    let mut compared = 0;
    for (page, _) in PAGES {
        // `--logs-rotate-size` (10M)
        for part in read(page).split("`--").skip(1) {
            let Some((flag, rest)) = part.split_once("` (") else { continue };
            let is_name = flag.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let number =
                rest.split([' ', ')', ',']).next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            let Some(number) = number.filter(|_| is_name) else { continue };
            let known = defaults(&help, &format!("--{flag}"));
            assert_eq!(known, BTreeSet::from([number]), "docs/{page}: --{flag}; left: --help");
            compared += 1;
        }
    }
    assert!(compared >= 4, "{compared} defaults");
}

/// The names in the table of the boson image, by the executable.
fn names_in_image(page: &str, executable: &str) -> BTreeSet<String> {
    let start = format!("| `/bin/{executable}` | ");
    let row = page.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{executable}"));
    row.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_names_in_the_boson_image_are_those_that_its_script_makes() {
    let page = fs::read_to_string(here().join("../docs/images.md")).unwrap();
    let script = fs::read_to_string(here().join("../images/boson/rootfs")).unwrap();
    for executable in ["boson", "boson-cluster"] {
        let link = format!("  ln \"$root/bin/{executable}\" ");
        let (before, _) = script.split_once(&link).unwrap_or_else(|| panic!("no link to {executable}"));
        let names = before.rsplit_once("for verb in ").unwrap().1.split(';').next().unwrap();
        let mut made: BTreeSet<String> = names.split_whitespace().map(str::to_owned).collect();
        made.insert(executable.to_owned());
        assert_eq!(names_in_image(&page, executable), made, "left: docs/images.md, right: images/boson/rootfs");
    }
    assert!(script.contains("ln \"$root/bin/boson-pod\" \"$root/bin/install\""));
    assert!(names_in_image(&page, "boson-pod").is_superset(&["boson-pod", "install"].map(str::to_owned).into()));
}
