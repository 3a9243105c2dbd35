//! `lint.yml` of a release: severities, with reasons.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use go_yaml::{Node, Source, Value};
use problem::{IoContext, Place, Problem, Problems, Result, code, hint_for_unknown};

use crate::finding::{Finding, at};
use crate::rules::{RULES, Severity, rule};

/// The file's name, in the release's directory.
pub(crate) const FILE: &str = "lint.yml";

/// The severities of a release.
#[derive(Debug, Default)]
pub(crate) struct Settings(Vec<Setting>);

/// The severity of a rule, in all files or some.
#[derive(Debug)]
struct Setting {
    code: String,
    severity: Severity,
    files: Vec<GlobMatcher>,
}

impl Settings {
    /// Reads the file of a release; without one, every rule has its own severity. `label` is what messages call the directory.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn read(directory: &Path, label: &str) -> Result<Settings> {
        let path = directory.join(FILE);
        match std::fs::read(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
            Err(e) => Err(e).io("read", &path),
            Ok(text) => Settings::parse(&text, &crate::source::join(label, FILE)),
        }
    }

    fn parse(text: &[u8], file: &str) -> Result<Settings> {
        let document = go_yaml::read(text, Source(0)).map_err(|e| {
            let place = at(file, e.origin.line, e.origin.column);
            Problem::input(format!("{FILE} is not valid YAML")).because(&e).code(code::YAML_INVALID).at(place)
        })?;
        let mut reader = Reader { file, problems: Vec::new(), settings: Vec::new() };
        match &document.value {
            Value::Null => {}
            Value::Map(map) => map.iter().for_each(|(key, node)| reader.entry(key.as_str().unwrap_or_default(), node)),
            _ => reader.problem(&document, format!("{FILE} is not a mapping of codes")),
        }
        Problems::check(reader.problems)?;
        Ok(Settings(reader.settings))
    }

    /// Gives a finding the severity that the file has for it; `path` is the finding's file below the release's directory.
    pub(crate) fn apply(&self, finding: &mut Finding, path: &str) {
        for setting in &self.0 {
            let is_there = setting.files.is_empty() || setting.files.iter().any(|pattern| pattern.is_match(path));
            if setting.code == finding.rule.code && is_there {
                finding.severity = setting.severity;
            }
        }
    }
}

struct Reader<'a> {
    file: &'a str,
    problems: Vec<Problem>,
    settings: Vec<Setting>,
}

impl Reader<'_> {
    fn problem(&mut self, node: &Node, message: String) {
        let place: Place = at(self.file, node.origin.line, node.origin.column);
        self.problems.push(Problem::input(message).code(code::INPUT_FILE).at(place));
    }

    /// `CODE: SETTING`, or a list of settings.
    fn entry(&mut self, key: &str, node: &Node) {
        if rule(key).is_none() {
            self.problem(node, format!("{FILE} has an unknown code '{}'", key.escape_debug()));
            let hint = hint_for_unknown(key, RULES.iter().map(|rule| rule.code), || {
                "`boson lint --list` lists all codes".to_owned()
            });
            if let Some(problem) = self.problems.last_mut() {
                problem.hint = Some(hint);
            }
            return;
        }
        match &node.value {
            Value::List(items) => items.iter().for_each(|item| self.setting(key, item)),
            _ => self.setting(key, node),
        }
    }

    fn setting(&mut self, code: &str, node: &Node) {
        let Value::Map(map) = &node.value else {
            return self.problem(node, format!("'{code}' is not a mapping of severity, reason and files"));
        };
        for (key, value) in map.iter() {
            if !matches!(key.as_str(), Some("severity" | "reason" | "files")) {
                self.problem(value, format!("'{code}' has a key that is not severity, reason or files"));
            }
        }
        let severity = node.get("severity").and_then(Node::as_str).and_then(Severity::named);
        let Some(severity) = severity else {
            return self.problem(node, format!("'{code}' needs a severity: allow, note, warning or error"));
        };
        let reason = node.get("reason").and_then(Node::as_str).unwrap_or_default();
        if severity == Severity::Allow && reason.trim().is_empty() {
            self.problem(node, format!("'{code}' is allowed without a reason"));
        }
        let patterns = match node.get("files").map(|files| &files.value) {
            None => Vec::new(),
            Some(Value::List(items)) => items.iter().map(|item| item.as_str().unwrap_or_default()).collect(),
            Some(value) => vec![value.as_str().unwrap_or_default()],
        };
        let mut files = Vec::new();
        for pattern in patterns {
            match GlobBuilder::new(pattern).literal_separator(true).build() {
                Ok(glob) if !pattern.is_empty() => files.push(glob.compile_matcher()),
                _ => self.problem(node, format!("'{code}' has a file that is not a pattern")),
            }
        }
        self.settings.push(Setting { code: code.to_owned(), severity, files });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Findings;
    use crate::rules::{PROPERTY_UNUSED, SHEBANG};

    #[test]
    fn severities_hold_for_all_files_or_some() {
        let text = "property-unused:\n- {severity: error}\n- {severity: allow, reason: old, files: [jobs/a/**]}\n";
        let settings = Settings::parse(text.as_bytes(), FILE).unwrap();
        let severity = |rule, path: &str| {
            let mut findings = Findings::default();
            let finding = findings.add(rule, Place::file(path), "");
            settings.apply(finding, path);
            finding.severity
        };
        assert_eq!(severity(PROPERTY_UNUSED, "jobs/a/spec"), Severity::Allow);
        assert_eq!(severity(PROPERTY_UNUSED, "jobs/b/spec"), Severity::Error);
        assert_eq!(severity(SHEBANG, "jobs/a/spec"), Severity::Warning);
        assert!(Settings::parse(b"", FILE).is_ok());
    }

    #[test]
    fn mistakes_are_reported_with_their_lines() {
        let text = "property-unsed: {severity: allow, reason: x}\nshebang: {severity: never}\nspec-key: {severity: allow}\nlink-unused: {severity: note, file: a}\n";
        let problems = Settings::parse(text.as_bytes(), FILE).unwrap_err();
        let shown = problems.to_string();
        assert_eq!(problems.iter().count(), 4, "{shown}");
        assert!(shown.contains("did you mean 'property-unused'?"), "{shown}");
        for (problem, line) in problems.iter().zip(1..) {
            assert_eq!(problem.place.as_ref().unwrap().line, Some(line), "{shown}");
        }
        for invalid in ["- a", "shebang: [1]", "a: ["] {
            assert!(Settings::parse(invalid.as_bytes(), FILE).is_err(), "{invalid}");
        }
    }
}
