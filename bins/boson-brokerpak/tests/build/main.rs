//! `build`: what it packs, from where, and what it refuses.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod downloads;
mod fixture;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::{brokerpak, fail, succeed, text, write, zip};
use fixture::{MANIFEST, PACKED_MANIFEST, PACKED_SERVICE, content, listing, names, pak};

#[test]
fn a_pak_has_the_layout_of_the_specification() {
    let work = tempfile::tempdir().unwrap();
    pak(&work.path().join("my"));
    let stdout = succeed(work.path(), &["build", "my", "--include-source"]);
    assert!(stdout.ends_with("\ncreated: pak-1.0.0.brokerpak\n"), "{stdout}");
    let file = work.path().join("pak-1.0.0.brokerpak");
    let platform = |arch: &str| {
        let names = [
            "040755 /",
            "100755 /1.4.0/terraform",
            "100755 /1.5.7/terraform",
            "100755 /psql-linux-ARCH",
            "100755 /terraform-provider-own_v1.1.0_x5",
            "100644 /1.4.0/LICENSE.txt",
            "100644 /1.5.7/LICENSE.txt",
            "040755 /1.4.0/",
            "040755 /1.5.7/",
            "040755 /doc/",
            "100644 /doc/README",
        ];
        names.map(|name| name.replace(" /", &format!(" bin/linux/{arch}/")).replace("ARCH", arch))
    };
    let mut expected: Vec<String> = platform("386").into_iter().chain(platform("amd64")).collect();
    expected.extend(
        [
            "040755 bin/",
            "040755 bin/linux/",
            "040755 definitions/",
            "100600 definitions/service0-one.yml",
            "100600 manifest.yml",
            "040755 src/",
            "100644 src/terraform.zip",
        ]
        .map(str::to_owned),
    );
    // Several versions have a source each.
    expected.retain(|line| !line.ends_with("src/terraform.zip"));
    expected.push("100644 src/terraform-1.5.7.zip".to_owned());
    let found = listing(&file);
    let order: Vec<&str> = found.iter().map(|line| line[7..].trim_end_matches('/')).collect();
    assert!(order.is_sorted_by(|a, b| a.split('/').lt(b.split('/'))), "{order:?}");
    let mut sorted = found.clone();
    sorted.sort();
    expected.sort();
    assert_eq!(sorted, expected);
    assert_eq!(content(&file, "manifest.yml"), PACKED_MANIFEST);
    assert_eq!(content(&file, "definitions/service0-one.yml"), PACKED_SERVICE);
    assert_eq!(names(work.path()), ["my", "pak-1.0.0.brokerpak"]);
}

#[test]
fn what_was_built_is_read_by_the_other_verbs() {
    let work = tempfile::tempdir().unwrap();
    pak(&work.path().join("my"));
    succeed(work.path(), &["build", "my"]);
    let pak = "pak-1.0.0.brokerpak";
    assert_eq!(succeed(work.path(), &["validate", pak]), "Valid\n");
    let info = |pak: &str| -> serde_json::Value {
        serde_json::from_str(&succeed(work.path(), &["info", pak, "--json"])).unwrap()
    };
    let (built, original) = (info(pak), info("my"));
    for key in ["name", "version", "metadata", "platforms", "terraform", "providers", "other_binaries", "parameters"] {
        assert_eq!(built["manifest"][key], original["manifest"][key], "{key}");
    }
    for key in ["required_env_variables", "env_config_mapping", "terraform_upgrade_path"] {
        assert_eq!(built["manifest"][key], original["manifest"][key], "{key}");
    }
    assert_eq!(built["services"][0]["plans"], original["services"][0]["plans"]);
    for (verb, arguments) in [("docs", &[][..]), ("catalog", &["--enable-catalog-schemas"][..])] {
        let run = |pak: &str| succeed(work.path(), &[&[verb, pak], arguments].concat());
        let image = "data:image/png;base64,iVBORw0KGgppbWFnZQ==";
        assert_eq!(run(pak), run("my").replace("file://image.png", image), "{verb}");
    }
    write(work.path().join("r.json"), r#"{"operation": "provision", "plan": "small", "instance_id": "i"}"#);
    let resolve = |pak: &str| succeed(work.path(), &["resolve", pak, "--request", "r.json"]);
    assert_eq!(resolve(pak), resolve("my"));
    succeed(work.path(), &["extract", pak, "out", "--platform", "linux/386"]);
    for (path, expected) in [
        ("versions/1.4.0/terraform", "terraform 1.4.0 386"),
        ("versions/1.5.7/terraform", "terraform 1.5.7 386"),
        ("registry.terraform.io/team/own/1.1.0/linux_386/terraform-provider-own_v1.1.0_x5", "own"),
        ("psql-linux-386", "psql 386"),
    ] {
        assert_eq!(fs::read_to_string(work.path().join("out").join(path)).unwrap(), expected);
    }
}

#[test]
fn an_unpacked_pak_is_a_pak() {
    let work = tempfile::tempdir().unwrap();
    pak(&work.path().join("my"));
    succeed(work.path(), &["build", "my"]);
    succeed(work.path(), &["extract", "pak-1.0.0.brokerpak", "out", "--platform", "linux/386", "--as-pak"]);
    assert_eq!(succeed(work.path(), &["validate", "out"]), "Valid\n");
    assert_eq!(names(&work.path().join("out")), ["bin", "definitions", "manifest.yml"]);
    assert_eq!(names(&work.path().join("out/bin/linux")), ["386"]);
    let mode = |path: &str| fs::metadata(work.path().join("out").join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("manifest.yml"), mode("definitions/service0-one.yml")], [0o644, 0o644]);
    assert_eq!([mode("bin/linux/386/1.5.7/terraform"), mode("bin/linux/386/doc/README")], [0o755, 0o644]);
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let work = tempfile::tempdir().unwrap();
    let mut built = Vec::new();
    for (name, umask) in [("a", "022"), ("b/c", "077")] {
        pak(&work.path().join(name));
        let out = work.path().join(format!("{name}-out"));
        fs::create_dir_all(&out).unwrap();
        let command = format!("umask {umask}; exec \"$0\" brokerpak build \"$1\"");
        let executable = env!("CARGO_BIN_EXE_boson-brokerpak");
        let directory = work.path().join(name);
        // Neither times nor modes nor the place count.
        fs::set_permissions(directory.join("files/psql-linux-386"), fs::Permissions::from_mode(0o700)).unwrap();
        let file = fs::File::options().append(true).open(directory.join("manifest.yml")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        let mut built_by = Command::new("sh");
        built_by.arg("-c").arg(command).arg(executable).arg(&directory).current_dir(&out);
        assert!(built_by.output().unwrap().status.success());
        built.push(fs::read(out.join("pak-1.0.0.brokerpak")).unwrap());
        let mode = fs::metadata(out.join("pak-1.0.0.brokerpak")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if umask == "022" { 0o644 } else { 0o600 });
    }
    assert!(built[0] == built[1]);
}

#[test]
fn one_platform_is_packed_and_listed() {
    let work = tempfile::tempdir().unwrap();
    pak(&work.path().join("my"));
    fs::remove_file(work.path().join("my/files/psql-linux-amd64")).unwrap();
    succeed(work.path(), &["build", "my", "--target", "linux/386", "--no-compress"]);
    let file = work.path().join("pak-1.0.0.brokerpak");
    assert!(listing(&file).iter().all(|line| !line.contains("amd64")));
    assert!(succeed(work.path(), &["info", "pak-1.0.0.brokerpak"]).contains("platforms: linux/386\n"));
    assert!(text(&fs::read(&file).unwrap()).contains("terraform 1.5.7 386"), "not compressed");
    let message = fail(work.path(), &["build", "my", "--target", "current"], 65);
    if cfg!(target_arch = "x86_64") {
        assert!(message.contains("psql-linux-amd64 does not exist"), "{message}");
    }
    for target in ["linux", "linux/arm", "", "../x"] {
        let message = fail(work.path(), &["build", "my", "--target", target], 65);
        assert!(message.contains("its platforms are linux/amd64, linux/386"), "{message}");
    }
}

#[test]
fn licences_of_the_same_name_are_all_packed() {
    let work = tempfile::tempdir().unwrap();
    let directory = work.path().join("my");
    pak(&directory);
    let other = "- {name: terraform-provider-two, version: 1.0.0, url_template: files/two.zip}\nterraform_upgrade";
    write(directory.join("manifest.yml"), MANIFEST.replacen("terraform_upgrade", other, 1));
    let archive = |name: &str, license: &str| {
        zip(&[(name, 0o755, b"x"), ("LICENSE", 0o644, license.as_bytes()), ("N", 0o644, b"n")])
    };
    write(directory.join("files/terraform-provider-own_v1.1.0.zip"), archive("terraform-provider-own_v1.1.0", "one"));
    write(directory.join("files/two.zip"), archive("terraform-provider-two_v1.0.0_x5", "two"));
    succeed(work.path(), &["build", "my", "--target", "linux/386"]);
    let file = work.path().join("pak-1.0.0.brokerpak");
    assert_eq!(content(&file, "bin/linux/386/LICENSE"), "one");
    assert_eq!(content(&file, "bin/linux/386/LICENSE.terraform-provider-two"), "two");
    assert_eq!(listing(&file).iter().filter(|line| line.ends_with("/N")).count(), 1);
    succeed(work.path(), &["extract", "pak-1.0.0.brokerpak", "out", "--platform", "linux/386"]);
}

#[test]
fn memory_does_not_grow_with_what_is_packed() {
    let work = tempfile::tempdir().unwrap();
    let directory = work.path().join("my");
    pak(&directory);
    fs::File::create(directory.join("files/psql-linux-386")).unwrap().set_len(300 << 20).unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 200000; exec \"$0\" brokerpak build my --no-compress --target linux/386"])
        .arg(env!("CARGO_BIN_EXE_boson-brokerpak"))
        .current_dir(work.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn wrong_paks_are_not_built() {
    let work = tempfile::tempdir().unwrap();
    let directory = work.path().join("my");
    pak(&directory);
    for (file, from, to, message) in [
        ("manifest.yml", "packversion: 1", "packversion: 2", "invalid value: 2: packversion"),
        ("manifest.yml", "name: pak", "name: ../pak", "invalid value: ../pak: name"),
        ("services/one.yml", "templates/bind.tf", "none.tf", "couldn't load bind template none.tf"),
        ("services/one.yml", "file://image.png", "file://none.png", "couldn't load the image none.png"),
        ("services/one.yml", "file://image.png", "file:///etc/passwd", "the path leads out of the pak"),
        ("services/one.yml", "file://image.png", "file://manifest.yml", "it is neither PNG nor JPEG"),
    ] {
        let path = directory.join(file);
        let original = fs::read_to_string(&path).unwrap();
        write(&path, original.replace(from, to));
        let stderr = fail(work.path(), &["build", "my"], 65);
        assert!(stderr.contains(message), "{message}: {stderr}");
        write(&path, original);
    }
    assert_eq!(names(work.path()), ["my"]);
    assert!(fail(work.path(), &["build", "none"], 65).contains("the directory none does not exist"));
    // A file that exists stays when the build fails, and is replaced when it succeeds.
    let file = work.path().join("pak-1.0.0.brokerpak");
    write(&file, "old");
    fs::remove_file(directory.join("files/psql-linux-386")).unwrap();
    assert_eq!(brokerpak(work.path(), &["build", "my"]).status.code(), Some(65));
    assert_eq!(fs::read(&file).unwrap(), b"old");
    succeed(work.path(), &["build", "my", "--target", "linux/amd64"]);
    assert!(fs::read(&file).unwrap().starts_with(b"PK"));
}

#[test]
fn a_wrong_definition_is_named_by_the_number_of_its_service() {
    let work = tempfile::tempdir().unwrap();
    pak(&work.path().join("my"));
    let definition = work.path().join("my/services/one.yml");
    write(&definition, fixture::SERVICE.replace("description: d\ndisplay", "description: ''\ndisplay"));
    let stderr = fail(work.path(), &["build", "my"], 65);
    assert!(stderr.contains("error: missing field(s): services[0].description\n"), "{stderr}");
    write(&definition, "a: [");
    let stderr = fail(work.path(), &["build", "my"], 65);
    assert!(stderr.contains(": services[0]\n"), "{stderr}");
    // There is one definition at a time for those who validate: its file is named.
    let stderr = fail(work.path(), &["validate", "my"], 65);
    assert!(!stderr.contains("services[0]"), "{stderr}");
}
