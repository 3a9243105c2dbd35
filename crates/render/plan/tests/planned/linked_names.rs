//! Certificates that take names from links.

use std::process::Command;

use crate::{Planned, plan_whole};

const MANIFEST: &str = "name: d
releases: [{name: r, version: 1}]
variables:
- name: c
  type: certificate
  options: {self_sign: true, key_length: 2048, alternative_names: [web.example.org]}
  consumes:
    alternative_name: {from: web-address, properties: {wildcard: true}}
    common_name: {from: web-address}
instance_groups:
- name: web
  instances: 2
  jobs:
  - name: j
    release: r
    custom_provider_definitions: [{name: web, type: address}]
    provides: {web: {as: web-address}}
    properties: {pem: ((c.certificate)), count: 1}
";
const SPEC: &str = "properties: {pem: {}, count: {}}";

/// The manifest without values of variables, which is refused.
fn unplanned(manifest: &str) -> Planned {
    let planned = plan_whole(&[("j", SPEC)], manifest);
    assert_eq!(planned.code, Some(65));
    planned
}

/// Common name and alternative names of the certificate in the store `creds.yml`.
fn names(planned: &Planned) -> String {
    let store = std::fs::read(planned.work.path().join("creds.yml")).unwrap();
    let store: serde_yaml::Value = serde_yaml::from_slice(&store).unwrap();
    planned.write("c.pem", store["c"]["certificate"].as_str().unwrap());
    let arguments = ["x509", "-in", "c.pem", "-noout", "-subject", "-ext", "subjectAltName", "-nameopt", "RFC2253"];
    let output = Command::new("openssl").args(arguments).current_dir(planned.work.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const STORE: [&str; 4] = ["--output-dir", "out", "--vars-store", "creds.yml"];

#[test]
fn certificates_have_the_addresses_of_links() {
    let planned = unplanned(MANIFEST);
    let generating = "generating 1 variable, 1 key\ngenerated c (1 of 1)\n".to_owned();
    assert_eq!(planned.with(&STORE), (Some(0), generating.clone()));
    let first = names(&planned);
    assert!(first.contains("subject=CN=d-web.default.svc.cluster.local,O=Cloud Foundry,C=US\n"), "{first}");
    assert!(first.contains("DNS:web.example.org, DNS:*.default.svc.cluster.local\n"), "{first}");
    // Another name of the deployment is another address.
    assert_eq!(planned.with(&STORE), (Some(0), String::new()));
    let other = [&STORE[..], &["-d", "other"]].concat();
    let (code, printed) = planned.with(&other);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("the definition of variable 'c' has changed since its value was generated: common_name"));
    assert_eq!(names(&planned), first);
    planned.write(
        "manifest.yml",
        &MANIFEST.replace("  type: certificate\n", "  type: certificate\n  update_mode: converge\n"),
    );
    assert_eq!(planned.with(&other), (Some(0), generating));
    assert!(names(&planned).contains("CN=other-web.default.svc.cluster.local"));
}

#[test]
fn links_that_are_not_found_are_reported_before_anything_is_generated() {
    let planned = unplanned(&MANIFEST.replace("as: web-address", "as: other"));
    let (code, printed) = planned.with(&STORE);
    let expected = "error: Failed to resolve links from deployment 'd'. See errors below:
  - Failed to resolve link 'alternative_name' with alias 'web-address' and type 'address' from variable 'c'. Details below:
    - No link providers found
  - Failed to resolve link 'common_name' with alias 'web-address' and type 'address' from variable 'c'. Details below:
    - No link providers found
  --> manifest.yml:8:23: variable 'c'
  hint: link 'alternative_name': write this for variable 'c':
      consumes: {alternative_name: {from: other, link_type: address}}  # job 'j' in instance group 'web'
  --> manifest.yml:9:18: variable 'c'
  hint: link 'common_name': write this for variable 'c':
      consumes: {common_name: {from: other, link_type: address}}  # job 'j' in instance group 'web'
";
    assert!(code == Some(65) && printed.starts_with(expected), "{printed}");
    assert!(!planned.work.path().join("creds.yml").exists());
}

#[test]
fn other_mistakes_are_reported_before_anything_is_generated() {
    let wrong =
        MANIFEST.replace("instances: 2", "instances: ((many))").replace("from: web-address}", "form: web-address}");
    let planned = unplanned(&wrong);
    let (code, printed) = planned.with(&[&STORE[..], &["-v", "many=x"]].concat());
    assert_eq!(code, Some(65));
    assert!(printed.contains("error: Property 'instances' value (a String)"), "{printed}");
    assert!(
        printed.contains("WARN 'form' in 'consumes' of variable 'c' has no effect\n  --> manifest.yml:9:"),
        "{printed}"
    );
    let (code, printed) = planned.with(&STORE);
    assert_eq!(code, Some(65));
    assert!(printed.contains("error: unresolved variables: ((many))\n  --> manifest.yml:12:14: ((many))"), "{printed}");
    planned.write("manifest.yml", &MANIFEST.replace("common_name:", "common_names:"));
    let (code, printed) = planned.with(&STORE);
    let expected = "error: Consumer name 'common_names' is not a valid consumer for variable 'c'. Acceptable consumer types \
                    are: alternative_name, common_name\n  --> manifest.yml:9:19\n  hint: did you mean 'common_name'?\n";
    assert!(code == Some(65) && printed.starts_with(expected), "{printed}");
    assert!(!planned.work.path().join("creds.yml").exists());
}
