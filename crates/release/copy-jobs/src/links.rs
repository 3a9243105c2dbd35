//! Whether a link stays within its tree. Pure: the tree is given as its links.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// As many links as Linux follows in one path; a longer chain is a loop and leads nowhere.
const MAX_LINKS: usize = 40;

/// The link leads out of the tree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leaves;

/// Follows the link at `path` through the tree whose links are `links` (all relative to the root).
///
/// `names` are the absolute names of the root. Where the link's target is absolute and inside, gives the relative target
/// that means the same. A link to something that does not exist stays, as long as it would lie inside.
pub(crate) fn check(
    path: &Path,
    names: &[&Path],
    links: &HashMap<PathBuf, PathBuf>,
) -> Result<Option<PathBuf>, Leaves> {
    let mut ahead: VecDeque<OsString> = VecDeque::new();
    push(path, names, &mut ahead)?;
    let mut here = PathBuf::new();
    let mut followed = 0;
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            if !here.pop() {
                return Err(Leaves);
            }
            continue;
        }
        here.push(&part);
        let Some(target) = links.get(&here) else { continue };
        followed += 1;
        if followed > MAX_LINKS {
            break;
        }
        here = if target.is_absolute() { PathBuf::new() } else { here.parent().unwrap_or(Path::new("")).to_path_buf() };
        push(target, names, &mut ahead)?;
    }
    let target = links.get(path).filter(|target| target.is_absolute());
    Ok(target.and_then(|target| inside(target, names)).map(|rest| relative(path, rest)))
}

/// Puts the components of `target` in front of what is ahead.
fn push(target: &Path, names: &[&Path], ahead: &mut VecDeque<OsString>) -> Result<(), Leaves> {
    let target = if target.is_absolute() { inside(target, names).ok_or(Leaves)? } else { target };
    for component in target.components().rev() {
        match component {
            Component::Normal(part) => ahead.push_front(part.to_owned()),
            Component::ParentDir => ahead.push_front("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(())
}

fn inside<'a>(target: &'a Path, names: &[&Path]) -> Option<&'a Path> {
    names.iter().filter(|name| name.is_absolute()).find_map(|name| target.strip_prefix(name).ok())
}

/// The target that leads a link at `path` to `rest` (relative to the root).
fn relative(path: &Path, rest: &Path) -> PathBuf {
    let up = path.components().count() - 1;
    let target: PathBuf = std::iter::repeat_n(OsStr::new(".."), up).chain(rest.iter()).collect();
    if target.as_os_str().is_empty() { PathBuf::from(".") } else { target }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, links: &[(&str, &str)]) -> Result<Option<String>, Leaves> {
        let links = links.iter().map(|(link, target)| (link.into(), target.into())).collect();
        check(Path::new(path), &[Path::new("/src"), Path::new("/real/src")], &links)
            .map(|target| target.map(|t| t.to_str().unwrap().to_owned()))
    }

    #[test]
    fn links_inside_stay() {
        for target in ["x", "../shared/x", "./x", "../a/../shared/x", "missing", "../missing/../x", "l", ".."] {
            assert_eq!(checked("a/l", &[("a/l", target)]), Ok(None), "{target}");
        }
        assert_eq!(checked("l", &[("l", ".")]), Ok(None));
    }

    #[test]
    fn links_that_lead_out_are_found_however_they_do_it() {
        for target in
            ["/etc/passwd", "../..", "../../x", "x/../../../y", "/srcs/x", "/src/../etc", "/", "../a/../../src/x"]
        {
            assert_eq!(checked("a/l", &[("a/l", target)]), Err(Leaves), "{target}");
        }
        // Through another link: deep/up is the root, so deep/up/.. lies outside though it does not look so.
        let links = [("l", "deep/up/../x"), ("deep/up", "..")];
        assert_eq!(checked("l", &links), Err(Leaves));
        // And the other way round: it looks outside, but is inside.
        let links = [("l", "s/../../x"), ("s", "a/b/c")];
        assert_eq!(checked("l", &links), Ok(None));
    }

    #[test]
    fn loops_lead_nowhere() {
        assert_eq!(checked("a", &[("a", "b"), ("b", "a")]), Ok(None));
        assert_eq!(checked("a", &[("a", "a/x")]), Ok(None));
    }

    #[test]
    fn absolute_targets_inside_become_relative() {
        assert_eq!(checked("a/b/l", &[("a/b/l", "/src/c/x")]), Ok(Some("../../c/x".into())));
        assert_eq!(checked("l", &[("l", "/real/src/c")]), Ok(Some("c".into())));
        assert_eq!(checked("l", &[("l", "/src")]), Ok(Some(".".into())));
        assert_eq!(checked("a/l", &[("a/l", "/src/")]), Ok(Some("..".into())));
    }
}
