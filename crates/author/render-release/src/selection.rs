//! Which instances and files are rendered.

use globset::{GlobBuilder, GlobMatcher};
use instance_group::Resolved;
use problem::{Problem, Problems, Result, code, hint_for_unknown};

use crate::options::Options;

/// How many names a message lists.
const MAX_LISTED: usize = 12;

/// The names of the instances of these groups, GROUP/INDEX.
pub fn instance_names(groups: &[Resolved]) -> impl Iterator<Item = String> {
    groups.iter().flat_map(|group| group.slots.iter().map(|slot| format!("{}/{}", group.name, slot.index)))
}

/// The patterns of a run.
pub(crate) struct Selection {
    /// The instance; all without one.
    instance: Option<Pattern>,
    /// Files; all without one.
    files: Vec<Pattern>,
    /// The job of a run without a manifest, whose name a path need not have.
    job: Option<String>,
}

struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl Pattern {
    fn new(text: &str) -> Result<Pattern> {
        let clean = text.trim_end_matches('/');
        let glob = GlobBuilder::new(clean).literal_separator(true).backslash_escape(true).build();
        let invalid = |e: globset::Error| Problem::usage(format!("invalid pattern '{text}'")).because(e.kind());
        Ok(Pattern { text: text.to_owned(), matcher: glob.map_err(invalid)?.compile_matcher() })
    }

    /// The pattern of one name.
    fn exact(name: &str) -> Result<Pattern> {
        let matcher = GlobBuilder::new(&globset::escape(name)).literal_separator(true).build();
        let matcher = matcher.map_err(|e| Problem::internal("invalid name").because(e))?.compile_matcher();
        Ok(Pattern { text: name.to_owned(), matcher })
    }

    /// Whether it matches the path or a directory above it.
    fn is_match(&self, path: &str) -> bool {
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        above.chain([path]).any(|part| self.matcher.is_match(part))
    }
}

impl Selection {
    /// The selection that the command line names; `job` is the instance and the job of a run without a manifest.
    pub(crate) fn new(options: &Options, job: Option<(String, &str)>) -> Result<Selection> {
        let patterns = options.patterns().map(|text| Pattern::new(text));
        let mut patterns: Vec<Pattern> = patterns.collect::<Result<_>>()?;
        let instance = match &job {
            Some((instance, _)) => Some(Pattern::exact(instance)?),
            None if patterns.is_empty() => None,
            None => Some(patterns.remove(0)),
        };
        Ok(Selection { instance, files: patterns, job: job.map(|(_, job)| job.to_owned()) })
    }

    /// All files of the instance with this name, GROUP/INDEX.
    pub(crate) fn of_instance(instance: &str) -> Result<Selection> {
        Ok(Selection { instance: Some(Pattern::exact(instance)?), files: Vec::new(), job: None })
    }

    /// One file of an instance, as JOB/PATH.
    pub(crate) fn of_file(instance: &str, file: &str) -> Result<Selection> {
        Ok(Selection { instance: Some(Pattern::exact(instance)?), files: vec![Pattern::exact(file)?], job: None })
    }

    /// All files of one job.
    pub(crate) fn of_job(job: &str) -> Result<Selection> {
        Ok(Selection { instance: None, files: vec![Pattern::exact(job)?], job: None })
    }

    /// Whether an instance is chosen.
    pub(crate) fn has_instance(&self, group: &str, index: u32) -> bool {
        let names = [format!("{group}/{index}"), format!("{group}/{group}-{index}")];
        self.instance.as_ref().is_none_or(|pattern| names.iter().any(|name| pattern.is_match(name)))
    }

    /// Whether a file is chosen.
    pub(crate) fn has_file(&self, job: &str, path: &str) -> bool {
        self.files.is_empty() || self.files.iter().any(|pattern| self.matches(pattern, job, path))
    }

    fn matches(&self, pattern: &Pattern, job: &str, path: &str) -> bool {
        pattern.is_match(&format!("{job}/{path}")) || (self.job.as_deref() == Some(job) && pattern.is_match(path))
    }

    /// Fails if no instance is chosen; `known` are all, as GROUP/INDEX.
    pub(crate) fn check_instances(&self, is_any_chosen: bool, known: &[String]) -> Result<()> {
        let Some(pattern) = self.instance.as_ref().filter(|_| !is_any_chosen) else { return Ok(()) };
        let groups = known.iter().filter_map(|name| Some(name.split_once('/')?.0));
        let names = known.iter().map(String::as_str).chain(groups);
        let hint = hint_for_unknown(&pattern.text, names, || match known {
            [] => "the deployment has no instances".to_owned(),
            known => format!("the instances are: {}", listed(known)),
        });
        let message = format!("no instance matches '{}'", pattern.text);
        Err(Problem::usage(message).code(code::INSTANCE_UNKNOWN).hint(hint).into())
    }

    /// Fails if a pattern matches no file; `known` are job and path of those that the chosen instances have.
    pub(crate) fn check_files(&self, known: &[(&str, &str)]) -> Result<()> {
        let unmatched =
            self.files.iter().filter(|pattern| !known.iter().any(|(job, path)| self.matches(pattern, job, path)));
        let shown = |(job, path): &(&str, &str)| match &self.job {
            Some(_) => (*path).to_owned(),
            None => format!("{job}/{path}"),
        };
        let names: Vec<String> = known.iter().map(shown).collect();
        let problem = |pattern: &Pattern| {
            let hint = hint_for_unknown(&pattern.text, names.iter().map(String::as_str), || match names.as_slice() {
                [] => "the chosen instances have no files".to_owned(),
                names => format!("the files are: {}", listed(names)),
            });
            Problem::usage(format!("no file matches '{}'", pattern.text)).hint(hint)
        };
        Problems::check(unmatched.map(problem).collect())
    }
}

fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(MAX_LISTED)].join(", ");
    match names.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more; --list prints all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(instance: Option<&str>, files: &[&str], job: Option<&str>) -> Selection {
        let pattern = |text: &&str| Pattern::new(text).unwrap();
        Selection {
            instance: instance.as_ref().map(pattern),
            files: files.iter().map(pattern).collect(),
            job: job.map(str::to_owned),
        }
    }

    #[test]
    fn an_instance_is_chosen_by_group_index_id_or_pattern() {
        for text in ["web", "web/", "web/0", "web/web-0", "w*", "w*/0", "*/0", "*", "**/0", "{web,db}/[01]"] {
            assert!(selection(Some(text), &[], None).has_instance("web", 0), "{text}");
        }
        for text in ["we", "web/1", "web-0", "0", "*/1", "web/0/x"] {
            assert!(!selection(Some(text), &[], None).has_instance("web", 0), "{text}");
        }
        assert!(selection(None, &[], None).has_instance("web", 7));
    }

    #[test]
    fn a_file_is_chosen_by_job_directory_path_or_pattern() {
        for text in ["web", "web/config", "web/config/a.yml", "*/config", "web/*/*.yml", "**/a.yml", "**/*.yml"] {
            assert!(selection(None, &[text], None).has_file("web", "config/a.yml"), "{text}");
        }
        for text in ["config", "*.yml", "web/a.yml", "web/*.yml", "db"] {
            assert!(!selection(None, &[text], None).has_file("web", "config/a.yml"), "{text}");
        }
        for text in ["config", "config/*.yml", "web/config"] {
            assert!(selection(None, &[text], Some("web")).has_file("web", "config/a.yml"), "{text}");
        }
        assert!(selection(None, &["x", "web"], None).has_file("web", "monit"));
    }

    #[test]
    fn what_exists_is_listed_where_a_pattern_matches_nothing() {
        let known: Vec<String> = (0..14).map(|index| format!("web/{index}")).collect();
        let message = |pattern| {
            let problems = selection(Some(pattern), &[], None).check_instances(false, &known).unwrap_err();
            problems.to_string()
        };
        assert!(message("database").contains("web/11 and 2 more; --list prints all"), "{}", message("database"));
        assert!(message("wbe/0").contains("did you mean 'web/0'?"), "{}", message("wbe/0"));
    }
}
