//! The documents that cross containers: whatever is read is written, and read again, as the same.
//!
//! A test of `xtask` sees to it that every module of crate `handoff` occurs here.
#![no_main]

use handoff::bpm_info::BpmInfo;
use handoff::deployment::Deployment;
use handoff::hook_state::HookState;
use handoff::identities::Identities;
use handoff::links::SharedLinks;
use handoff::packages::Packages;
use handoff::process_state::ProcessState;
use handoff::requests::Line;
use handoff::versions::Versions;
use libfuzzer_sys::fuzz_target;

/// Reads the text; what was read has to survive being written. The document's path is `file`.
macro_rules! round_trip {
    ($document:ty, $text:expr) => {
        if let Ok(once) = <$document>::decode($text, "file") {
            assert_eq!(<$document>::decode(&once.encode(), "file"), Ok(once));
        }
    };
    (@yaml $document:ty, $text:expr) => {
        if let Ok(once) = <$document>::decode($text, "file") {
            let again = once.encode().and_then(|text| <$document>::decode(&text, "file"));
            assert_eq!(again, Ok(once));
        }
    };
}

/// The most bytes of a part.
const PART: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    // What is not compressed is refused.
    let _ = object_basics::packed::unpack(|end| Ok((end == ".gz").then(|| bytes.to_vec())));
    let files = object_basics::packed::pack(bytes, PART);
    if files.len() <= object_basics::packed::MOST_PARTS {
        let file = |end: &str| files.iter().find(|(of, _)| of == end).map(|(_, content)| content.clone());
        assert_eq!(object_basics::packed::unpack(|end| Ok(file(end))).ok().flatten().as_deref(), Some(bytes));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    round_trip!(HookState, text);
    round_trip!(SharedLinks, text);
    round_trip!(Identities, text);
    round_trip!(Packages, text);
    if let Ok(once) = text.parse::<Line>() {
        assert_eq!(once.to_string().parse(), Ok(once));
    }
    round_trip!(ProcessState, text);
    round_trip!(@yaml BpmInfo, text);
    round_trip!(@yaml Deployment, text);
    round_trip!(@yaml Versions, text);
    if let Ok(content) = handoff::output::decode(text, "properties.yaml", "file") {
        let again = handoff::output::encode("properties.yaml", &content);
        assert_eq!(handoff::output::decode(&again, "properties.yaml", "file"), Ok(content));
    }
});
