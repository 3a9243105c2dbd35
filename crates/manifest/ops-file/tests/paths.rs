//! The language of paths: each construct and each message.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use go_yaml::{Node, Source};
use ops_file::{Path, find};

const DOCUMENT: &str = "
releases:
- {name: nats, version: 1}
- {name: web, version: 2, jobs: [a, b, c]}
- {name: web2, version: 3}
twice:
- name: x
- name: x
a/b: slash
a:b: colon
a~b: tilde
'0': zero
empty:
list: [[1, 2], [3]]
";

fn document() -> Node {
    go_yaml::read(DOCUMENT.as_bytes(), Source(0)).unwrap()
}

fn found(path: &str) -> String {
    let path: Path = path.parse().unwrap();
    match find(&document(), &path) {
        Ok(node) => go_yaml::write(&node).trim_end().to_owned(),
        Err(failure) => format!("! {failure}"),
    }
}

#[test]
fn tokens_lead_to_nodes() {
    for (path, expected) in [
        ("/releases/0/version", "1"),
        ("/releases/-1/version", "3"),
        ("/releases/+1/version", "2"),
        ("/releases/01/version", "2"),
        ("/releases/name=web/version", "2"),
        ("/releases/name=web:next/version", "3"),
        ("/releases/name=web:prev/version", "1"),
        ("/releases/0:next:next/version", "3"),
        ("/releases/-1:next/version", "1"),
        ("/releases/0:prev/version", "3"),
        ("/releases/name=web/jobs/-1", "c"),
        ("/a~1b", "slash"),
        ("/a~7b", "colon"),
        ("/a~0b", "tilde"),
        ("/0?", "zero"),
        ("/empty", "null"),
        ("/none?", "null"),
        ("/none?/deeper", "null"),
        ("/none?/name=x", "name: x"),
        ("/releases/name=none?", "name: none"),
        ("/releases/name=none?/version", "null"),
        ("/list/0/1", "2"),
    ] {
        assert_eq!(found(path), expected, "{path}");
    }
    assert_eq!(found(""), go_yaml::write(&document()).trim_end());
}

#[test]
fn failures_name_the_place() {
    for (path, expected) in [
        (
            "/release",
            "Expected to find a map key 'release' for path '/release' (found map keys: '0', 'a/b', 'a:b', 'a~b', 'empty', 'list', 'releases', 'twice')",
        ),
        ("/releases/x", "Expected to find a map at path '/releases/x' but found '[]interface {}'"),
        ("/releases/0/name/x", "Expected to find a map at path '/releases/0/name/x' but found 'string'"),
        ("/empty/x", "Expected to find a map at path '/empty/x' but found '<nil>'"),
        ("/empty?/x", "Expected to find a map at path '/empty?/x' but found '<nil>'"),
        ("/a~1b/0", "Expected to find an array at path '/a~1b/0' but found 'string'"),
        ("/releases/3", "Expected to find array index '3' but found array of length '3' for path '/releases/3'"),
        ("/releases/-4", "Expected to find array index '-4' but found array of length '3' for path '/releases/-4'"),
        (
            "/releases/2:next",
            "Expected to find array index '3' but found array of length '3' for path '/releases/2:next'",
        ),
        ("/twice/name=x", "Expected to find exactly one matching array item for path '/twice/name=x' but found 2"),
        ("/twice/name=y", "Expected to find exactly one matching array item for path '/twice/name=y' but found 0"),
        (
            "/releases/version=1",
            "Expected to find exactly one matching array item for path '/releases/version=1' but found 0",
        ),
        (
            "/releases/0:before",
            "Expected to find one of the following modifiers: 'prev', 'next', but found modifier 'patch.BeforeModifier'",
        ),
        (
            "/releases/-",
            "Expected not to find after last index token in path '/releases/-' (not supported in find operations)",
        ),
        ("/none?/0", "Expected to find key or matching index token at path '/none?/0'"),
        ("/none?/-", "Expected to find key or matching index token at path '/none?/-'"),
    ] {
        assert_eq!(found(path), format!("! {expected}"), "{path}");
    }
}

#[test]
fn invalid_paths_are_refused() {
    const MODIFIERS: &str =
        "Expected to find one of the following modifiers: 'prev', 'next', 'before', or 'after' but found";
    for (path, expected) in [
        ("a", "Expected to start with '/'".to_owned()),
        ("/a/0:foo", format!("{MODIFIERS} 'foo'")),
        ("/a/0:", format!("{MODIFIERS} ''")),
        // go-patch names the first piece, which is valid.
        ("/a/0:next:foo", format!("{MODIFIERS} 'foo'")),
        ("/a/-:prev", "Expected not to find any modifiers with after last index token".to_owned()),
        ("/a?:before", "Expected not to find any modifiers with key token".to_owned()),
    ] {
        assert_eq!(path.parse::<Path>().unwrap_err().to_string(), expected, "{path}");
    }
}

#[test]
fn paths_print_as_go_patch_prints_them() {
    for (path, printed) in [
        ("", ""),
        ("/", "/"),
        ("/a?/b/c?", "/a?/b/c"),
        ("/a~0~1~7b", "/a~0~1~7b"),
        ("/~01", "/~01"),
        ("/name=x?:after", "/name=x?:after"),
        ("/+1:next", "/1:next"),
        ("/a/-", "/a/-"),
        ("/k=x??", "/k=x??"),
    ] {
        assert_eq!(path.parse::<Path>().unwrap().to_string(), printed, "{path}");
    }
}

#[test]
fn hints_name_what_exists() {
    for (path, hint) in [
        ("/relaeses", Some("did you mean 'releases'?")),
        ("/releases/name=nets", Some("did you mean 'nats'?")),
        ("/releases/name=postgres", Some("found: 'nats', 'web', 'web2'")),
        ("/releases/7", None),
    ] {
        let failure = find(&document(), &path.parse().unwrap()).unwrap_err();
        assert_eq!(failure.hint().as_deref(), hint, "{path}");
    }
    let failure = find(&document(), &"/releases/name=nets".parse().unwrap()).unwrap_err();
    assert_eq!((failure.origin().line, failure.origin().column), (3, 1));
}
