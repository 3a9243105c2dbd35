//! Templates: compiled to Ruby, taken apart, looked at.
#![no_main]

use dialect_erb::{analysis, scanner};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|template: &[u8]| {
    scanner::compile(template);
    scanner::has_magic_comment(template);
    if let Ok(text) = std::str::from_utf8(template) {
        scanner::fragments(text);
    }
    let facts = analysis::analyse(template);
    assert!(facts.isolation != analysis::Isolation::Process || !facts.noted);
});
