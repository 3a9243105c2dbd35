//! A pak to build, and what is in a built one.

use std::fs;
use std::path::Path;

use crate::common::{write, zip};

pub(crate) const MANIFEST: &str = "packversion: 1
name: pak
version: 1.0.0
metadata: {author: me, made: 2001-01-01, number: 1.10}
platforms: [{os: linux, arch: amd64}, {os: linux, arch: '386'}]
terraform_binaries:
- {name: psql, version: any, url_template: 'files/${name}-${os}-${arch}'}
- {name: terraform-provider-own, version: 1.1, provider: team/own, url_template: './files/${name}_v${version}.zip'}
- {name: terraform, version: 1.4, url_template: 'files/${name}-${version}-${arch}.zip'}
- {name: terraform, version: 1.5.7, default: true, source: files/source.zip, url_template: 'files/${name}-${version}-${arch}.zip'}
terraform_upgrade_path: [{version: 1.4}, {version: 1.5.7}]
terraform_state_provider_replacements: {a/old: b/new}
service_definitions: [services/one.yml]
required_env_variables: [A]
env_config_mapping: {A: a.b}
parameters: [{name: TF_VAR_x, description: d}]
";

pub(crate) const SERVICE: &str = "version: 1
name: one
id: 00000000-0000-0000-0000-000000000000
description: d
display_name: S
image_url: file://image.png
documentation_url: https://example.com
support_url: https://example.com
plan_updateable: yes
plans:
- {name: small, id: 00000000-0000-0000-0000-000000000001, description: d, display_name: Small, free: no}
provision:
  user_inputs:
  - {field_name: a, type: integer, details: d, default: 1, enum: {1: one, 2: two}}
  template_refs: {main: templates/main.tf, outputs: templates/outputs.tf}
  outputs: [{field_name: o, type: string, details: d}]
bind:
  template_ref: templates/bind.tf
examples:
- {name: e, description: d, plan_id: 00000000-0000-0000-0000-000000000001, provision_params: {}, bind_params: {}}
";

pub(crate) const PACKED_MANIFEST: &str = "packversion: 1
name: pak
version: 1.0.0
metadata:
  author: me
  made: \"2001-01-01\"
  number: \"1.10\"
platforms:
- os: linux
  arch: amd64
- os: linux
  arch: \"386\"
terraform_binaries:
- name: terraform
  version: 1.4.0
  url_template: files/${name}-${version}-${arch}.zip
- name: terraform
  version: 1.5.7
  source: files/source.zip
  url_template: files/${name}-${version}-${arch}.zip
  default: true
- name: terraform-provider-own
  version: 1.1.0
  provider: registry.terraform.io/team/own
  url_template: ./files/${name}_v${version}.zip
- name: psql
  version: any
  url_template: files/${name}-${os}-${arch}
terraform_upgrade_path:
- version: 1.4.0
- version: 1.5.7
terraform_state_provider_replacements:
  a/old: b/new
service_definitions:
- definitions/service0-one.yml
required_env_variables:
- A
env_config_mapping:
  A: a.b
parameters:
- name: TF_VAR_x
  description: d
";
pub(crate) const PACKED_SERVICE: &str = "version: 1
name: one
id: 00000000-0000-0000-0000-000000000000
description: d
display_name: S
image_url: data:image/png;base64,iVBORw0KGgppbWFnZQ==
documentation_url: https://example.com
support_url: https://example.com
plan_updateable: yes
plans:
- name: small
  id: 00000000-0000-0000-0000-000000000001
  description: d
  display_name: Small
  free: no
provision:
  user_inputs:
  - field_name: a
    type: integer
    details: d
    default: 1
    enum:
      1: one
      2: two
  templates:
    main: |
      variable \"a\" {}

      # ${é}
    outputs: |
      output \"o\" { value = \"${var.a}\" }
  outputs:
  - field_name: o
    type: string
    details: d
bind:
  template: \"\"
examples:
- name: e
  description: d
  plan_id: 00000000-0000-0000-0000-000000000001
  provision_params: {}
  bind_params: {}
";

pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\nimage";

/// The directory of a pak with local files.
pub(crate) fn pak(directory: &Path) {
    write(directory.join("manifest.yml"), MANIFEST);
    write(directory.join("services/one.yml"), SERVICE);
    write(directory.join("image.png"), PNG);
    write(directory.join("templates/main.tf"), "variable \"a\" {}\n\n# ${é}\n");
    write(directory.join("templates/outputs.tf"), "output \"o\" { value = \"${var.a}\" }\n");
    write(directory.join("templates/bind.tf"), "");
    for arch in ["amd64", "386"] {
        write(directory.join(format!("files/psql-linux-{arch}")), format!("psql {arch}"));
        for version in ["1.4.0", "1.5.7"] {
            let content = format!("terraform {version} {arch}");
            let zip = zip(&[("LICENSE.txt", 0o644, version.as_bytes()), ("terraform", 0o644, content.as_bytes())]);
            write(directory.join(format!("files/terraform-{version}-{arch}.zip")), zip);
        }
    }
    let provider = zip(&[("terraform-provider-own_v1.1.0_x5", 0o755, b"own"), ("doc/README", 0o600, b"read me")]);
    write(directory.join("files/terraform-provider-own_v1.1.0.zip"), provider);
    write(directory.join("files/source.zip"), "source");
}

/// The names of a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Mode and name of all entries, in the archive's order.
pub(crate) fn listing(path: &Path) -> Vec<String> {
    let mut archive = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    (0..archive.len())
        .map(|number| {
            let entry = archive.by_index(number).unwrap();
            format!("{:06o} {}", entry.unix_mode().unwrap(), entry.name().unwrap())
        })
        .collect()
}

pub(crate) fn content(path: &Path, name: &str) -> String {
    let mut archive = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    std::io::read_to_string(archive.by_name(name).unwrap()).unwrap()
}
