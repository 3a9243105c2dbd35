//! `properties_schema.json` with what the embedded Ruby decides: regular expressions, formats, certificates.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::{Command, Output};

use testkit::files::write;

const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIUXtoLFUMhWdZUPKV3/Lg4DEsfwsgwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKYm9zb24tdGVzdDAeFw0yNjExMjExODQzNTJaFw0zNjExMTgx
ODQzNTJaMBUxEzARBgNVBAMMCmJvc29uLXRlc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARInXxsOVP8cFMTAyJShpbLqQkIsXQXIaFAHl58CviZDXu4bwXlS8nD
vFizWgVldpgwCBfA2vdFXbv55eJTXaQFo1MwUTAdBgNVHQ4EFgQU3DOVUEe2kL4W
2hXIGkIf15KA2egwHwYDVR0jBBgwFoAU3DOVUEe2kL4W2hXIGkIf15KA2egwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEApoq+bBVrBINJSgvjZu8D
OJ/T7syh/41pH0zanNuP8qMCIQC8I82rr9YWiKb5qa38k8MPZmtEiSuqw13vb6Bm
GQeqPA==
-----END CERTIFICATE-----
";

/// Plans a job whose property `x` has these rules and this value (JSON both).
fn plan(directory: &Path, rules: &str, x: &str) -> Output {
    let job = directory.join("jobs-src/r/j");
    write(&job.join("spec"), "{name: j, templates: {}, properties: {x: {}}}");
    write(&job.join("monit"), "");
    let schema =
        format!(r#"{{"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {{"x": {rules}}}}}"#);
    write(&job.join("properties_schema.json"), schema);
    let manifest = format!(
        "{{name: d, releases: [{{name: r, version: 1}}], instance_groups: [{{name: ig, instances: 1, jobs: [{{name: j, \
         release: r, properties: {{\"x\": {x}}}}}]}}]}}"
    );
    write(&directory.join("manifest.yml"), manifest);
    Command::new(testkit::executable("plan"))
        .args(["--bosh-manifest-path", "manifest.yml", "--base-dir", ".", "--output-dir", "out"])
        .current_dir(directory)
        .output()
        .unwrap()
}

/// Each value has the verdict.
fn check(rules: &str, good: &[&str], bad: &[&str], text: &str) {
    let directory = tempfile::tempdir().unwrap();
    for (values, expected) in [(good, true), (bad, false)] {
        for value in values {
            let output = plan(directory.path(), rules, &serde_json::to_string(value).unwrap());
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(if expected { 0 } else { 65 }), "{rules} {value}: {said}");
            if !expected {
                assert_eq!(said.lines().nth(1), Some(text), "{rules} {value}");
            }
        }
    }
}

#[test]
fn patterns_are_rubys() {
    check(
        r#"{"pattern": "^b\\h+$"}"#,
        &["bad", "first\nbad\nlast"],
        &["bug", ""],
        r"string at `/x` does not match pattern: ^b\h+$",
    );
}

#[test]
fn certificates_are_read_by_openssl() {
    let text = "value at `/x` is not a certificate";
    check(r#"{"type": "certificate"}"#, &[CERTIFICATE, ""], &["no certificate", &CERTIFICATE[..200]], text);
}

#[test]
fn formats_are_those_of_rubys_library() {
    for (format, good, bad) in FORMATS {
        let text = format!("value at `/x` does not match format: {format}");
        check(&format!(r#"{{"format": "{format}"}}"#), good, bad, &text);
    }
}

/// A format, texts that have it, texts that do not.
type Examples = (&'static str, &'static [&'static str], &'static [&'static str]);

const FORMATS: &[Examples] = &[
    (
        "date-time",
        &["2024-02-29T23:59:60Z", "2024-01-01t00:00:00.5+01:00"],
        &["2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00"],
    ),
    ("date", &["2024-02-29"], &["2023-02-29", "2024-2-1"]),
    ("time", &["12:00:00Z"], &["12:00:00", "25:00:00Z"]),
    ("duration", &["P1DT2H", "P3W", "PT5M"], &["P", "1D", "P1DT", "PT"]),
    ("email", &["a.b+c@example.com", "a@[127.0.0.1]"], &["a", "a@", ".a@example.com", "é@example.com"]),
    ("hostname", &["a", "a-1.example.com"], &["-a", "a_b", "a..b", "é"]),
    ("idn-hostname", &["é.example"], &["a b"]),
    ("ipv4", &["10.0.0.1"], &["10.0.0.256", "10.0.0.0/8", "::1"]),
    ("ipv6", &["::1", "fe80::1"], &["1.2.3.4", "::g", "fe80::1%eth0"]),
    ("uri", &["https://example.com/a?b#c", "urn:x:y"], &["/relative", "a b"]),
    ("uri-reference", &["/relative", "#x"], &["a b"]),
    ("iri", &["https://example.com/é"], &["é"]),
    ("uuid", &["123e4567-e89b-12d3-a456-426614174000"], &["123e4567e89b12d3a456426614174000"]),
    ("uri-template", &["/a{?b,c*}", "/a"], &["/a{", "/a{b}}"]),
    ("json-pointer", &["", "/a~1b"], &["a", "/a~2"]),
    ("relative-json-pointer", &["0#", "1/a"], &["/a", "01"]),
    ("regex", &["^a(b|c)$"], &["("]),
    ("unheard-of", &["anything"], &[]),
];
