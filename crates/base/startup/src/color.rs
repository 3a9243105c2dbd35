//! Colours, for people only.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by `--no-color`.
static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Uses no colours from now on.
pub(crate) fn switch_off() {
    IS_OFF.store(true, Ordering::Relaxed);
}

/// Whether a stream shows colours: it is a terminal, and neither `--no-color` nor NO_COLOR (<https://no-color.org>) is given.
pub fn is_colored(stream: &impl IsTerminal) -> bool {
    let is_off = IS_OFF.load(Ordering::Relaxed) || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !is_off && stream.is_terminal()
}
