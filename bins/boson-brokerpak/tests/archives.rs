//! Files `.brokerpak`: read, checked, extracted.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const MANIFEST: &str = "packversion: 1
name: pak
version: 1.0.0
platforms: [{os: linux, arch: amd64}, {os: linux, arch: '386'}]
terraform_binaries:
- {name: terraform, version: 1.5.7}
- {name: terraform-provider-random, version: 3.1.0}
- {name: terraform-provider-own, version: 1.1, provider: example.com/team/own}
- {name: psql, version: any}
service_definitions: [definitions/service-0.yml]
";

const SERVICE: &str = "version: 1
name: s
id: 00000000-0000-0000-0000-000000000000
description: d
display_name: S
image_url: https://example.com/i.png
documentation_url: https://example.com
support_url: https://example.com
plans:
- {name: small, id: 00000000-0000-0000-0000-000000000001, description: d, display_name: Small}
provision:
  user_inputs: [{field_name: a, type: string, details: d, default: '${request.instance_id}'}]
";

fn pack(path: &Path, files: &[(&str, &str)]) {
    let mut writer = ZipWriter::new(fs::File::create(path).unwrap());
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default().unix_permissions(0o755)).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

fn brokerpak(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boson-brokerpak"));
    command.arg("brokerpak").args(arguments).current_dir(directory).env_clear().output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const PAK: [(&str, &str); 8] = [
    ("manifest.yml", MANIFEST),
    ("definitions/service-0.yml", SERVICE),
    ("bin/linux/amd64/terraform", "terraform"),
    ("bin/linux/amd64/terraform-provider-random_v3.1.0_x5", "random"),
    ("bin/linux/amd64/terraform-provider-own_v1.1.0", "own"),
    ("bin/linux/amd64/terraform-provider-own_v1.1.01", "another version"),
    ("bin/linux/amd64/psql", "psql"),
    ("bin/linux/amd64/psqlodbc", "another program"),
];

#[test]
fn packed_paks_are_read_as_directories_are() {
    let work = tempfile::tempdir().unwrap();
    pack(&work.path().join("a.brokerpak"), &PAK);
    let valid = brokerpak(work.path(), &["validate", "a.brokerpak"]);
    assert_eq!(text(&valid.stdout), "Valid\n", "{}", text(&valid.stderr));
    let info = brokerpak(work.path(), &["info", "a.brokerpak", "--json"]);
    let info = text(&info.stdout);
    assert!(info.contains(r#""name": "bin/linux/amd64/terraform","#) && info.contains(r#""mode": "0755""#), "{info}");
    fs::write(work.path().join("r.json"), r#"{"operation": "provision", "plan": "small", "instance_id": "i"}"#)
        .unwrap();
    let resolved = brokerpak(work.path(), &["resolve", "a.brokerpak", "--request", "r.json"]);
    assert!(text(&resolved.stdout).contains(r#""a": "i""#), "{}", text(&resolved.stderr));
}

#[test]
fn executables_are_extracted_into_terraforms_layout() {
    let work = tempfile::tempdir().unwrap();
    pack(&work.path().join("a.brokerpak"), &PAK);
    for _ in 0..2 {
        let output = brokerpak(work.path(), &["extract", "a.brokerpak", "out", "--platform", "linux/amd64"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let out = work.path().join("out");
    for (path, content) in [
        ("versions/1.5.7/terraform", "terraform"),
        ("registry.terraform.io/hashicorp/random/3.1.0/linux_amd64/terraform-provider-random_v3.1.0_x5", "random"),
        ("example.com/team/own/1.1.0/linux_amd64/terraform-provider-own_v1.1.0", "own"),
        ("psql", "psql"),
    ] {
        assert_eq!(fs::read_to_string(out.join(path)).unwrap(), content, "{path}");
        assert_eq!(fs::metadata(out.join(path)).unwrap().permissions().mode() & 0o777, 0o755);
    }
    assert_eq!(fs::read_dir(&out).unwrap().count(), 4, "nothing else is written");
    for (platform, message) in [
        ("linux/386", "file with prefix \"bin/linux/386/terraform-provider-random_v3.1.0\" not found in zip"),
        ("darwin/arm64", "doesn't contain binaries compatible with the current platform \"darwin/arm64\""),
    ] {
        let output = brokerpak(work.path(), &["extract", "a.brokerpak", "none", "--platform", platform]);
        assert_eq!(output.status.code(), Some(65));
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
        assert!(!work.path().join("none").exists(), "nothing is written");
    }
}

/// Writes a size for a file into the directory of an archive.
fn declare(path: &Path, name: &str, size: u32) {
    let mut bytes = fs::read(path).unwrap();
    let headers = bytes.windows(4).enumerate().filter(|(_, bytes)| *bytes == b"PK\x01\x02").map(|(at, _)| at);
    let of_file = |at: &usize| bytes[at + 46..].starts_with(name.as_bytes());
    let header = headers.collect::<Vec<_>>().into_iter().find(of_file).unwrap();
    bytes[header + 24..header + 28].copy_from_slice(&size.to_le_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_bomb_is_refused_before_anything_is_written() {
    let work = tempfile::tempdir().unwrap();
    let path = work.path().join("a.brokerpak");
    pack(&path, &PAK);
    let extract = |flags: &[&str]| {
        let arguments = [&["extract", "a.brokerpak", "out", "--platform", "linux/amd64"], flags].concat();
        let output = brokerpak(work.path(), &arguments);
        (output.status.code(), text(&output.stderr))
    };
    // The four executables have 9, 6, 3 and 4 bytes.
    let (code, stderr) = extract(&["--limit", "21"]);
    assert_eq!(code, Some(65), "{stderr}");
    assert!(stderr.contains("the pak's files have 22 bytes, more than the limit of 21"), "{stderr}");
    assert!(!work.path().join("out").exists(), "nothing is written");
    assert_eq!(extract(&["--limit", "22"]).0, Some(0));
    fs::remove_dir_all(work.path().join("out")).unwrap();
    declare(&path, "bin/linux/amd64/psql", 300 << 20);
    let (code, stderr) = extract(&[]);
    assert_eq!(code, Some(65), "{stderr}");
    assert!(stderr.contains("more than the limit of 268435456"), "{stderr}");
    assert!(!work.path().join("out").exists(), "nothing is written");
    // Without a limit, the content shows that the declaration is wrong.
    let (code, stderr) = extract(&["--limit", "0"]);
    assert_eq!(code, Some(65), "{stderr}");
    assert!(stderr.contains("does not have the size that the directory declares"), "{stderr}");
}

#[test]
fn an_executable_of_another_version_than_it_stands_for_is_refused() {
    let work = tempfile::tempdir().unwrap();
    fs::create_dir(work.path().join("pak")).unwrap();
    let manifest = MANIFEST
        .replace(
            "- {name: terraform, version: 1.5.7}",
            "- {name: terraform, version: 1.4.0}\n- {name: terraform, version: 1.5.7, default: true}",
        )
        .replace("definitions/service-0.yml", "s.yml");
    fs::write(work.path().join("pak/manifest.yml"), manifest).unwrap();
    fs::write(work.path().join("pak/s.yml"), SERVICE).unwrap();
    fs::write(work.path().join("r.json"), r#"{"plan": "small", "instance_id": "i"}"#).unwrap();
    let run = |version: &str, given: &str| {
        let tool = work.path().join("tool");
        fs::write(&tool, format!("#!/bin/sh\necho Terraform v{version}\necho on linux_amd64\n")).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let mut arguments = vec!["run", "provision", "pak", "--request", "r.json", "--output", "o.json"];
        arguments.extend(["--state-dir", "state", "--terraform", given]);
        let output = brokerpak(work.path(), &arguments);
        let made = fs::read_dir(work.path().join("state/instances")).map_or(0, Iterator::count);
        (output.status.code(), text(&output.stderr), made)
    };
    for (version, given, message) in [
        (
            "1.11.4",
            "tool",
            "error: --terraform: tool has the version 1.11.4, which is newer than the 1.5.7 of the pak\n  hint: to use it, add `- {name: terraform, version: 1.11.4, default: true}` to terraform_binaries in the manifest, and for the instances that exist `- {version: 1.11.4}` to terraform_upgrade_path\n",
        ),
        (
            "1.4.0",
            "tool",
            "error: --terraform: tool has the version 1.4.0, which is older than the 1.5.7 of the pak\n  hint: --terraform 1.4.0=tool uses it as that version of the manifest\n",
        ),
        ("1.2.0", "1.4=tool", "which is older than the 1.4.0 of the pak\n  hint: it must be terraform 1.4.0\n"),
    ] {
        let (code, stderr, made) = run(version, given);
        assert_eq!((code, made), (Some(65), 0), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
    for (version, given) in [("1.5.7", "tool"), ("1.4.0", "1.4=tool")] {
        let (code, stderr, _) = run(version, given);
        assert!(!stderr.contains("--terraform"), "{stderr}");
        // This service has no template: nothing is made.
        assert_eq!(code, Some(0), "{stderr}");
    }
}

#[test]
fn hostile_paks_change_nothing() {
    let work = tempfile::tempdir().unwrap();
    let path = work.path().join("a.brokerpak");
    let climbing = MANIFEST.replace("example.com/team/own", "../../escaped");
    for (files, message) in [
        (&[("../escaped", "x")][..], "has a name that leads elsewhere"),
        (&[("manifest.yml", climbing.as_str()), PAK[1]], "invalid format"),
        (&[("other", "x")], "file \"manifest.yml\" does not exist in the zip"),
    ] {
        pack(&path, files);
        let output = brokerpak(work.path(), &["extract", "a.brokerpak", "out/inner", "--platform", "linux/amd64"]);
        assert_eq!(output.status.code(), Some(65));
        assert!(text(&output.stderr).contains(message), "{message}: {}", text(&output.stderr));
        assert_eq!(fs::read_dir(work.path()).unwrap().count(), 1, "only the pak");
    }
    fs::write(&path, "not a zip").unwrap();
    let output = brokerpak(work.path(), &["info", "a.brokerpak"]);
    assert_eq!(output.status.code(), Some(65));
    assert!(text(&output.stderr).contains("not a zip archive"), "{}", text(&output.stderr));
}

#[test]
fn what_init_writes_is_valid_and_nothing_is_overwritten() {
    let work = tempfile::tempdir().unwrap();
    let output = brokerpak(work.path(), &["init", "new"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let valid = brokerpak(work.path(), &["validate", "new", "--strict"]);
    assert_eq!((text(&valid.stdout).as_str(), text(&valid.stderr).as_str()), ("Valid\n", ""));
    fs::remove_file(work.path().join("new/manifest.yml")).unwrap();
    fs::write(work.path().join("new/example-service.yml"), "mine").unwrap();
    let again = brokerpak(work.path(), &["init", "new"]);
    assert_eq!(again.status.code(), Some(65));
    assert_eq!(fs::read_to_string(work.path().join("new/example-service.yml")).unwrap(), "mine");
    assert!(!work.path().join("new/manifest.yml").exists());
}
