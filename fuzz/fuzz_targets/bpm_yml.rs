//! `bpm.yml`: every input is a configuration or problems that name the file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match bpm::parse_for_job(bytes, "bpm.yml", "web") {
        Ok(config) => {
            for process in &config.processes {
                assert!(config.process(&process.name).is_ok());
            }
            // The checks that need the job's name only add problems.
            assert_eq!(bpm::parse(bytes, "bpm.yml").as_ref().map(|bare| &bare.processes), Ok(&config.processes));
        }
        Err(problems) => assert!(problems.to_string().contains("bpm.yml"), "{problems}"),
    }
});
