//! The names of files in a diff.

/// The old and the new name of `--- OLD` and `+++ NEW`, as paths; nothing for a file that does not exist.
pub(crate) fn of_pair(old: &[u8], new: &[u8]) -> Result<(Option<String>, Option<String>), &'static str> {
    let (old, new) = (name(old)?, name(new)?);
    Ok(match (old, new) {
        (None, None) => return Err("both names are /dev/null"),
        (None, Some(new)) => (None, Some(without_prefix(&new, "b"))),
        (Some(old), None) => (Some(without_prefix(&old, "a")), None),
        (Some(old), Some(new)) => {
            let path = of_two(&old, &new);
            (Some(path.clone()), Some(path))
        }
    })
}

/// The path that two names stand for: with git's prefixes, the same in two directories (`diff -r`), or a copy beside the
/// file (`x.orig`).
fn of_two(old: &str, new: &str) -> String {
    if let (Some(_), Some(new)) = (old.strip_prefix("a/"), new.strip_prefix("b/")) {
        return new.to_owned();
    }
    match (old.split_once('/'), new.split_once('/')) {
        (Some((first, below_old)), Some((second, below_new))) if first != second && below_old == below_new => {
            below_new.to_owned()
        }
        _ => new.to_owned(),
    }
}

/// The path of a file that exists on one side only: there is no other name to compare it with.
pub(crate) fn without_prefix(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name).to_owned()
}

/// The name in the rest of a header line; nothing for `/dev/null`, and for a time stamp of 1970, with which `diff -N` marks a
/// file that does not exist.
fn name(rest: &[u8]) -> Result<Option<String>, &'static str> {
    let (bytes, stamp) = if rest.first() == Some(&b'"') {
        unquoted(rest).ok_or("a quoted name is malformed")?
    } else {
        let end = rest.iter().position(|byte| *byte == b'\t').unwrap_or(rest.len());
        (rest[..end].to_vec(), &rest[end..])
    };
    let text = String::from_utf8(bytes).map_err(|_| "a name is not UTF-8")?;
    let text = text.trim_end_matches('\r').to_owned();
    if text.is_empty() {
        return Err("a name is missing");
    }
    let stamp = stamp.trim_ascii();
    // The beginning of 1970 is a day of 1969 in the west.
    let is_epoch = stamp.starts_with(b"1970-01-01 ") || stamp.starts_with(b"1969-12-31 ");
    Ok((text != "/dev/null" && !is_epoch).then_some(text))
}

/// The old and the new name of `diff --git a/OLD b/NEW`, without prefixes; nothing if the line does not say where one name ends.
pub(crate) fn of_git(rest: &[u8]) -> Option<(String, String)> {
    if rest.first() == Some(&b'"') {
        let (old, rest) = unquoted(rest)?;
        let rest = rest.strip_prefix(b" ")?;
        let new = if rest.first() == Some(&b'"') { unquoted(rest)?.0 } else { rest.to_vec() };
        return both(old, new);
    }
    let spaces = rest.iter().enumerate().filter(|(_, byte)| **byte == b' ').map(|(at, _)| at);
    let mut found = spaces.filter_map(|at| {
        let new = &rest[at + 1..];
        let new = if new.first() == Some(&b'"') { unquoted(new)?.0 } else { new.to_vec() };
        both(rest[..at].to_vec(), new).filter(|(old, new)| old == new)
    });
    found.next()
}

fn both(old: Vec<u8>, new: Vec<u8>) -> Option<(String, String)> {
    let (old, new) = (String::from_utf8(old).ok()?, String::from_utf8(new).ok()?);
    Some((without_prefix(&old, "a"), without_prefix(&new, "b")))
}

/// A name after `rename from ` and the like, which has no prefix.
pub(crate) fn plain(rest: &[u8]) -> Option<String> {
    let bytes = if rest.first() == Some(&b'"') { unquoted(rest)?.0 } else { rest.to_vec() };
    String::from_utf8(bytes).ok().filter(|name| !name.is_empty())
}

/// The text of a name in quotes with C's escapes, as git writes it, and what follows.
fn unquoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((name, rest)),
            b'\\' => {
                let (&escaped, after) = rest.split_first()?;
                rest = after;
                name.push(match escaped {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => escaped,
                    b'0'..=b'3' => {
                        let digits = [escaped, *rest.first()?, *rest.get(1)?];
                        rest = &rest[2..];
                        u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()?
                    }
                    _ => return None,
                });
            }
            byte => name.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(old: &str, new: &str) -> (Option<String>, Option<String>) {
        of_pair(old.as_bytes(), new.as_bytes()).unwrap()
    }

    #[test]
    fn both_names_of_a_file_give_one_path() {
        let stamp = "\t2024-01-02 03:04:05.000000000 +0100";
        for (old, new) in [
            ("a/jobs/x".to_owned(), "b/jobs/x".to_owned()),
            ("jobs/x".to_owned(), "jobs/x".to_owned()),
            (format!("jobs/x.orig{stamp}"), format!("jobs/x{stamp}")),
            (format!("nats-34/jobs/x{stamp}"), format!("nats/jobs/x{stamp}")),
            ("\"a/jobs/\\170\"".to_owned(), "b/jobs/x".to_owned()),
        ] {
            assert_eq!(pair(&old, &new), (Some("jobs/x".to_owned()), Some("jobs/x".to_owned())), "{old} {new}");
        }
    }

    #[test]
    fn a_file_on_one_side_is_new_or_deleted() {
        assert_eq!(pair("/dev/null", "b/x"), (None, Some("x".to_owned())));
        assert_eq!(pair("a/x", "/dev/null"), (Some("x".to_owned()), None));
        assert_eq!(
            pair("a/x\t1970-01-01 01:00:00.000000000 +0100", "b/x\t2024-01-01 00:00:00"),
            (None, Some("x".to_owned()))
        );
        assert!(of_pair(b"/dev/null", b"/dev/null").is_err() && of_pair(b"", b"b/x").is_err());
        assert!(of_pair(b"\"a/x", b"b/x").is_err() && of_pair(b"a/\xff", b"b/x").is_err());
    }

    #[test]
    fn names_of_git_may_have_spaces() {
        let of = |text: &str| of_git(text.as_bytes());
        assert_eq!(of("a/x y b/x y"), Some(("x y".to_owned(), "x y".to_owned())));
        assert_eq!(of("\"a/\\303\\251\" \"b/\\303\\251\""), Some(("é".to_owned(), "é".to_owned())));
        assert_eq!(of("a/x b/y"), None);
    }
}
