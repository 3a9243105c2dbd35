//! The options of all verbs that render templates.

use clap::Args;
use dialect_erb::Settings;
use problem::Problem;
use startup::time_limit;

/// How templates are rendered, as the command line says.
#[derive(Debug, Args)]
pub struct RenderingOptions {
    /// How long one template may take: 45s, 1m30s, 500ms [default: 60s]
    #[arg(long, env = "TEMPLATE_TIMEOUT", value_name = "TIME", allow_hyphen_values = true)]
    pub template_timeout: Option<String>,
    /// Which templates get a process of their own: `process` (all), `auto` (those not proven harmless) [default: auto]
    #[arg(long = "isolation", env = "TEMPLATE_ISOLATION", value_name = "MODE")]
    pub template_isolation: Option<String>,
}

impl RenderingOptions {
    /// The settings; values that are wrong are added to `problems`, empty ones count as absent.
    pub fn check(&self, problems: &mut Vec<Problem>) -> Settings {
        let limit = time_limit("TEMPLATE_TIMEOUT", self.template_timeout.as_deref()).unwrap_or_else(|found| {
            problems.extend(found.into_vec());
            None
        });
        Settings::from_options(limit, self.template_isolation.as_deref()).unwrap_or_else(|found| {
            problems.extend(found.into_vec());
            Settings::default()
        })
    }
}
