//! The command that checks a result before it replaces the last one.

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use problem::{IoContext, Problem, Result};
use vcap::{atomic, flat_dir};

use crate::output::{Content, MODE, Output};

/// Stands for the candidate's path.
const PLACEHOLDER: &str = "{}";

/// Runs the command with the candidate, beside the output.
///
/// # Errors
/// The command cannot be run or does not exit with 0.
pub(crate) fn check(command: &str, output: Output<'_>, content: &Content) -> Result<()> {
    let path = match output {
        Output::File(path) | Output::Dir(path) => path,
        Output::Stdout => return Err(Problem::usage("--check-command needs --output or --output-dir").into()),
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scratch = tempfile::Builder::new().prefix("..candidate-").tempdir_in(parent);
    // A mount point's parent may be read-only.
    let scratch = scratch.or_else(|_| tempfile::tempdir()).io("create a directory beside", path)?;
    let candidate = scratch.path().join(path.file_name().unwrap_or_default());
    match content {
        Content::Text(text) => atomic::replace_file(&candidate, text.as_bytes(), MODE)?,
        Content::Files(files) => {
            let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
            flat_dir::replace(&candidate, &files, MODE)?;
        }
    }
    run(command, &candidate)
}

fn run(command: &str, candidate: &Path) -> Result<()> {
    let words =
        words(command).ok_or_else(|| Problem::usage("--check-command: a quote is not closed, or it is empty"))?;
    let mut process = Command::new(&words[0]);
    for word in &words[1..] {
        match word.split_once(PLACEHOLDER) {
            Some((before, after)) => {
                let mut argument = std::ffi::OsString::from(before);
                argument.push(candidate);
                argument.push(after);
                process.arg(argument)
            }
            None => process.arg(word),
        };
    }
    process.env("BOSON_CANDIDATE", candidate).stdin(Stdio::null());
    // Signals are blocked here while the template is watched, and a child would inherit that.
    let before = SigSet::thread_get_mask().ok();
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    // What the command prints may be of the candidate: it goes to the container's log as it does without boson.
    let status = process.status();
    if let Some(before) = before {
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    }
    let program = &words[0];
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::input(format!("--check-command: {program} refused the result: {status}"))
            .hint("the last result stays")
            .into()),
        Err(e) => Err(Problem::internal(format!("--check-command: cannot run {program}")).because(e).into()),
    }
}

/// The words of a command: separated by spaces, `'` and `"` quote. `None` if a quote is not closed or no word is there.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        let words = |text| words(text).map(|words| words.join("|"));
        assert_eq!(words("nginx -t  -c {}").as_deref(), Some("nginx|-t|-c|{}"));
        assert_eq!(words("sh -c 'test -s \"$1\"' x {} \"\"").as_deref(), Some("sh|-c|test -s \"$1\"|x|{}|"));
        assert_eq!(words("a'b c'd").as_deref(), Some("ab cd"));
        assert_eq!((words(""), words("a 'b")), (None, None));
    }

    #[test]
    fn the_exit_status_decides() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("out.yaml");
        let check = |command: &str| check(command, Output::File(&file), &Content::Text("text".to_owned()));
        check("grep -q text {}").unwrap();
        check("sh -c 'test $(cat $BOSON_CANDIDATE) = text'").unwrap();
        let refused = check("grep -q other {}").unwrap_err();
        assert!(refused.to_string().starts_with("error: --check-command: grep refused the result: exit status: 1"));
        assert_eq!(check("/no/such").unwrap_err().exit_code(), 70);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
