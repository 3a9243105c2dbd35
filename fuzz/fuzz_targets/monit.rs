//! `monit` files: every input is services or problems that have a place.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // What is not UTF-8 is refused before it comes to the parser.
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match monit::parse(text, "monit") {
        Ok(config) => {
            for service in &config.services {
                assert_eq!(config.service(&service.name), Some(service));
                for program in service.start.iter().chain(&service.stop) {
                    assert!((1..=64).contains(&program.argv.len()));
                    program.bpm_start();
                }
            }
            let all = monit::start_order(&config.services).len() == config.services.len();
            assert!(all || !monit::check(&[("monit", &config)]).is_empty());
        }
        Err(problems) => {
            for problem in problems.iter() {
                assert!(problem.place.as_ref().is_some_and(|place| place.line.is_some()), "{problem}");
            }
        }
    }
});
