//! What the description of an instance takes from this machine instead of from `plan`'s documents.

use workload::Settings;

use crate::time_limits::GRACE;

/// Variables by which the user sets how templates are evaluated. A sandbox does not inherit them.
const TEMPLATE_SETTINGS: [&str; 2] = ["TEMPLATE_ISOLATION", "TEMPLATE_TIMEOUT"];

/// The settings of this machine.
pub(crate) fn settings() -> Settings {
    let of_user = TEMPLATE_SETTINGS.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    Settings { grace: GRACE, template_settings: of_user.collect() }
}
