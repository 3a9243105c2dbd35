//! What is checked in the whole configuration.

use super::*;

#[test]
fn tenants_have_groups_of_their_own() {
    let configuration = r#"{"groups": {
      "default": {"workers": {"args": {"a": "default"}}, "empty": {}},
      "other": {"workers": {"args": {"a": "other"}}},
      "flat": {"args": {"a": "flat"}}
    }}"#;
    let args = |instance: &str| compact(&file(&rendered(configuration, instance), "args.json"));
    assert_eq!(args(r#"{"tenant": "default", "group": "workers"}"#), r#"{"a":"default"}"#);
    assert_eq!(args(r#"{"tenant": "other", "group": "workers"}"#), r#"{"a":"other"}"#);
    assert_eq!(args(r#"{"tenant": "default", "group": "empty"}"#), "{}");
    assert_eq!(args(r#"{"group": "flat"}"#), r#"{"a":"flat"}"#);
    for (instance, expected) in [
        (
            r#"{"tenant": "defualt", "group": "workers"}"#,
            "error: unknown tenant 'defualt'\n  --> i.json:1:12\n  hint: did you mean 'default'?",
        ),
        (
            r#"{"tenant": "default", "group": "worker"}"#,
            "error: unknown group 'worker' of the tenant 'default'\n  --> i.json:1:32\n  hint: did you mean 'workers'?",
        ),
        (
            r#"{"group": "workers"}"#,
            "error: unknown group 'workers'\n  --> i.json:1:11\n  hint: the tenant 'default' has a group of this name: set TENANT",
        ),
        (
            r#"{"group": "default"}"#,
            "error: unknown group 'default'\n  --> i.json:1:11\n  hint: it is a tenant: set TENANT to it, and GROUP to one of its groups",
        ),
        (
            r#"{"tenant": "default", "group": "unlike"}"#,
            "error: unknown group 'unlike' of the tenant 'default'\n  --> i.json:1:32\n  hint: the groups are 'workers', 'empty'",
        ),
        (
            r#"{"tenant": "unlike", "group": "workers"}"#,
            "error: unknown tenant 'unlike'\n  --> i.json:1:12\n  hint: the tenants are 'default', 'other'",
        ),
        (
            "{}",
            "error: the instance has no group\n  hint: set `group` in the instance document, GROUP or --group, or give --all-groups",
        ),
    ] {
        assert_eq!(problems(configuration, instance), expected);
    }
    let flat = r#"{"groups": {"g": {}}}"#;
    assert!(
        problems(flat, r#"{"tenant": "t", "group": "g"}"#).contains("the groups of the configuration have no tenants")
    );
}

#[test]
fn the_whole_configuration_is_checked() {
    for (configuration, expected) in [
        (r#"[]"#, "the configuration is a list, not an object\n  --> c.json:1:1"),
        (r#"{"groups": []}"#, "groups is a list, not an object\n  --> c.json:1:12"),
        (r#"{"groups": {"g": 1}}"#, "groups.g is a number, not an object"),
        (r#"{"groups": {"g": {"template": 1}}}"#, "groups.g.template is a number, not a string"),
        (r#"{"groups": {"g": {"size": -1}}}"#, "groups.g.size is a negative number, not a whole number from 0 on"),
        (r#"{"groups": {"g": {"size": 1.5}}}"#, "groups.g.size is a number that is not a whole one"),
        (
            r#"{"templates": {"default": {}}, "groups": {"g": {"template": "defualt"}}}"#,
            "groups.g.template: unknown template 'defualt'\n  --> c.json:1:61\n  hint: did you mean 'default'?",
        ),
        (
            r#"{"templates": {}, "groups": {"t": {"g": {"template": "x"}}}}"#,
            "groups.t.g.template: unknown template 'x'\n  --> c.json:1:54\n  hint: add \"templates\": { \"x\": {} }, or remove the group's `template`",
        ),
        (
            r#"{"groups": {"default": {"workers": {"template": "default"}}}}"#,
            "hint: Nstance's example of GCP args has a group with this template and does not define it; add \"templates\": { \"default\": {} }, or remove the group's `template`",
        ),
        (
            r#"{"templates": {"small": {}, "large": {}}, "groups": {"g": {"template": "default"}}}"#,
            "hint: the templates are 'small', 'large'",
        ),
        (
            r#"{"templates": {"t": {"arch": "amd46"}}}"#,
            "templates.t.arch must be 'amd64' or 'arm64', not 'amd46'\n  --> c.json:1:30\n  hint: did you mean 'amd64'?",
        ),
        (r#"{"templates": {"t": {"vars": []}}}"#, "templates.t.vars is a list, not an object"),
        (r#"{"templates": {"t": {"args": "x"}}}"#, "templates.t.args is a string, not an object"),
        (r#"{"templates": {"t": {"kind": 7}}}"#, "templates.t.kind is a number, not a string"),
        (r#"{"templates": {"a b": {"files": 7}}}"#, "templates.\"a b\".files is a number, not an object"),
        (r#"{"shard": {"infra": {"region": 7}}}"#, "shard.infra.region is a number, not a string"),
        (r#"{"cluster": 7}"#, "cluster is a number, not an object"),
    ] {
        assert!(
            problems(configuration, r#"{"group": "g"}"#).contains(expected),
            "{configuration}: {}",
            problems(configuration, "{}")
        );
    }
}

#[test]
fn userdata_is_checked_in_the_whole_configuration() {
    for (userdata, expected) in [
        (r#"{"content": ""}"#, "content is missing or empty"),
        (r#"{}"#, "content is missing or empty"),
        (r#"{"content": 7}"#, "content is a number, not a string"),
        (r#"{"content": "x", "source": "file"}"#, "source must be one of 'inline', 'url', not 'file'"),
        (
            r#"{"content": "x", "encoding": "bas64"}"#,
            "encoding must be one of 'plain', 'base64', 'gzip', 'base64+gzip', not 'bas64'\n  --> c.json:1:63\n  hint: did you mean 'base64'?",
        ),
        (r#"{"content": "x", "encoding": "gzip"}"#, "encoding: 'gzip' is only valid with the source 'url'"),
        (r#""x""#, "userdata is a string, not an object"),
    ] {
        let template = format!(r#"{{"templates": {{"t": {{"userdata": {userdata}}}}}, "groups": {{}}}}"#);
        let text = problems(&template, "{}");
        assert!(text.contains("error: templates.t.userdata") && text.contains(expected), "{userdata}: {text}");
        let defaults = format!(r#"{{"defaults": {{"userdata": {userdata}}}, "groups": {{}}}}"#);
        assert!(problems(&defaults, "{}").contains("error: defaults.userdata"));
    }
}

#[test]
fn files_are_checked() {
    for (name, file, expected) in [
        ("f", r#"{}"#, "files.f.kind is missing"),
        ("f", r#"{"kind": "evn", "template": {}}"#, "files.f.kind: unknown kind 'evn'"),
        (
            "f",
            r#"{"kind": "yaml", "template": {}}"#,
            "hint: the kinds are env, json, string, secret, storage, certificate",
        ),
        ("f", r#"{"kind": "env"}"#, "files.f.template is missing"),
        ("f", r#"{"kind": "env", "template": "x"}"#, "files.f.template is a string, not an object"),
        ("f", r#"{"kind": "env", "template": {"A": 1}}"#, "files.f.template.A is a number, not a string"),
        (
            "f",
            r#"{"kind": "env", "template": {"A-B": "x"}}"#,
            "files.f.template.A-B: the key is not the name of a variable",
        ),
        ("f", r#"{"kind": "env", "template": {"1A": "x"}}"#, "template.1A: the key is not"),
        ("f", r#"{"kind": "json", "template": []}"#, "files.f.template is a list, not an object"),
        ("f", r#"{"kind": "string", "template": {}}"#, "files.f.template is an object, not a string"),
        ("f", r#"{"kind": "secret"}"#, "files.f.source is missing"),
        ("f", r#"{"kind": "storage", "source": 1}"#, "files.f.source is a number"),
        ("f", r#"{"kind": "certificate", "template": "sevrer"}"#, "unknown certificate 'sevrer'"),
        ("../f", r#"{"kind": "string", "template": "x"}"#, "files.\"../f\": the name of a file contains '/'"),
        ("..", r#"{"kind": "string", "template": "x"}"#, "the name of a file leads out of its directory"),
        ("", r#"{"kind": "string", "template": "x"}"#, "the name of a file is empty"),
        ("a\\u0000", r#"{"kind": "string", "template": "x"}"#, "the name of a file contains a zero byte"),
    ] {
        let text = problems(&with_file(name, file), r#"{"group": "g"}"#);
        assert!(text.contains(expected), "{file}: {text}");
    }
}

#[test]
fn unknown_fields_are_ignored_and_near_misses_reported() {
    let configuration =
        r#"{"tempaltes": {}, "x": 1, "groups": {"g": {"var": {}, "instanceType": "x", "whatever": []}}}"#;
    assert_eq!(
        warnings(configuration, r#"{"group": "g", "instance": {"id": "x"}, "servre": {}}"#),
        [
            "c.json:1:15: tempaltes is ignored; did you mean 'templates'?",
            "c.json:1:51: groups.g.var is ignored; did you mean 'vars'?",
            "c.json:1:71: groups.g.instanceType is ignored; did you mean 'instance_type'?",
            "i.json:1:51: servre is ignored; did you mean 'server'?",
            "i.json:1:35: instance.id is ignored; did you mean 'ID'?",
        ]
    );
}

#[test]
fn templates_are_checked_only_where_they_are_used() {
    let configuration = r#"{"templates": {
        "broken": {"args": {"x": "{{"}, "userdata": {"content": "{{ nosuch }}"}, "files": {"f": {"kind": "string", "template": "{{"}}},
        "overridden": {"args": {"x": "{{"}}},
      "groups": {"g": {"template": "overridden", "args": {"x": "fine"}}, "bad": {"template": "broken"}}}"#;
    assert_eq!(compact(&of_g(configuration, "args.json")), r#"{"x":"fine"}"#);
    let text = problems(configuration, r#"{"group": "bad"}"#);
    assert_eq!(text.matches("error:").count(), 3, "{text}");
    for path in [
        "args.x: template: args:1",
        "templates.broken.userdata.content: template: userdata:1",
        "templates.broken.files.f.template: template: f:1",
    ] {
        assert!(text.contains(path), "{text}");
    }
}
