//! `generate-parameters`, and what the processor makes of generated values.

use super::*;

#[test]
fn generated_values_are_kept() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("web.yaml"), GENERATED).unwrap();
    for store in ["store.env", "store.yaml", "store.json"] {
        let generate = || verb("generate-parameters", path).args(["--store", store]).output().unwrap();
        assert_eq!(printed(&generate()), "");
        assert_eq!(mode(&path.join(store)), 0o600);
        let first = fs::read_to_string(path.join(store)).unwrap();
        printed(&generate());
        assert_eq!(fs::read_to_string(path.join(store)).unwrap(), first);
        let template = printed(&run(path, &["--values", store, "--as", "template"]));
        let password = template.split("required: true\n  value: ").nth(1).unwrap().split('\n').next().unwrap();
        let password = password.trim_matches('"');
        assert!(password.len() == 32 && password.bytes().all(|b| b.is_ascii_alphanumeric()), "{password}");
        assert!(first.contains(password) && first.contains("admin-") && !first.contains("DEFAULT"), "{first}");
    }
    // A new parameter gets a value, the others keep theirs.
    fs::write(path.join("kept.env"), "USER=me\nUNKNOWN=y\n").unwrap();
    printed(&verb("generate-parameters", path).args(["--store", "kept.env"]).output().unwrap());
    let kept = fs::read_to_string(path.join("kept.env")).unwrap();
    assert!(kept.starts_with("PASSWORD=") && kept.ends_with("UNKNOWN=y\nUSER=me\n"), "{kept}");
}

#[test]
fn runs_at_the_same_time_generate_one_value() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("web.yaml"), GENERATED).unwrap();
    let generate = || verb("generate-parameters", path).args(["--store", "store.env"]).spawn().unwrap();
    let children: Vec<_> = (0..4).map(|_| generate()).collect();
    // What a run leaves stays: each of them sees the values of the first one.
    let mut stores = std::collections::BTreeSet::new();
    for mut child in children {
        assert!(child.wait().unwrap().success());
        stores.insert(fs::read_to_string(path.join("store.env")).unwrap());
    }
    assert_eq!(stores.len(), 1);
    let names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn generated_values_have_the_type_of_their_parameter() {
    let directory = directory();
    let path = directory.path();
    let template = |from: &str| {
        format!(
            "kind: Template\napiVersion: v1\nobjects: []\nparameters: [{{name: PIN, type: int, generate: expression, from: '{from}'}}]"
        )
    };
    // One of two begins with 0.
    fs::write(path.join("web.yaml"), template("[01]{1}[0-9]{6}")).unwrap();
    for store in ["a.env", "b.env", "c.env", "d.env", "e.env", "f.env"] {
        printed(&verb("generate-parameters", path).args(["--store", store]).output().unwrap());
        printed(&run(path, &["--values", store]));
    }
    fs::write(path.join("web.yaml"), template("x[0-9]{2}")).unwrap();
    let stderr = failed(&verb("generate-parameters", path).args(["--store", "g.env"]).output().unwrap(), 66);
    assert!(stderr.contains("the expression for parameter PIN does not generate an integer of 64 bits"), "{stderr}");
    assert!(!path.join("g.env").exists());
    // Nothing to generate: the store exists nevertheless.
    fs::write(path.join("web.yaml"), TEMPLATE).unwrap();
    printed(&verb("generate-parameters", path).args(["--store", "empty.env"]).output().unwrap());
    printed(&run(path, &["--values", "empty.env", "-p", "NAME=web"]));
}

#[test]
fn wrong_expressions_generate_nothing() {
    let directory = directory();
    fs::write(directory.path().join("web.yaml"), GENERATED.replace("[0-9]{3}", "[9-0]{3}")).unwrap();
    let output = verb("generate-parameters", directory.path()).args(["--store", "store.env"]).output().unwrap();
    let stderr = failed(&output, 66);
    assert!(stderr.starts_with("error: invalid range specified: 9-0\n  --> web.yaml:6:10\n"), "{stderr}");
    assert!(!directory.path().join("store.env").exists());
    let missing =
        verb("generate-parameters", directory.path()).args(["--template", "x", "--store", "y"]).output().unwrap();
    failed(&missing, 65);
}
