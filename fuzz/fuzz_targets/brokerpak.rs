//! Documents of brokerpaks: whatever the bytes are, a pak with places of what is wrong, and a request that resolves or does not.
#![no_main]

use std::collections::BTreeMap;

use brokerpak_model::configuration::{Configuration, Machine};
use brokerpak_model::pak::{Files, Pak};
use brokerpak_model::report::Report;
use brokerpak_model::request::Request;
use brokerpak_model::resolve::resolve;
use brokerpak_model::{catalog, lint, markdown};
use libfuzzer_sys::fuzz_target;

const MANIFEST: &[u8] = b"packversion: 1\nname: n\nversion: 1\nplatforms: [{os: linux, arch: amd64}]
terraform_binaries: [{name: tofu, version: 1.9.1}]\nservice_definitions: [s.yml]\n";

/// The bytes are the manifest, and the definition of a valid manifest.
struct Memory<'b> {
    bytes: &'b [u8],
    is_manifest: bool,
}

impl Files for Memory<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        Ok(if path == "manifest.yml" && !self.is_manifest { MANIFEST } else { self.bytes }.to_vec())
    }

    fn shown(&self, path: &str) -> String {
        path.to_owned()
    }
}

struct Fixed;

impl Machine for Fixed {
    fn time_nano(&mut self) -> i128 {
        0
    }

    fn random(&mut self, count: usize) -> Result<Vec<u8>, String> {
        Ok(vec![0; count])
    }
}

fuzz_target!(|bytes: &[u8]| {
    for is_manifest in [true, false] {
        let mut report = Report::default();
        let pak = Pak::read(&Memory { bytes, is_manifest }, "manifest.yml", &mut report);
        pak.services.iter().for_each(|service| lint::service(service, &mut report));
        for problem in report.problems() {
            assert!(problem.place.is_some() || !problem.notes.is_empty(), "{problem}");
        }
        catalog::catalog(&pak, true);
        markdown::document(&pak);
        let configuration = Configuration::new(serde_json::Value::Null, BTreeMap::new(), &BTreeMap::new());
        for plan in pak.services.iter().flat_map(|service| &service.definition.plans) {
            for operation in ["provision", "bind"] {
                let request = serde_json::json!({ "operation": operation, "plan": plan.id.value, "instance_id": "i", "binding_id": "b" });
                let document = request.as_object().cloned().unwrap_or_default();
                if let Ok(request) = Request::read(document, None, &pak, "request.json") {
                    let _ = resolve(&request, &configuration, &mut Fixed);
                }
            }
        }
    }
});
