//! A pak with the real tofu and terraform and a provider of the tests: built from files, extracted, run without a network.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{succeed, text, write, zip};

/// The directory that `.ci/terraform` prints; the variable replaces it.
fn executables() -> PathBuf {
    if let Some(directory) = std::env::var_os("BOSON_TERRAFORM_DIR").filter(|directory| !directory.is_empty()) {
        return directory.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join(".ci/terraform")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    PathBuf::from(text(&output.stdout).trim())
}

fn manifest(tool: &str, version: &str, directory: &Path) -> String {
    format!(
        "packversion: 1
name: {tool}-pak
version: 1.0.0
platforms: [{{os: linux, arch: amd64}}]
terraform_binaries:
- {{name: {tool}, version: {version}, url_template: 'file://{0}/{tool}'}}
- {{name: terraform-provider-random, version: 3.1.0, url_template: 'provider/${{name}}_${{version}}_${{os}}_${{arch}}.zip'}}
service_definitions: [example-service.yml]
",
        directory.display()
    )
}

const MAIN: &str = r#"
terraform {
  required_providers {
    random = { source = "registry.terraform.io/hashicorp/random" }
  }
}
resource "random_string" "a" {
  length = 16
}
output "a" {
  value = random_string.a.result
}
"#;

#[test]
fn packed_executables_run_without_a_network() {
    let work = tempfile::tempdir().unwrap();
    let executables = executables();
    let provider = zip(&[(
        "terraform-provider-random_v3.1.0_x5",
        0o755,
        &fs::read(executables.join("terraform-provider-random")).unwrap(),
    )]);
    for (tool, version) in [("tofu", "1.9.1"), ("terraform", "1.5.7")] {
        let my = work.path().join(tool);
        succeed(work.path(), &["init", tool]);
        write(my.join("manifest.yml"), manifest(tool, version, &executables));
        write(my.join("provider/terraform-provider-random_3.1.0_linux_amd64.zip"), &provider);
        // Compressing a hundred megabytes takes a minute without optimisation.
        succeed(work.path(), &["build", tool, "--no-compress"]);
        let pak = format!("{tool}-pak-1.0.0.brokerpak");
        let info = succeed(work.path(), &["info", &pak]);
        assert!(info.contains(&format!("binary: {tool} {version}\n")), "{info}");
        succeed(work.path(), &["validate", &pak]);
        let out = format!("{tool}-bin");
        succeed(work.path(), &["extract", &pak, &out, "--platform", "linux/amd64"]);
        let plugins = work.path().join(&out);
        let executable = plugins.join(format!("versions/{version}/{tool}"));
        assert!(fs::read(&executable).unwrap() == fs::read(executables.join(tool)).unwrap());
        let workspace = work.path().join(format!("{tool}-workspace"));
        write(workspace.join("main.tf"), MAIN);
        let run = |arguments: &[&str]| {
            let output = Command::new(&executable)
                .args(arguments)
                .current_dir(&workspace)
                .env_clear()
                .env("HOME", &workspace)
                .env("TF_CLI_CONFIG_FILE", "/dev/null")
                .env("CHECKPOINT_DISABLE", "1")
                // Nothing is reached through it.
                .env("HTTPS_PROXY", "http://127.0.0.1:1")
                .output()
                .unwrap();
            assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
            text(&output.stdout)
        };
        run(&["init", "-no-color", &format!("-plugin-dir={}", plugins.display())]);
        run(&["apply", "-no-color", "-auto-approve"]);
        assert_eq!(run(&["output", "-raw", "a"]).len(), 16);
        run(&["destroy", "-no-color", "-auto-approve"]);
    }
}
