//! Nstance's configuration and instance document: every input is rendered or has problems, and the same way twice.
#![no_main]

use std::time::Duration;

use dialect_nstance::{Configuration, Images, Inputs, Instance, Settings, render};
use libfuzzer_sys::fuzz_target;

const SETTINGS: Settings = Settings {
    missing_is_error: true,
    timeout: Duration::from_millis(100),
    output_limit: 1 << 12,
    inflated_limit: 1 << 12,
};

// A configuration, and behind a zero byte an instance document.
fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let (configuration, instance) = (&input[..end], input.get(end + 1..).unwrap_or(b"{}"));
    let Ok((configuration, _)) = Configuration::read("config.json", configuration) else { return };
    let Ok((instance, _)) = Instance::read("instance.json", instance) else { return };
    let images = Images::from([("a".into(), Ok("ami-1".into())), ("b".into(), Err("no image matches".into()))]);
    let download = |_: &str| Some(&b"{{ .Vars.A }}"[..]);
    for group in configuration.groups.iter().take(4) {
        let inputs = Inputs { instance: &instance, images: &images, download: &download, settings: SETTINGS };
        let Ok(rendered) = render(&configuration, group, inputs) else { continue };
        for file in rendered.files.iter().filter(|file| file.path.ends_with(".json")) {
            let name = &file.path;
            // A file of kind string may have any name.
            if !name.starts_with("files/") {
                assert!(dialect_nstance::document::parse("result", name, &file.content).is_ok(), "{name}");
            }
        }
    }
});
