//! Cases: directories `tests/JOB/CASE`.

use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use go_yaml::{Node, Source, Value};
use problem::{IoContext, Place, Problem, Problems, Result, code, hint_for_unknown};
use regex::bytes::{Regex, RegexBuilder};
use render_release::JobInput;

/// The directory of the tests of a release.
pub(crate) const TESTS: &str = "tests";
/// What a case may contain.
const FILES: [&str; 7] =
    ["properties.yml", "links.yml", "spec.yml", "manifest.yml", "case.yml", "expected", "expected-error"];

/// A case.
pub(crate) struct Case {
    pub(crate) job: String,
    pub(crate) name: String,
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// What messages call the directory.
    pub(crate) label: String,
    pub(crate) settings: Settings,
}

/// `case.yml`.
#[derive(Default)]
pub(crate) struct Settings {
    /// What differs from run to run.
    pub(crate) mask: Vec<Regex>,
    /// The files that are compared; all without one.
    files: Vec<GlobMatcher>,
    /// Whether properties without a value have their example.
    pub(crate) has_examples: bool,
}

impl Case {
    /// Its name with that of its job.
    pub(crate) fn id(&self) -> String {
        format!("{}/{}", self.job, self.name)
    }

    /// The file with this name, if the case has it.
    fn file(&self, name: &str) -> Option<PathBuf> {
        let path = self.directory.join(name);
        path.exists().then_some(path)
    }

    /// The files about the job.
    pub(crate) fn input(&self) -> JobInput {
        let [properties, links, spec] = ["properties.yml", "links.yml", "spec.yml"].map(|name| self.file(name));
        JobInput { properties, links, spec, consumes: None }
    }

    /// The manifest.
    pub(crate) fn manifest(&self) -> Option<PathBuf> {
        self.file("manifest.yml")
    }

    /// The directory of the expected files.
    pub(crate) fn expected(&self) -> PathBuf {
        self.directory.join("expected")
    }

    /// The lines that the error contains, if one is expected.
    pub(crate) fn expected_error(&self) -> Result<Option<String>> {
        let Some(path) = self.file("expected-error") else { return Ok(None) };
        let text = vcap::input::read_file(&path).io("read", &path)?;
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Whether a file is compared; `path` is below the job's directory.
    pub(crate) fn has_file(&self, path: &str) -> bool {
        let is_own = !path.starts_with(".bosh/");
        let files = &self.settings.files;
        is_own && (files.is_empty() || files.iter().any(|pattern| pattern.is_match(path)))
    }

    fn read(job: &str, name: &str, directory: PathBuf, label: String) -> Result<Case> {
        let mut problems = Vec::new();
        for entry in fs::read_dir(&directory).io("read", &directory)? {
            let entry = entry.io("read", &directory)?.file_name().to_string_lossy().into_owned();
            if !FILES.contains(&entry.as_str()) && !entry.starts_with('.') {
                let hint = hint_for_unknown(&entry, FILES, || format!("a case has: {}", FILES.join(", ")));
                let problem = Problem::input(format!("a case has no file '{}'", entry.escape_debug()));
                problems.push(problem.code(code::INPUT_FILE).at(Place::file(format!("{label}/{entry}"))).hint(hint));
            }
        }
        let has = |name: &str| directory.join(name).exists();
        if has("manifest.yml") && ["properties.yml", "links.yml", "spec.yml"].into_iter().any(has) {
            let problem = Problem::input("a case with a manifest has no properties, links and spec of its own");
            problems.push(problem.code(code::INPUT_FILE).at(Place::file(&label)));
        }
        if has("expected") && has("expected-error") {
            let problem = Problem::input("a case expects either files or an error");
            problems.push(problem.code(code::INPUT_FILE).at(Place::file(&label)));
        }
        let path = directory.join("case.yml");
        let settings = if path.exists() {
            let text = vcap::input::read_file(&path).io("read", &path)?;
            Settings::parse(&text, &format!("{label}/case.yml")).unwrap_or_else(|found| {
                problems.extend(found.into_vec());
                Settings::default()
            })
        } else {
            Settings::default()
        };
        Problems::check(problems)?;
        Ok(Case { job: job.to_owned(), name: name.to_owned(), directory, label, settings })
    }
}

impl Settings {
    fn parse(text: &[u8], file: &str) -> Result<Settings> {
        let place = |line, column| Place { column: Some(column), ..Place::line(file, line) };
        let document = go_yaml::read(text, Source(0)).map_err(|e| {
            let problem = Problem::input("case.yml is not valid YAML").because(&e).code(code::YAML_INVALID);
            problem.at(place(e.origin.line, e.origin.column))
        })?;
        let mut problems = Vec::new();
        let mut wrong = |node: &Node, message: String| {
            let place = place(node.origin.line, node.origin.column);
            problems.push(Problem::input(message).code(code::INPUT_FILE).at(place));
        };
        let mut settings = Settings::default();
        match &document.value {
            Value::Null => {}
            Value::Map(map) => {
                for (key, node) in map.iter() {
                    match (key.as_str().unwrap_or_default(), &node.value) {
                        ("examples", Value::Bool(value)) => settings.has_examples = *value,
                        ("mask", Value::List(items)) => {
                            for item in items {
                                match RegexBuilder::new(item.as_str().unwrap_or("[")).unicode(false).build() {
                                    Ok(regex) => settings.mask.push(regex),
                                    Err(_) => wrong(item, "'mask' has an invalid regular expression".to_owned()),
                                }
                            }
                        }
                        ("files", Value::List(items)) => {
                            for item in items {
                                let pattern = item.as_str().unwrap_or("[");
                                match GlobBuilder::new(pattern).literal_separator(true).build() {
                                    Ok(glob) => settings.files.push(glob.compile_matcher()),
                                    Err(_) => wrong(item, "'files' has an invalid pattern".to_owned()),
                                }
                            }
                        }
                        ("examples" | "mask" | "files", _) => {
                            wrong(node, "examples is true or false; mask and files are lists".to_owned());
                        }
                        (other, _) => {
                            wrong(node, format!("case.yml has an unknown key '{}'", other.escape_debug()));
                        }
                    }
                }
            }
            _ => wrong(&document, "case.yml is not a mapping".to_owned()),
        }
        Problems::check(problems)?;
        Ok(settings)
    }

    /// A content without what differs from run to run: the groups of each expression, or all that it matches.
    pub(crate) fn masked(&self, content: &[u8]) -> Vec<u8> {
        let mut content = content.to_vec();
        for regex in &self.mask {
            let mut masked = Vec::new();
            let mut end = 0;
            for captures in regex.captures_iter(&content) {
                let groups: Vec<_> = captures.iter().skip(1).flatten().collect();
                let parts: Vec<_> = if groups.is_empty() { captures.get(0).into_iter().collect() } else { groups };
                for part in parts {
                    if part.start() < end {
                        continue;
                    }
                    masked.extend_from_slice(&content[end..part.start()]);
                    masked.extend_from_slice(b"<masked>");
                    end = part.end();
                }
            }
            masked.extend_from_slice(&content[end..]);
            content = masked;
        }
        content
    }
}

/// The cases of a release that patterns choose, all without one.
///
/// # Errors
/// Cases that cannot be read, those of jobs that do not exist, and patterns that choose nothing.
pub(crate) fn find(release: &Path, jobs: &[String], patterns: &[String]) -> Result<Vec<Case>> {
    let tests = release.join(TESTS);
    let label = |path: &str| match release.display().to_string().as_str() {
        "." => format!("{TESTS}/{path}"),
        release => format!("{}/{TESTS}/{path}", release.trim_end_matches('/')),
    };
    let (mut cases, mut problems) = (Vec::new(), Vec::new());
    for job in directories(&tests)? {
        for name in directories(&tests.join(&job))? {
            let id = format!("{job}/{name}");
            if !jobs.contains(&job) {
                let hint = hint_for_unknown(&job, jobs.iter().map(String::as_str), || {
                    format!("the jobs are: {}", jobs.join(", "))
                });
                let problem = Problem::input(format!("the release has no job '{job}'")).code(code::JOB_UNKNOWN);
                problems.push(problem.at(Place::file(label(&job))).hint(hint));
                break;
            }
            match Case::read(&job, &name, tests.join(&id), label(&id)) {
                Ok(case) => cases.push(case),
                Err(found) => problems.extend(found.into_vec()),
            }
        }
    }
    Problems::check(problems)?;
    let known: Vec<String> = cases.iter().map(Case::id).collect();
    let mut chosen = vec![patterns.is_empty(); cases.len()];
    for text in patterns {
        let glob = GlobBuilder::new(text.trim_end_matches('/')).literal_separator(true).build();
        let glob = glob.map_err(|e| Problem::usage(format!("invalid pattern '{text}'")).because(e.kind()))?;
        let matcher = glob.compile_matcher();
        let mut is_any = false;
        for (case, chosen) in cases.iter().zip(&mut chosen) {
            let is_match = matcher.is_match(case.id()) || matcher.is_match(&case.job);
            *chosen |= is_match;
            is_any |= is_match;
        }
        if !is_any {
            let names = known.iter().map(String::as_str).chain(cases.iter().map(|case| case.job.as_str()));
            let hint = hint_for_unknown(text, names, || match known.as_slice() {
                [] => "`boson test --init` makes a first case for each job".to_owned(),
                known => format!("the cases are: {}", known.join(", ")),
            });
            return Err(Problem::usage(format!("no case matches '{text}'")).hint(hint).into());
        }
    }
    let mut chosen = chosen.into_iter();
    cases.retain(|_| chosen.next().unwrap_or_default());
    Ok(cases)
}

/// The names of the directories in a directory, sorted; none if it does not exist.
pub(crate) fn directories(directory: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.io("read", directory)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.io("read", directory)?;
        // A link could lead out of the release.
        if entry.file_type().io("read", directory)?.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_masked_are_groups_or_whole_matches() {
        let settings = Settings::parse(b"mask: ['key: (\\w+)', '[0-9]+']\n", "case.yml").unwrap();
        assert_eq!(settings.masked(b"key: abc\nx 12 y 3\n"), b"key: <masked>\nx <masked> y <masked>\n");
        assert_eq!(Settings::default().masked(b"x"), b"x");
    }

    #[test]
    fn mistakes_have_lines() {
        let problems = Settings::parse(b"mask: ['(']\nfiles: a\nexample: true\n", "case.yml").err().unwrap();
        let lines: Vec<_> = problems.iter().map(|problem| problem.place.as_ref().unwrap().line).collect();
        assert_eq!(lines, [Some(1), Some(2), Some(3)], "{problems}");
        assert!(Settings::parse(b"- a", "case.yml").is_err() && Settings::parse(b"a: [", "case.yml").is_err());
    }
}
