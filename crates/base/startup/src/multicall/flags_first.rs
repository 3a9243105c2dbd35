//! Flags before the verb, as people type them for bosh and kubectl: `bosh -n -d nats deploy`.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

use super::Verb;

/// A flag of bosh before the verb that verbs without a question do not have: there is nothing to answer.
const NON_INTERACTIVE: [&str; 2] = ["-n", "--non-interactive"];

/// The command line with the verb first, if flags of the verb stand before it. `is_bosh` tells that `-n` before the verb is
/// bosh's; for kubectl it is the namespace.
pub(super) fn verb_first<'v>(
    args: &[OsString],
    verb: impl Fn(&OsStr) -> Option<&'v Verb>,
    is_bosh: bool,
) -> Option<Vec<OsString>> {
    let candidates = args.iter().enumerate().skip(2).filter_map(|(at, word)| Some((at, word, verb(word)?)));
    for (at, word, verb) in candidates {
        let Some(flags) = flags(&(verb.command)(), &args[1..at], is_bosh) else { continue };
        let start = args.first().into_iter().chain([word]).cloned();
        return Some(start.chain(flags).chain(args[at + 1..].iter().cloned()).collect());
    }
    None
}

/// These words for the verb, if they are nothing but flags of it with their values.
fn flags(grammar: &Command, words: &[OsString], is_bosh: bool) -> Option<Vec<OsString>> {
    let (mut flags, mut at) = (Vec::new(), 0);
    while let Some(word) = words.get(at) {
        let text = word.to_str().filter(|text| text.starts_with('-'))?;
        at += 1;
        if is_bosh && NON_INTERACTIVE.contains(&text) {
            // `-n` is something else for some verbs.
            let asks = find(grammar, NON_INTERACTIVE[1]).is_some();
            flags.extend(asks.then(|| NON_INTERACTIVE[1].into()));
            continue;
        }
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        let takes_next = find(grammar, name)?.get_action().takes_values() && name == text;
        flags.push(word.clone());
        if takes_next {
            flags.push(words.get(at)?.clone());
            at += 1;
        }
    }
    Some(flags)
}

/// The flag of this name, `-d` or `--deployment`.
fn find<'g>(grammar: &'g Command, name: &str) -> Option<&'g Arg> {
    let is_it = |arg: &&Arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long) || arg.get_all_aliases().unwrap_or_default().contains(&long),
        None => {
            let short = name.strip_prefix('-').and_then(|rest| rest.parse::<char>().ok());
            short.is_some() && arg.get_short() == short
        }
    };
    grammar.get_arguments().find(is_it)
}
