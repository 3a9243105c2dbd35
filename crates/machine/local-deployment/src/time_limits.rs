//! How long a deployment may take to stop.

use std::time::Duration;

/// How long an instance has to stop, scripts and processes together; `run-process` gets it as `BOSON_GRACE`.
pub(crate) const GRACE: Duration = Duration::from_secs(60);

/// How long stopping all instances may take before they are killed.
pub const STOP_LIMIT: Duration = GRACE.saturating_add(Duration::from_secs(3));
