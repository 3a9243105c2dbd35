//! Scenarios: manifest and releases in, rendered tree and processes out; see `tests/`.
