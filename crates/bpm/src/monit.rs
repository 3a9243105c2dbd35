//! What monit keeps running of a job's `bpm.yml`.
//!
//! BOSH: a `bpm.yml` says how processes are run; which of them are started is monit's business, by commands like
//! `start program "/var/vcap/jobs/bpm/bin/bpm start JOB -p PROCESS"` in the job's `monit`. The others are for scripts
//! (`bpm run`, `bpm start`), or for nobody while a property is not set. A job that monit does not watch and that has
//! `bin/run` is an errand.

use std::collections::BTreeSet;

use crate::{JobConfig, ProcessConfig};

/// Kinds of what monit watches.
const WATCHED: [&str; 8] = ["process", "file", "fifo", "filesystem", "device", "directory", "host", "system"];

/// Whether a `monit`, rendered or not, watches anything.
pub fn watches(monit: &str) -> bool {
    let words = words(monit);
    words.windows(2).any(|pair| pair[0].is("check") && WATCHED.iter().any(|kind| pair[1].is(kind)))
}

/// The processes of a job that run for as long as their instance, in the order of its `bpm.yml`.
///
/// `monit` is the job's, rendered; `has_bin_run` says that it has a script `bin/run`. Where `monit` starts nothing with BPM, because
/// the job has none or has scripts of its own, all processes run.
pub fn supervised<'a>(
    config: &'a JobConfig,
    job: &str,
    monit: Option<&str>,
    has_bin_run: bool,
) -> Vec<&'a ProcessConfig> {
    let started = monit.map(started).unwrap_or_default();
    let errand = has_bin_run && !monit.is_some_and(watches);
    let runs = |process: &&ProcessConfig| match (started.is_empty(), errand) {
        (false, _) => started.contains(&(job.to_owned(), process.name.clone())),
        (true, errand) => !errand,
    };
    config.processes.iter().filter(runs).collect()
}

/// A word of a `monit`.
struct Word<'a> {
    text: &'a str,
    quoted: bool,
}

impl Word<'_> {
    /// Whether it is this keyword; monit takes them in any case.
    fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.text.eq_ignore_ascii_case(keyword)
    }
}

/// The words of a `monit`: what is between blanks or between quotes, without comments.
fn words(monit: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = monit.trim_start();
    while let Some(first) = rest.chars().next() {
        let (text, after, quoted) = match first {
            '#' => ("", rest.split_once('\n').map_or("", |(_, after)| after), true),
            '"' | '\'' => {
                let body = &rest[1..];
                let (text, after) = body.split_once(first).unwrap_or((body, ""));
                (text, after, true)
            }
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (&rest[..end], &rest[end..], false)
            }
        };
        if first != '#' {
            words.push(Word { text, quoted });
        }
        rest = after.trim_start();
    }
    words
}

/// Job and process of each `bpm start` among the start commands.
fn started(monit: &str) -> BTreeSet<(String, String)> {
    let words = words(monit);
    let commands = words.iter().enumerate().filter(|(_, word)| word.is("start")).filter_map(|(i, _)| {
        let command = words[i + 1..].iter().find(|word| !word.is("program") && !word.is("="))?;
        command.quoted.then_some(command.text)
    });
    commands.filter_map(started_by).collect()
}

/// BPM: `bpm start JOB [-p PROCESS]`, where the process is called as the job unless it is named.
fn started_by(command: &str) -> Option<(String, String)> {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let is_bpm = |word: &str| word == "bpm" || word.ends_with("/bpm");
    words.find(|word| is_bpm(word))?;
    words.next().filter(|word| *word == "start")?;
    let (mut job, mut process) = (None, None);
    while let Some(word) = words.next() {
        let named = word.strip_prefix("--process").or_else(|| word.strip_prefix("-p"));
        match named.map(|name| name.strip_prefix('=').unwrap_or(name)) {
            Some("") => process = words.next(),
            Some(name) => process = Some(name),
            None if word.starts_with('-') => {}
            None => job = job.or(Some(word)),
        }
    }
    let job = job?;
    Some((job.to_owned(), process.unwrap_or(job).to_owned()))
}
