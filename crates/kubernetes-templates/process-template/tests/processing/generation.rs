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
}

#[test]
fn a_store_keeps_its_lines() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("web.yaml"), GENERATED).unwrap();
    let generate = |store: &str| verb("generate-parameters", path).args(["--store", store]).output().unwrap();
    // The last line may lack its end.
    for (store, before) in
        [("a.env", "# mine\r\n\nUSER=me\n\n#UNKNOWN=x\nUNKNOWN=y"), ("b.env", "USER=me\n"), ("c.env", "")]
    {
        fs::write(path.join(store), before).unwrap();
        fs::set_permissions(path.join(store), fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(text(&generate(store).stderr), "");
        let kept = fs::read_to_string(path.join(store)).unwrap();
        let new: Vec<&str> =
            kept.strip_prefix(before).unwrap().split_terminator('\n').filter(|line| !line.is_empty()).collect();
        let names: Vec<&str> = new.iter().map(|line| line.split_once('=').unwrap().0).collect();
        assert_eq!(names, if before.is_empty() { &["PASSWORD", "USER"][..] } else { &["PASSWORD"] }, "{kept}");
    }
    fs::write(path.join("d.yaml"), "USER: me\n").unwrap();
    assert!(generate("d.yaml").status.success());
    let kept = fs::read_to_string(path.join("d.yaml")).unwrap();
    assert!(kept.starts_with("PASSWORD: ") && kept.ends_with("USER: me\n"), "{kept}");
}

#[test]
fn a_store_that_others_may_read_is_taken_away_from_them() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("web.yaml"), GENERATED).unwrap();
    let store = path.join("store.env");
    let generate = || {
        let output = verb("generate-parameters", path).args(["--store", "store.env"]).output().unwrap();
        assert_eq!(printed(&output), "");
        text(&output.stderr)
    };
    let complete = "PASSWORD=a\nUSER=b\n";
    for before in ["PASSWORD=a\n", complete] {
        fs::write(&store, before).unwrap();
        for wide in [0o644, 0o640, 0o602] {
            fs::set_permissions(&store, fs::Permissions::from_mode(wide)).unwrap();
            assert_eq!(generate(), format!("warning: the store store.env had mode {wide:04o}: it is 0600 now\n"));
            assert_eq!(mode(&store), 0o600);
            assert!(fs::read_to_string(&store).unwrap().starts_with(before));
        }
    }
    fs::set_permissions(&store, fs::Permissions::from_mode(0o400)).unwrap();
    assert_eq!((generate(), mode(&store)), (String::new(), 0o400));
    // Where something is wrong, nothing changes.
    fs::write(path.join("wide.env"), "PASSWORD=a\nsecret\n").unwrap();
    fs::set_permissions(path.join("wide.env"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(path.join("web.yaml"), GENERATED.replace("name: OTHER", "name: a-b")).unwrap();
    let stderr = failed(&verb("generate-parameters", path).args(["--store", "wide.env"]).output().unwrap(), 65);
    for part in ["the line is not NAME=VALUE\n  --> wide.env:2\n", "parameters[3].name: Invalid value: \"a-b\""] {
        assert!(stderr.contains(part) && !stderr.contains("secret"), "{part}: {stderr}");
    }
    assert_eq!(mode(&path.join("wide.env")), 0o644);
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
    assert!(
        stderr.starts_with("error: invalid range specified: 9-0 (parameter USER)\n  --> web.yaml:6:10\n"),
        "{stderr}"
    );
    assert!(!directory.path().join("store.env").exists());
    let missing =
        verb("generate-parameters", directory.path()).args(["--template", "x", "--store", "y"]).output().unwrap();
    failed(&missing, 65);
}
