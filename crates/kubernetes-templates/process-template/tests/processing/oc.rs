//! Command lines of `oc process`, and templates of OpenShift.

use super::*;

const OPENSHIFT: &str = "kind: Template
apiVersion: template.openshift.io/v1
objects:
- {kind: Secret, apiVersion: v1, metadata: {name: db}, stringData: {user: '${DB_USER}', password: '${PW}'}}
parameters:
- {name: DB_USER, value: admin, description: The user of the database}
- {name: PW, generate: expression, from: '[a-z]{20}'}
";

#[test]
fn the_api_version_decides_the_syntax() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("web.yaml"), OPENSHIFT).unwrap();
    let list = printed(&run(path, &["-p", "PW=secret"]));
    assert!(list.contains("user: admin\n    password: secret\n"), "{list}");
    let output = run(path, &[]);
    assert!(output.stderr.is_empty() && !text(&output.stdout).contains("${"), "{output:?}");
    let output = run(path, &["--syntax", "kubernetes"]);
    assert!(printed(&output).contains("user: \"${DB_USER}\""));
    let warning = "warning: objects[0].stringData.user: ${DB_USER} stays as it is: references in this template are written $(NAME); for ${NAME}, set apiVersion template.openshift.io/v1 or use --syntax openshift\n  --> web.yaml:4:";
    assert!(text(&output.stderr).starts_with(warning), "{}", text(&output.stderr));
    // Without a result, too.
    let output = run(path, &["--syntax", "kubernetes", "--check"]);
    assert!(output.status.success() && text(&output.stderr).starts_with(warning));
    // generate-parameters reads the same declarations.
    fs::write(path.join("web.yaml"), OPENSHIFT.replace("'[a-z]{20}'", "'[Z-A]{3}'")).unwrap();
    let output = verb("generate-parameters", path).args(["--store", "values.env"]).output().unwrap();
    let stderr = failed(&output, 66);
    assert!(stderr.contains("invalid range specified: Z-A (parameter PW)"), "{stderr}");
}

#[test]
fn flags_of_oc_have_their_meaning() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("one.env"), "NAME=one\nPORT=1\n").unwrap();
    fs::write(path.join("two.env"), "NAME=two\nPORT=2\nNOTE=two\n").unwrap();
    let arguments = ["-f", "web.yaml", "--local", "--ignore-unknown-parameters", "-l", "tier=back", "-o", "json"];
    let values = ["--param-file", "one.env", "--param-file=two.env", "NAME=web", "UNKNOWN=x"];
    let list: String = printed(&run(path, &[&arguments[..], &values[..]].concat())).split_whitespace().collect();
    let expected =
        r#""metadata":{"name":"web","labels":{"app":"web","tier":"back"}},"data":{"port":"1","note":"two"}}"#;
    assert!(list.contains(expected), "{list}");
    let list = printed(&run(path, &["--filename", "web.yaml", "--labels=a=b", "-o", "yaml", "NAME=web"]));
    assert!(list.contains("      a: b\n"), "{list}");
    let stderr = failed(&run(path, &["hunter2"]), 2);
    assert!(stderr.contains("an argument is not NAME=VALUE") && stderr.contains("--stored NAME"), "{stderr}");
    assert!(!stderr.contains("hunter2"));
}

#[test]
fn parameters_are_a_table() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("web.yaml"), OPENSHIFT).unwrap();
    let expected = "\
NAME      DESCRIPTION                GENERATOR    VALUE
DB_USER   The user of the database                admin
PW                                   expression   [a-z]{20}
";
    assert_eq!(printed(&run(path, &["-f", "web.yaml", "--parameters"])), expected);
    failed(&run(path, &["--parameters", "--check"]), 2);
}
