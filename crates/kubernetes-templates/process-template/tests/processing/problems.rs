//! All problems are reported in one run, at their places and without values.

use super::*;

#[test]
fn all_problems_are_reported_without_values() {
    let directory = directory();
    fs::write(directory.path().join("web.yaml"), TEMPLATE.replace("note: $(NOTE)", "note: $(NOTES)")).unwrap();
    let arguments = ["-p", "PORT=hunter2", "-p", "OTHER=hunter2", "--values", "missing.env"];
    let stderr = failed(&run(directory.path(), &arguments), 65);
    assert!(stderr.contains("cannot read the values missing.env"), "{stderr}");
    let stderr = failed(&run(directory.path(), &arguments[..4]), 65);
    for part in [
        "error: a value is given for 'OTHER', which is not a parameter\n  --> --param OTHER",
        "error: parameters[0]: the parameter 'NAME' is required, but its value is empty\n  --> web.yaml:14:10",
        "error: parameters[1]: the value given for the parameter 'PORT' has the wrong type",
        "error: objects[0].data.note: $(NOTES): no parameter has the name 'NOTES'\n  --> web.yaml:8:31\n  hint: did you mean 'NOTE'?",
    ] {
        assert!(stderr.contains(part), "{part}\n{stderr}");
    }
    assert!(!stderr.contains("hunter2"));
    // Only the template is wrong.
    failed(&run(directory.path(), &["-p", "NAME=web"]), 66);
    failed(&run(directory.path(), &["--check"]), 66);
    failed(&run(directory.path(), &["--template", "missing.yaml"]), 65);
    let kept =
        printed(&run(directory.path(), &["-p", "NAME=web", "--mode", "compat", "-p", "X=y", "--ignore-unknown"]));
    assert!(kept.contains("note: $(NOTES)"), "{kept}");
}

#[test]
fn problems_of_the_template_are_reported_with_those_of_values() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("web.yaml"), TEMPLATE.replace("note: $(NOTE)", "note: $(NOTES)")).unwrap();
    fs::write(path.join("values.yaml"), "NAME: 5\n").unwrap();
    let stderr = failed(&run(path, &["--values", "values.yaml", "-p", "PORT=x"]), 65);
    for part in ["error: NAME: must be a string, but is a number", "$(NOTES): no parameter", "has the wrong type"] {
        assert!(stderr.contains(part), "{part}\n{stderr}");
    }
    // What could not be read is not missing.
    assert!(!stderr.contains("is required"), "{stderr}");
    // Of a file that has lines of other forms, all of them, and what is wrong with the values of the others.
    fs::write(path.join("values.env"), "secret\nPORT=secret\nOTHER=secret\nsecret two\n").unwrap();
    let stderr = failed(&run(path, &["--values", "values.env", "--values", "missing.json"]), 65);
    for part in [
        "error: the line is not NAME=VALUE\n  --> values.env:1\n",
        "error: the line is not NAME=VALUE\n  --> values.env:4\n",
        "cannot read the values missing.json",
        "'OTHER', which is not a parameter\n  --> values.env:3\n",
        "'PORT' has the wrong type",
        "$(NOTES): no parameter",
    ] {
        assert!(stderr.contains(part), "{part}\n{stderr}");
    }
    assert!(!stderr.contains("is required") && !stderr.contains("secret"), "{stderr}");
    fs::write(path.join("web.yaml"), TEMPLATE.replace("type: int", "type: number")).unwrap();
    let stderr = failed(&run(path, &["--ask"]), 65);
    assert!(stderr.contains("unknown type 'number'") && stderr.contains("'NAME' is required"), "{stderr}");
}

#[test]
fn messages_of_oc() {
    let directory = directory();
    let path = directory.path();
    let template = "kind: Template\napiVersion: v1\nobjects: [{kind: K, apiVersion: v1, a: '${A}'}]\nparameters: [{name: A}, {name: B}]";
    fs::write(path.join("web.yaml"), template).unwrap();
    fs::write(path.join("values.env"), "A=hunter2\n").unwrap();
    let run = |arguments: &[&str]| run(path, &[&["--syntax", "openshift"], arguments].concat());
    let stderr = failed(&run(&["-p", "B=x", "-p", "A=x", "-p", "A=hunter2", "-p", "B=y"]), 65);
    assert!(stderr.starts_with("error: The following parameters were provided more than once: A, B\n"), "{stderr}");
    assert!(!stderr.contains("--> --param"), "{stderr}");
    fs::write(path.join("bad.env"), "hunter2\n").unwrap();
    let stderr = failed(&run(&["-p", "A=hunter2", "-p", "A=x", "-p", "C=x", "--values", "bad.env", "--label=-=x"]), 65);
    for part in ["more than once: A\n", "the line is not NAME=VALUE", "unknown parameter name \"C\"", "--label: '-': "]
    {
        assert!(stderr.contains(part) && !stderr.contains("hunter2"), "{part}: {stderr}");
    }
    let output = run(&["-p", "A=x", "--values", "values.env"]);
    assert!(printed(&output).contains("a: x\n"));
    let warning = "warning: Template parameter \"A\" already defined, ignoring value from file \"values.env\"\n";
    assert_eq!(text(&output.stderr), warning);
    assert!(failed(&run(&["-p", "hunter2"]), 2).starts_with("error: invalid parameter assignment in --param\n"));
    assert!(failed(&run(&["--label", "x"]), 2).starts_with("error: error parsing labels: must be KEY=VALUE"));
    fs::write(path.join("web.yaml"), "kind: Pod\napiVersion: v1\n").unwrap();
    let stderr = failed(&run(&[]), 66);
    assert!(stderr.starts_with("error: unable to parse \"web.yaml\", not a valid Template but Pod\n"), "{stderr}");
}

#[test]
fn broken_input_is_reported_with_its_place() {
    let directory = directory();
    for (file, content, part) in [
        ("t.yaml", b"a: [1\n".as_slice(), "--> t.yaml:2:1"),
        ("t.yaml", b"kind: Template\nx: \xff", "invalid leading UTF-8 octet\n  --> t.yaml:2:4"),
        ("t.json", b"{\"kind\": \"Template\",}", "--> t.json:1:21"),
        ("t.yaml", b"a: 1\n---\nb: 2\n", "the file has more than one document\n  --> t.yaml:2:1"),
        ("t.yaml", b"", "the file has no document: expected a Template"),
        ("t.yaml", b"kind: Pod\napiVersion: v1\n", "kind: must be Template, not 'Pod'"),
    ] {
        fs::write(directory.path().join(file), content).unwrap();
        let stderr = failed(&run(directory.path(), &["--template", file, "--output", "out"]), 66);
        assert!(stderr.contains(part), "{stderr}");
        assert!(!directory.path().join("out").exists());
    }
}
