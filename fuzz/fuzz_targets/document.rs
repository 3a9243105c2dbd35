//! Dumps as they come from the VM, and every reader of what is in them: no input may stop one.
#![no_main]

use manifest_model::manifest::Manifest;
use manifest_model::{JobSpec, property};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(value) = ruby::fuzzing::read_dump(bytes) else { return };
    if let Ok(mut manifest) = Manifest::parse(&value, "manifest.yml") {
        let _ = manifest.place_addons();
    }
    let _ = JobSpec::parse(&value, "j", "spec");
    let _ = handoff::properties::decode(&value, "properties.yaml");
    if let Ok(sorted) = property::sort(&value) {
        assert!(property::sort(&sorted).is_ok());
    }
    if let Ok(once) = property::json_round_trip(&value) {
        assert!(property::json_round_trip(&once).is_ok());
    }
});
