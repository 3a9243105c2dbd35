//! Time and randomness of the machine, and its environment.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use brokerpak_model::configuration;

/// The machine's clock and random numbers.
#[derive(Debug)]
pub(crate) struct Machine;

impl configuration::Machine for Machine {
    fn time_nano(&mut self) -> i128 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i128)
    }

    fn random(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; count];
        getrandom::fill(&mut bytes).map_err(|error| format!("the machine has no random numbers: {error}"))?;
        Ok(bytes)
    }
}

/// The environment of the process; variables that are not UTF-8 are left out.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let text = |text: std::ffi::OsString| text.into_string().ok();
    std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}
