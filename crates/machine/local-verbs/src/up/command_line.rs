//! The command line of the process that holds a deployment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::{Arg, Args, Command};

/// A command line without the values of an argument of `A`, in all forms that clap reads.
pub(super) fn without_values<A: Args>(args: impl Iterator<Item = OsString>, id: &str) -> Vec<OsString> {
    let grammar = A::augment_args(Command::new("grammar"));
    let mut kept = Vec::new();
    let mut args = args;
    while let Some(arg) = args.next() {
        match Part::of(&arg, &grammar, id) {
            Part::Kept => kept.push(arg),
            Part::WithValue => kept.extend([Some(arg), args.next()].into_iter().flatten()),
            Part::Removed(before) => kept.extend(before),
            Part::RemovedWithValue(before) => {
                kept.extend(before);
                args.next();
            }
        }
    }
    kept
}

/// What becomes of a part of a command line.
enum Part {
    Kept,
    /// It stays together with the next part.
    WithValue,
    /// It is removed, except for short flags before the argument.
    Removed(Option<OsString>),
    /// And so is the next part.
    RemovedWithValue(Option<OsString>),
}

impl Part {
    fn of(arg: &OsStr, grammar: &Command, id: &str) -> Part {
        let bytes = arg.as_bytes();
        if let Some(long) = bytes.strip_prefix(b"--") {
            let name = long.split(|byte| *byte == b'=').next().unwrap_or_default();
            let has_value = name.len() < long.len();
            let is = |arg: &&Arg| {
                let mut names = arg.get_long().into_iter().chain(arg.get_all_aliases().into_iter().flatten());
                names.any(|long| long.as_bytes() == name)
            };
            return match grammar.get_arguments().find(is) {
                Some(arg) if arg.get_id() == id && has_value => Part::Removed(None),
                Some(arg) if arg.get_id() == id => Part::RemovedWithValue(None),
                Some(arg) if takes_value(arg) && !has_value => Part::WithValue,
                _ => Part::Kept,
            };
        }
        let Some(flags) = bytes.strip_prefix(b"-") else { return Part::Kept };
        for (at, flag) in flags.iter().enumerate() {
            let is = |arg: &&Arg| {
                let mut names = arg.get_short().into_iter().chain(arg.get_all_short_aliases().into_iter().flatten());
                names.any(|short| short == char::from(*flag))
            };
            let found = grammar.get_arguments().find(is);
            let Some(found) = found.filter(|arg| takes_value(arg)) else { continue };
            let is_last = at + 1 == flags.len();
            let before = (at > 0).then(|| OsString::from_vec(bytes[..=at].to_vec()));
            return match (found.get_id() == id, is_last) {
                (true, true) => Part::RemovedWithValue(before),
                (true, false) => Part::Removed(before),
                (false, true) => Part::WithValue,
                (false, false) => Part::Kept,
            };
        }
        Part::Kept
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::Options;

    #[test]
    fn values_of_variables_are_removed_in_every_form() {
        let cases = [
            ("up -m m.yml -v a=1 --var b=2 --var=c=3 -vd=4 -r r", "up -m m.yml -r r"),
            ("up -hv a=1 -hva=1 -m -v -r v", "up -h -h -m -v -r v"),
            ("up -dv -v a=1 -d v -va=1", "up -dv -d v"),
            (
                "up --var-file v=x --vars-file v -o v -pv --name --var",
                "up --var-file v=x --vars-file v -o v -pv --name --var",
            ),
        ];
        for (given, kept) in cases {
            let args = given.split(' ').map(OsString::from);
            let kept: Vec<OsString> = kept.split(' ').map(OsString::from).collect();
            assert_eq!(without_values::<Options>(args, "vars"), kept, "{given}");
        }
    }
}
