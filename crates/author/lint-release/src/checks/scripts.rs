//! Scripts: those of the agent, and those of packages.

use std::io::Write;
use std::process::{Command, Stdio};

use problem::Place;

use super::{Rendered, code_lines, line_of, position_of};
use crate::finding::{Findings, at};
use crate::rules;
use crate::source::{JobSource, ReleaseSource, TemplateSource};

/// Scripts that BOSH's agent runs, with a PATH of the system's directories.
const OF_AGENT: [&str; 7] =
    ["bin/pre-start", "bin/post-start", "bin/post-deploy", "bin/pre-stop", "bin/drain", "bin/post-stop", "bin/run"];

/// Interpreters that no stemcell has.
const ABSENT: [&str; 11] = ["ruby", "node", "nodejs", "python", "python2", "php", "lua", "zsh", "ksh", "fish", "tcsh"];

/// Where bash is, if it is there.
const BASH: &str = "/bin/bash";

pub(crate) fn check(release: &ReleaseSource, job: &JobSource, findings: &mut Findings) {
    in_bin(job).for_each(|template| shebang(release, job, template, findings));
    for (template, script) in rendered(job) {
        syntax(template, &script, findings);
        match template.destination.as_str() {
            "bin/pre-start" => errexit(rules::PRE_START_ERREXIT, Place::line(&template.file, 1), &script, findings),
            "bin/drain" => drain(template, &script, findings),
            _ => {}
        }
    }
}

fn in_bin(job: &JobSource) -> impl Iterator<Item = &TemplateSource> {
    job.templates.iter().filter(|template| template.destination.starts_with("bin/"))
}

/// The scripts of bash or sh in `bin/`, as they render.
pub(super) fn rendered(job: &JobSource) -> impl Iterator<Item = (&TemplateSource, String)> {
    in_bin(job)
        .filter_map(|template| Some((template, job.rendered_text(&template.destination)?)))
        .filter(|(_, script)| is_shell(script))
}

/// The packaging scripts of a source release.
pub(crate) fn packaging(release: &ReleaseSource, findings: &mut Findings) {
    let packages = release.release.iter().filter(|_| release.is_source).flat_map(|release| &release.packages);
    for package in packages {
        let Ok(text) = vcap::input::read_file(&package.dir.join("packaging")) else { continue };
        let text = String::from_utf8_lossy(&text).into_owned();
        let directory = package.dir.file_name().unwrap_or_default().to_string_lossy();
        let file = release.file(&format!("packages/{directory}/packaging"));
        errexit(rules::PACKAGING_ERREXIT, Place::line(&file, 1), &text, findings);
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Whether a script is for bash or sh. The agent executes scripts: one without a first line of this kind fails.
fn is_shell(script: &str) -> bool {
    let Some(interpreter) = first_line(script).strip_prefix("#!") else { return false };
    let mut words = interpreter.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or_default());
    match words.next() {
        Some("env") => matches!(words.find(|word| !word.starts_with('-')), Some("bash" | "sh")),
        name => matches!(name, Some("bash" | "sh" | "dash")),
    }
}

fn shebang(release: &ReleaseSource, job: &JobSource, template: &TemplateSource, findings: &mut Findings) {
    let text = template.text();
    let Some(interpreter) = first_line(&text).strip_prefix("#!") else { return };
    if interpreter.contains("<%") {
        return;
    }
    let mut words = interpreter.split_whitespace();
    let Some(program) = words.next() else { return };
    let mut add = |message: String, hint: &str| {
        findings.add(rules::SHEBANG, at(&template.file, 1, 1), message).hint(hint);
    };
    if let Some(path) = program.strip_prefix("/var/vcap/packages/") {
        let package = path.split('/').next().unwrap_or_default();
        let is_listed = job.spec.packages.iter().any(|(name, _)| name == package);
        if release.packages.contains(package) && !is_listed {
            add(format!("the spec of job '{}' does not list package '{package}'", job.name), "add it to `packages`");
        }
        return;
    }
    let name = program.rsplit('/').next().unwrap_or_default();
    let is_env = name == "env";
    let called = if is_env { words.find(|word| !word.starts_with('-') && !word.contains('=')) } else { Some(name) };
    let Some(called) = called.filter(|called| ABSENT.contains(called)) else { return };
    // Another script may set PATH before it runs this one.
    if !is_env || OF_AGENT.contains(&template.destination.as_str()) {
        add(
            format!("stemcells have no {called}"),
            "use bash, or name the interpreter of a package: #!/var/vcap/packages/...",
        );
    }
}

/// bash's own check of a script that it does not run.
fn syntax(template: &TemplateSource, script: &str, findings: &mut Findings) {
    let Some(message) = bash_error(script) else { return };
    // `/dev/stdin: line 3: syntax error near unexpected token ...`
    let (line, what) = match message.split_once("line ").and_then(|(_, rest)| rest.split_once(": ")) {
        Some((line, what)) => (line.parse::<u32>().ok(), what.to_owned()),
        None => (None, message),
    };
    let text = line.and_then(|line| line_of(script, line)).map(str::trim).unwrap_or_default();
    let place = Rendered { template, text: script }.place(line.map(|line| (line, 1)), text);
    // The rest may quote what was rendered.
    let what = if template.has_tags() { "bash does not accept the rendered script".to_owned() } else { what };
    findings.add(rules::SHELL_SYNTAX, place, what);
}

/// The first error of bash; `None` if there is none, or no bash.
fn bash_error(script: &str) -> Option<String> {
    let mut bash = Command::new(BASH)
        .arg("-n")
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = bash.stdin.take()?;
    // bash may stop reading at an error.
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = stdin.write_all(script.as_bytes());
        });
        let output = bash.wait_with_output().ok()?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { None } else { errors.lines().next().map(str::to_owned) }
    })
}

/// Scripts of several commands that go on after one that fails.
fn errexit(rule: &'static rules::Rule, place: Place, script: &str, findings: &mut Findings) {
    let sets = |line: &str| {
        let words: Vec<&str> = line.split([' ', '\t', ';']).filter(|word| !word.is_empty()).collect();
        words.contains(&"errexit")
            || words.first() == Some(&"set") && words.iter().any(|word| word.starts_with('-') && word.contains('e'))
            || words.contains(&"ERR")
            || line.starts_with("#!") && words.iter().skip(1).any(|word| word.starts_with('-') && word.contains('e'))
    };
    if sets(first_line(script)) {
        return;
    }
    let commands: Vec<&str> = code_lines(script).map(|(_, line)| line.trim()).filter(|line| !line.is_empty()).collect();
    let handles = |line: &&str| {
        sets(line)
            || line.contains("|| exit")
            || line.contains("||exit")
            || line.contains("$?")
            // What is read in may set it.
            || line.starts_with("source ")
            || line.starts_with(". ")
            || line.ends_with("&&")
            || line.ends_with("&& \\")
    };
    let is_harmless = |line: &&str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        matches!(
            word,
            "echo"
                | "exit"
                | "export"
                | "exec"
                | "true"
                | ":"
                | "set"
                | "local"
                | "mkdir"
                | "fi"
                | "done"
                | "then"
                | "else"
                | "}"
        ) || is_assignment(word)
    };
    let can_fail = commands.iter().filter(|line| !is_harmless(line)).count();
    if can_fail > 1 && !commands.iter().any(handles) {
        let finding = findings.add(rule, place, "a command that fails does not end the script");
        finding.hint("begin with `set -eu -o pipefail`");
    }
}

/// `NAME=value`.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A drain script in which nothing can print.
fn drain(template: &TemplateSource, script: &str, findings: &mut Findings) {
    let may_print = |line: &str| {
        let words = line.split(|c: char| !(c.is_alphanumeric() || "_./-".contains(c)));
        let prints = |word: &str| {
            matches!(
                word,
                "echo"
                    | "printf"
                    | "cat"
                    | "tee"
                    | "exec"
                    | "source"
                    | "."
                    | "bash"
                    | "sh"
                    | "eval"
                    | "awk"
                    | "sed"
                    | "jq"
            ) || word.contains('/')
        };
        words.into_iter().any(prints) && !line.starts_with("#!")
    };
    if code_lines(script).any(|(_, line)| may_print(line) && !is_only_redirection(line)) {
        return;
    }
    let line = position_of(&template.text(), "exit").map_or(1, |(line, _)| line);
    let finding = findings.add(rules::DRAIN_NUMBER, Place::line(&template.file, line), "the script prints no number");
    finding.hint("print the seconds to wait, `echo 0` for none; a negative number asks for the script to be run again");
}

/// Whether nothing that the line prints reaches standard output.
fn is_only_redirection(line: &str) -> bool {
    let line = line.trim();
    line.ends_with(">&2") || line.ends_with(">/dev/null 2>&1") && !line.contains('|')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errexits(script: &str) -> bool {
        let mut findings = Findings::default();
        errexit(rules::PRE_START_ERREXIT, Place::file("x"), script, &mut findings);
        findings.0.is_empty()
    }

    #[test]
    fn scripts_of_several_commands_end_at_a_failure() {
        for script in [
            "#!/bin/bash -e\ncp a b\nchown c d\n",
            "#!/bin/bash\nset -eu\ncp a b\nchown c d\n",
            "#!/bin/bash\nset -o errexit\ncp a b\nchown c d\n",
            "#!/bin/bash\nset -xe\ncp a b\nchown c d\n",
            "#!/bin/bash\ncp a b || exit 1\nchown c d\n",
            "#!/bin/bash\nsource /var/vcap/packages/utils/lib.sh\ncp a b\nchown c d\n",
            "#!/bin/bash\nA=1\necho x\ncp a b\n",
            "#!/bin/bash\n# nothing\n",
            "",
        ] {
            assert!(errexits(script), "{script}");
        }
        assert!(!errexits("#!/bin/bash\ncp a b\nchown c d\n"));
        assert!(!errexits("#!/bin/bash\nset -u\ncp a b\nchown c d\n"));
    }

    #[test]
    fn interpreters_of_shells_are_recognised() {
        for line in ["#!/bin/bash", "#!/bin/bash -e", "#! /bin/sh", "#!/usr/bin/env bash", "#!/usr/bin/env -S bash -e"]
        {
            assert!(is_shell(line), "{line}");
        }
        for line in ["", "echo", "#!/usr/bin/env ruby", "#!/var/vcap/packages/ruby/bin/ruby", "#!"] {
            assert!(!is_shell(line), "{line}");
        }
    }
}
