//! Questions to the name server of a deployment: every input has a reply that fits and repeats its number, or none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resolver::server::{Lookup, reply};

fuzz_target!(|bytes: &[u8]| {
    let lookup = |name: &str| {
        assert!(name.chars().count() <= 254);
        Lookup::Addresses((0..name.len() as u8).map(|n| [10, 0, 0, n].into()).collect())
    };
    if let Some(reply) = reply(bytes, None, &lookup) {
        assert!(reply.len() >= 12 && reply.len() <= 1232);
        assert_eq!((&reply[..2], reply[2] & 0x80), (&bytes[..2], 0x80));
    }
});
