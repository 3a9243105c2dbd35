//! How templates are evaluated: processes, time limit, isolation.

use std::time::Duration;

use problem::Problem;

/// How templates are evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Processes at a time.
    pub workers: usize,
    /// How long one template may take; longer than zero.
    pub timeout: Duration,
    /// Which templates share a process.
    pub isolation: IsolationMode,
}

/// How it is decided which templates share a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IsolationMode {
    /// Templates share a process where the analysis of their code proves that none of them can notice it.
    #[default]
    Auto,
    /// Every template gets a process of its own, and nothing is concluded from its code.
    Process,
}

impl IsolationMode {
    /// Reads the value of `TEMPLATE_ISOLATION`.
    ///
    /// # Errors
    /// A text that is neither `auto` nor `process`.
    pub fn parse(text: &str) -> problem::Result<IsolationMode> {
        match text {
            "auto" => Ok(IsolationMode::Auto),
            "process" => Ok(IsolationMode::Process),
            _ => Err(Problem::usage(format!("TEMPLATE_ISOLATION must be 'auto' or 'process', not '{text}'")).into()),
        }
    }
}

impl Default for Settings {
    /// One worker per core, a minute for each template.
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Settings { workers, timeout: Duration::from_secs(60), isolation: IsolationMode::default() }
    }
}

impl Settings {
    /// The default with the values of `TEMPLATE_TIMEOUT` and `TEMPLATE_ISOLATION`; an empty mode counts as absent.
    ///
    /// # Errors
    /// An unknown isolation mode.
    pub fn from_options(timeout: Option<Duration>, isolation: Option<&str>) -> problem::Result<Settings> {
        let mut settings = Settings::default();
        settings.timeout = timeout.unwrap_or(settings.timeout);
        if let Some(text) = isolation.filter(|text| !text.is_empty()) {
            settings.isolation = IsolationMode::parse(text)?;
        }
        Ok(settings)
    }
}
