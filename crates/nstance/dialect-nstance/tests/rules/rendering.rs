//! Args, userdata and files.

use super::*;

#[test]
fn files_are_rendered_by_their_kind() {
    for (file, expected) in [
        (r#"{"kind": "env", "template": {"Z": "{{ .Vars.V }}", "A": "plain", "M": ""}}"#, "Z=\"a b\"\nA=plain\nM=\n"),
        (
            r#"{"kind": "json", "template": {"z": "{{ .Vars.V }}", "a": 10250, "n": 1e2, "big": 12345678901234567890123, "l": ["{{ .Vars.V }}", null, true], "{{k}}": "<&>",}}"#,
            "{\n  \"z\": \"a b\",\n  \"a\": 10250,\n  \"n\": 1e2,\n  \"big\": 12345678901234567890123,\n  \"l\": [\n    \"a b\",\n    null,\n    true\n  ],\n  \"{{k}}\": \"<&>\"\n}\n",
        ),
        (r#"{"kind": "string", "template": "a\n{{ .Vars.V }}"}"#, "a\na b"),
        (r#"{"kind": "string", "template": ""}"#, ""),
    ] {
        assert_eq!(of_g(&with_file("f", file), "files/f"), expected);
    }
    let others = [
        r#"{"kind": "secret", "source": "s"}"#,
        r#"{"kind": "storage", "source": "s"}"#,
        r#"{"kind": "certificate", "template": "server", "key": {}}"#,
    ];
    for file in others {
        let rendered = rendered(&with_file("f.key", file), r#"{"group": "g"}"#);
        let paths: Vec<&str> = rendered.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["args.json", "vars.json"]);
    }
    let zero = with_file("f", r#"{"kind": "env", "template": {"A": "{{ \"\\x00\" }}"}}"#);
    assert!(problems(&zero, r#"{"group": "g"}"#).contains("template.A: the value has a zero byte"));
}

#[test]
fn args_of_aws_and_gcp_are_checked() {
    let configuration = |provider: &str, args: &str| {
        format!(r#"{{"shard": {{"infra": {{"provider": "{provider}"}}}}, "groups": {{"g": {{"args": {args}}}}}}}"#)
    };
    let aws =
        r#"{"InstanceType": "x", "SubnetId": "x", "UserData": "x", "MinCount": 1, "MaxCount": 1, "ImageId": "x"}"#;
    let text = problems(&configuration("aws", aws), r#"{"group": "g"}"#);
    for name in ["InstanceType", "SubnetId", "UserData", "MinCount", "MaxCount"] {
        assert!(text.contains(&format!("args.{name} cannot be set on aws")), "{text}");
    }
    assert_eq!(text.matches("error:").count(), 5);
    // Below the top they mean something else, and other providers have no such rule.
    rendered(&configuration("aws", r#"{"NetworkInterfaces": [{"SubnetId": "x"}]}"#), r#"{"group": "g"}"#);
    rendered(&configuration("mock", aws), r#"{"group": "g"}"#);
    let other_provider = r#"{"group": "g", "provider": {"Kind": "mock"}}"#;
    rendered(&configuration("aws", aws), other_provider);
    assert_eq!(
        warnings(&configuration("aws", r#"{"ImageID": "x", "Whatever": "x"}"#), r#"{"group": "g"}"#),
        [
            "c.json:1:80: args.ImageID: RunInstances has no such field; did you mean 'ImageId'?",
            "c.json:1:97: args.Whatever: RunInstances has no such field",
        ]
    );
    for (args, expected) in [
        (r#"{"SourceImage": 1}"#, "args.SourceImage is a number, not a string"),
        (r#"{"ServiceAccounts": "x"}"#, "args.ServiceAccounts is a string, not a list"),
        (r#"{"Labels": []}"#, "args.Labels is a list, not an object"),
        (r#"{"NetworkTags": "x"}"#, "args.NetworkTags is a string, not a list"),
        (r#"{"Preemptible": "true"}"#, "args.Preemptible is a string, not a boolean"),
        (r#"{"AutomaticRestart": 1}"#, "args.AutomaticRestart is a number, not a boolean"),
        (r#"{"ResourcePolicies": {}}"#, "args.ResourcePolicies is an object, not a list"),
    ] {
        assert!(problems(&configuration("gcp", args), r#"{"group": "g"}"#).contains(expected), "{args}");
    }
    assert_eq!(
        warnings(&configuration("gcp", r#"{"NetworkTag": []}"#), r#"{"group": "g"}"#),
        ["c.json:1:83: args.NetworkTag: Nstance does not know it on gcp; did you mean 'NetworkTags'?"]
    );
}

#[test]
fn a_var_that_does_not_exist_is_an_error_or_empty() {
    let configuration = r#"{"vars": {"ENVIRONMENT": "x"}, "groups": {"g": {"args": {
      "a": "[{{ .Vars.Environment }}]"}}}}"#;
    assert_eq!(
        problems(configuration, r#"{"group": "g"}"#),
        "error: args.a: template: args:1:9: executing \"args\" at <.Vars.Environment>: map has no entry for key \"Environment\"\n  --> c.json:2:12\n  hint: did you mean 'ENVIRONMENT'?"
    );
    let zero = Settings { missing_is_error: false, ..SETTINGS };
    let rendered = render_with(configuration, r#"{"group": "g"}"#, &Images::new(), zero).unwrap();
    assert_eq!(compact(&file(&rendered, "args.json")), r#"{"a":"[]"}"#);
    let field = configuration.replace(".Vars.Environment", ".Instance.Hostnam");
    for settings in [SETTINGS, zero] {
        let error = render_with(&field, r#"{"group": "g"}"#, &Images::new(), settings).unwrap_err();
        assert_eq!(error.exit_code(), 66);
        assert!(error.to_string().contains("can't evaluate field Hostnam in type nstance.Instance"), "{error}");
        assert!(error.to_string().contains("did you mean 'Hostname'?"), "{error}");
    }
    let index = configuration.replace(".Vars.Environment", "index .Vars \\\"none\\\"");
    assert_eq!(compact(&of_g(&index, "args.json")), r#"{"a":"[]"}"#);
}

#[test]
fn userdata_of_the_template_replaces_that_of_the_defaults() {
    let configuration = r#"{"defaults": {"userdata": {"source": "url", "content": "https://x.example/u", "encoding": "gzip"}},
      "templates": {"t": {"userdata": {"content": "PGI+", "encoding": "base64"}}, "u": {}},
      "groups": {"g": {"template": "t"}, "h": {"template": "u"}, "i": {}}}"#;
    assert_eq!(of_g(configuration, "userdata"), "<b>");
    let (read, _) = Configuration::read("c", configuration.as_bytes()).unwrap();
    let urls: Vec<Option<&str>> =
        read.groups.iter().map(|group| dialect_nstance::userdata_url(&read, group).map(|found| found.url)).collect();
    assert_eq!(urls, [None, Some("https://x.example/u"), Some("https://x.example/u")]);
}

#[test]
fn downloaded_userdata_is_decoded_and_rendered() {
    let configuration = r#"{"vars": {"A": "1"}, "groups": {"g": {}},
      "defaults": {"userdata": {"source": "url", "content": "https://x.example/u", "encoding": "base64"}}}"#;
    let (configuration, _) = Configuration::read("c.json", configuration.as_bytes()).unwrap();
    let (instance, _) = Instance::read("i.json", br#"{"group": "g"}"#).unwrap();
    let images = Images::new();
    let group = configuration.group(&instance).unwrap();
    let from = |content: &'static [u8]| {
        let download = move |_: &str| Some(content);
        render(
            &configuration,
            group,
            Inputs { instance: &instance, images: &images, download: &download, settings: SETTINGS },
        )
    };
    assert_eq!(file(&from(b"e3sgLlZhcnMuQSB9fQ==").unwrap(), "userdata"), "1");
    let error = from(b"hunter2!").unwrap_err();
    assert_eq!(error.exit_code(), 70);
    assert_eq!(
        error.to_string(),
        "error: defaults.userdata.content: cannot decode the userdata: it is not valid base64\n  --> c.json:2:61"
    );
}

#[test]
fn large_userdata_is_reported_on_aws() {
    let configuration = |provider: &str, size: usize| {
        format!(
            r#"{{"shard": {{"infra": {{"provider": "{provider}"}}}}, "groups": {{"g": {{}}}}, "defaults": {{"userdata": {{"content": "{}"}}}}}}"#,
            "x".repeat(size)
        )
    };
    let instance = r#"{"group": "g"}"#;
    assert!(warnings(&configuration("aws", 16384), instance).is_empty());
    assert!(warnings(&configuration("gcp", 16385), instance).is_empty());
    assert_eq!(
        warnings(&configuration("aws", 16385), instance),
        ["c.json:1:101: defaults.userdata: aws accepts no more than 16 KiB"]
    );
}

#[test]
fn no_message_contains_a_value() {
    let canary = "hunter2";
    let configuration = format!(
        r#"{{"vars": {{"V": "{canary}", "O": {{"P": "{canary}"}}}}, "groups": {{"g": {{"args": {{
          "a": "{canary}{{{{ range .Vars.V }}}}{{{{ end }}}}",
          "b": "{canary}{{{{ .Nonce.x }}}}",
          "c": "{canary}{{{{ index .Vars.V 99 }}}}",
          "d": "{canary}{{{{ slice .Nonce 3 99 }}}}",
          "e": "{canary}{{{{ template \"{{{{\" }}}}",
          "f": "{canary}{{{{ .Vars.O.P.Q }}}}",
          "h": "{canary}{{{{ printf \"%d\" .Nonce | len | index .Vars }}}}",
          "i": "{canary}{{{{ lt .Nonce 3 }}}}",
          "j": "{canary}{{{{ call .Vars.V }}}}",
          "k": ["{canary}{{{{ if }}}}", {{"l": "{canary}{{{{ nosuch .Vars.V }}}}"}}]
        }}}}}}}}"#
    );
    let instance = format!(r#"{{"group": "g", "nonce": "{canary}", "machine": {{"vars": {{"M": "{canary}"}}}}}}"#);
    let result = render_with(&configuration, &instance, &Images::new(), SETTINGS);
    let text = result.unwrap_err().to_string();
    assert!(text.matches("error:").count() >= 10, "{text}");
    assert!(text.contains("<redacted>"), "{text}");
    assert!(!text.contains(canary), "{text}");
}

#[test]
fn templates_are_bounded() {
    let configuration = r#"{"groups": {"g": {"args": {"a": "{{ range 1000000000 }}xxxx{{ end }}", "b": "{{ printf \"%9999999d\" 1 }}"}}}}"#;
    let text = problems(configuration, r#"{"group": "g"}"#);
    assert_eq!(text.matches("error:").count(), 2, "{text}");
    assert!(text.contains("hint: TEMPLATE_TIMEOUT and OUTPUT_LIMIT set how much a template may use"), "{text}");
    let endless = r#"{"groups": {"g": {"args": {"a": "{{ range 9223372036854775807 }}{{ end }}"}}}}"#;
    let settings = Settings { timeout: Duration::from_nanos(1), ..SETTINGS };
    let error = render_with(endless, r#"{"group": "g"}"#, &Images::new(), settings).unwrap_err();
    assert!(error.to_string().contains("execution exceeds its time limit"), "{error}");
    let plain = r#"{"groups": {"g": {"args": {"a": "0123456789"}}}}"#;
    let settings = Settings { output_limit: 9, ..SETTINGS };
    assert!(render_with(plain, r#"{"group": "g"}"#, &Images::new(), settings).is_err());
}
