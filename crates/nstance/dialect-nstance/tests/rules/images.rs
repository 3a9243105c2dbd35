//! Images, with and without an id.

use super::*;

#[test]
fn images_are_checked() {
    let valid = r#""provider": "aws", "filters": [{"name": "n", "values": ["v"]}], "sort": "name", "order": "asc""#;
    let image = |fields: &str| {
        format!(
            r#"{{"shard": {{"infra": {{"provider": "aws"}}}}, "images": {{"i": {{{fields}}}}}, "groups": {{"g": {{}}}}}}"#
        )
    };
    assert!(render_with(&image(valid), r#"{"group": "g"}"#, &Images::new(), SETTINGS).is_ok());
    for (from, to, expected) in [
        (r#""provider": "aws", "#, "", "images.i.provider is missing"),
        (r#""provider": "aws""#, r#""provider": "gcp""#, "images.i.provider must be the server's ('aws'), not 'gcp'"),
        (r#", "sort": "name""#, "", "images.i.sort is missing"),
        (r#""sort": "name""#, r#""sort": "size""#, "images.i.sort must be one of 'creation-date', 'name', not 'size'"),
        (r#", "order": "asc""#, "", "images.i.order is missing"),
        (
            r#""order": "asc""#,
            r#""order": "descending""#,
            "images.i.order must be one of 'asc', 'desc', not 'descending'",
        ),
        (r#""filters": [{"name": "n", "values": ["v"]}], "#, "", "images.i.filters is missing"),
        (r#"[{"name": "n", "values": ["v"]}]"#, "[]", "images.i.filters is empty"),
        (r#"[{"name": "n", "values": ["v"]}]"#, "[7]", "images.i.filters[0] is a number, not an object"),
        (r#""name": "n", "#, "", "images.i.filters[0].name is missing"),
        (r#", "values": ["v"]"#, "", "images.i.filters[0].values needs at least one value"),
        (r#"["v"]"#, "[]", "images.i.filters[0].values needs at least one value"),
        (r#"["v"]"#, "[7]", "images.i.filters[0].values[0] is a number, not a string"),
        (r#""order": "asc""#, r#""order": "asc", "owners": [true]"#, "images.i.owners[0] is a boolean, not a string"),
        (r#""order": "asc""#, r#""order": "asc", "fallback": 7"#, "images.i.fallback is a number, not a string"),
    ] {
        let configuration = image(&valid.replace(from, to));
        let text = problems(&configuration, r#"{"group": "g"}"#);
        assert!(text.contains(expected), "{configuration}: {text}");
        assert_eq!(text.matches("error:").count(), 1, "{text}");
    }
}

fn unresolved() -> Images {
    let cause = |why: &str| Err(format!("no image matches the filters of {why}"));
    Images::from([("a-b".into(), cause("a-b")), ("c".into(), cause("c")), ("ok".into(), Ok("ami-1".into()))])
}

#[test]
fn an_image_without_an_id_fails_the_templates_that_use_it() {
    for (template, used) in [
        ("{{ .Image.c }}", &["c"][..]),
        ("{{ index .Image \\\"a-b\\\" }}", &["a-b"]),
        ("{{ $n := \\\"c\\\" }}{{ index $.Image $n }}", &["c"]),
        ("{{ if index .Image \\\"c\\\" }}yes{{ end }}", &["c"]),
        ("{{ .Image.c }}{{ index .Image \\\"a-b\\\" }}", &["a-b", "c"]),
        ("{{ range $k, $v := .Image }}{{ $k }}{{ end }}", &["a-b", "c"]),
        ("{{ len .Image }}", &["a-b", "c"]),
    ] {
        let configuration = format!(r#"{{"groups": {{"g": {{"args": {{"x": "{template}"}}}}}}}}"#);
        for missing_is_error in [true, false] {
            let settings = Settings { missing_is_error, ..SETTINGS };
            let error = render_with(&configuration, r#"{"group": "g"}"#, &unresolved(), settings).unwrap_err();
            assert_eq!(error.exit_code(), 70, "{template}");
            for name in ["a-b", "c"] {
                let cause = format!("caused by: no image matches the filters of {name}");
                assert_eq!(
                    error.to_string().lines().any(|l| l.trim() == cause),
                    used.contains(&name),
                    "{template}: {error}"
                );
            }
        }
    }
    for template in ["{{ .Image.ok }}", "{{ index .Image \\\"ok\\\" }}", "{{ index .Image \\\"none\\\" }}", "plain"] {
        let configuration = format!(r#"{{"groups": {{"g": {{"args": {{"x": "{template}"}}}}}}}}"#);
        assert!(render_with(&configuration, r#"{"group": "g"}"#, &unresolved(), SETTINGS).is_ok(), "{template}");
    }
    let given = r#"{"group": "g", "images": {"c": "ami-2", "a-b": "ami-3"}}"#;
    let configuration = r#"{"groups": {"g": {"args": {"x": "{{ .Image.c }}"}}}}"#;
    let rendered = render_with(configuration, given, &unresolved(), SETTINGS).unwrap();
    assert_eq!(compact(&file(&rendered, "args.json")), r#"{"x":"ami-2"}"#);
}
