//! Unified diffs: every input is changes of files or a problem that has a line, and no content of a file stops them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (diff, content) = input;
    match unified_diff::read(diff) {
        Ok(files) => {
            assert!(!files.is_empty());
            for file in files {
                assert!(file.old.is_some() || file.new.is_some());
                if let Ok(applied) = file.apply(content) {
                    assert!(file.hunks.is_empty() == (applied == content) || !file.hunks.is_empty());
                }
                file.is_applied_to(content);
            }
        }
        Err(malformed) => assert!(malformed.line > 0 && !malformed.what.is_empty()),
    }
});
