//! Findings as people and programs read them.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use problem::Result;
use serde_json::{Value as Json, json};
use startup::{without_control, write_stdout};

use crate::finding::Finding;
use crate::options::Format;
use crate::rules::{RULES, Severity};

/// Prints the findings; people see how many others are hidden.
pub(crate) fn print(format: Format, findings: &[Finding], hidden: usize) -> Result<()> {
    match format {
        Format::Human => {
            let is_coloured = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let text = human(findings, hidden, is_coloured);
            write_stdout(|out| out.write_all(text.as_bytes()))
        }
        Format::Github => {
            write_stdout(|out| findings.iter().try_for_each(|finding| writeln!(out, "{}", github(finding))))
        }
        Format::Json => print_json(&Json::Array(findings.iter().map(object).collect())),
        Format::Sarif => print_json(&sarif(findings)),
    }
}

/// Prints all rules.
pub(crate) fn list() -> Result<()> {
    let width = RULES.iter().map(|rule| rule.code.len()).max().unwrap_or_default();
    write_stdout(|out| {
        RULES
            .iter()
            .try_for_each(|rule| writeln!(out, "{:width$}  {:7}  {}", rule.code, rule.severity.as_str(), rule.summary))
    })
}

fn print_json(value: &Json) -> Result<()> {
    write_stdout(|out| writeln!(out, "{value:#}"))
}

/// A line for each finding, its hint below it, and at the end their number.
fn human(findings: &[Finding], hidden: usize, is_coloured: bool) -> String {
    let paint = |text: &str, colour: &str| {
        if is_coloured { format!("\u{1b}[{colour}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let colour = |severity| match severity {
        Severity::Error => "1;31",
        Severity::Warning => "1;33",
        _ => "1;36",
    };
    let mut text = String::new();
    for Finding { rule, severity, place, message, hint } in findings {
        let place = without_control(&place.to_string());
        let message = without_control(message);
        text += &format!(
            "{}: {}: {message} {}\n",
            paint(&place, "1"),
            paint(severity.as_str(), colour(*severity)),
            paint(&format!("[{}]", rule.code), "2")
        );
        if let Some(hint) = hint {
            text += &format!("  hint: {}\n", without_control(hint));
        }
    }
    text + &summary(findings, hidden)
}

fn summary(findings: &[Finding], hidden: usize) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let numbers =
        [Severity::Error, Severity::Warning, Severity::Note].map(|severity| (count(severity), severity.as_str()));
    let numbers = numbers.into_iter().chain([(hidden, "hidden finding")]).filter(|(number, _)| *number > 0);
    let numbers: Vec<String> =
        numbers.map(|(number, what)| format!("{number} {what}{}", if number == 1 { "" } else { "s" })).collect();
    let mut text =
        if findings.is_empty() && hidden == 0 { "no findings\n".to_owned() } else { numbers.join(", ") + "\n" };
    if !findings.is_empty() {
        text += "`boson explain-error CODE` explains a code\n";
    }
    if hidden > 0 {
        text += "--severity note shows all findings\n";
    }
    text
}

/// A command of GitHub Actions.
fn github(finding: &Finding) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "notice",
    };
    let place = &finding.place;
    let line = place.line.map_or_else(String::new, |line| format!(",line={line}"));
    let column = place.column.map_or_else(String::new, |column| format!(",col={column}"));
    let hint = finding.hint.as_ref().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    let message = data(&format!("{}{hint}", finding.message));
    format!("::{command} file={}{line}{column},title={}::{message}", property(&place.file), finding.rule.code)
}

fn object(finding: &Finding) -> Json {
    let Finding { rule, severity, place, message, hint } = finding;
    json!({
        "code": rule.code, "severity": severity.as_str(), "file": place.file, "line": place.line, "column": place.column,
        "message": message, "hint": hint,
    })
}

/// SARIF 2.1.0, with the rules that fired.
fn sarif(findings: &[Finding]) -> Json {
    let level = |severity: Severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "note",
    };
    let fired: BTreeSet<&str> = findings.iter().map(|finding| finding.rule.code).collect();
    let rules: Vec<Json> = RULES
        .iter()
        .filter(|rule| fired.contains(rule.code))
        .map(|rule| {
            json!({
                "id": rule.code,
                "shortDescription": {"text": rule.summary},
                "help": {"text": format!("boson explain-error {}", rule.code)},
                "defaultConfiguration": {"level": level(rule.severity)},
            })
        })
        .collect();
    let results = findings.iter().map(|finding| {
        let mut location = json!({"artifactLocation": {"uri": uri(&finding.place.file)}});
        if let Some(line) = finding.place.line {
            location["region"] = json!({"startLine": line, "startColumn": finding.place.column.unwrap_or(1)});
        }
        let hint = finding.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
        json!({
            "ruleId": finding.rule.code,
            "level": level(finding.severity),
            "message": {"text": format!("{}{hint}", finding.message)},
            "locations": [{"physicalLocation": location}],
        })
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "boson lint", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

/// A path as a relative reference.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => uri.push(char::from(byte)),
            byte => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Findings, at};
    use crate::rules::{PACKAGE_UNUSED, PROPERTY_UNDECLARED};

    fn findings() -> Vec<Finding> {
        let mut findings = Findings::default();
        let finding = findings.add(PROPERTY_UNDECLARED, at("jobs/a b/x.erb", 3, 7), "property 'a,b' is\nnot declared");
        finding.hint("did you mean 'c'?");
        findings.add(PACKAGE_UNUSED, problem::Place::file("packages/p/spec"), "100% unused");
        findings.0
    }

    #[test]
    fn people_see_a_line_for_each_finding() {
        assert_eq!(
            human(&findings()[1..], 2, false),
            "packages/p/spec: warning: 100% unused [package-unused]\n1 warning, 2 hidden findings\n`boson explain-error CODE` \
             explains a code\n--severity note shows all findings\n"
        );
        assert!(
            human(&findings(), 0, true)
                .starts_with("\u{1b}[1mjobs/a b/x.erb:3:7\u{1b}[0m: \u{1b}[1;31merror\u{1b}[0m: ")
        );
        assert!(human(&findings(), 0, false).contains("\n  hint: did you mean 'c'?\n"));
        assert_eq!(human(&[], 0, false), "no findings\n");
    }

    #[test]
    fn annotations_are_escaped() {
        let lines: Vec<String> = findings().iter().map(github).collect();
        assert_eq!(
            lines,
            [
                "::error file=jobs/a b/x.erb,line=3,col=7,title=property-undeclared::property 'a,b' is%0Anot declared%0Ahint: did you mean 'c'?",
                "::warning file=packages/p/spec,title=package-unused::100%25 unused"
            ]
        );
    }

    #[test]
    fn sarif_names_rules_and_places() {
        let sarif = sarif(&findings());
        let run = &sarif["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 2);
        let location = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "jobs/a%20b/x.erb");
        assert_eq!(location["region"]["startLine"], 3);
        assert!(run["results"][1]["locations"][0]["physicalLocation"].get("region").is_none());
    }
}
