//! How templates are evaluated: processes, time limit, isolation.

use problem::{Problem, Problems};

/// How templates are evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Processes at a time.
    pub workers: usize,
    /// Seconds that one template may take.
    pub timeout: u32,
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
        Settings { workers, timeout: 60, isolation: IsolationMode::default() }
    }
}

impl Settings {
    /// The default with the values of `TEMPLATE_TIMEOUT` and `TEMPLATE_ISOLATION`; an empty one counts as absent.
    ///
    /// # Errors
    /// A timeout that is not a number of seconds, an unknown isolation mode.
    pub fn from_options(timeout: Option<&str>, isolation: Option<&str>) -> problem::Result<Settings> {
        let mut settings = Settings::default();
        let mut problems = Vec::new();
        if let Some(text) = timeout.filter(|text| !text.is_empty()) {
            match text.parse().ok().filter(|seconds| *seconds > 0) {
                Some(seconds) => settings.timeout = seconds,
                None => problems.push(Problem::usage(format!(
                    "TEMPLATE_TIMEOUT must be a number of seconds from 1 on, not '{text}'"
                ))),
            }
        }
        if let Some(text) = isolation.filter(|text| !text.is_empty()) {
            match IsolationMode::parse(text) {
                Ok(mode) => settings.isolation = mode,
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        Problems::check(problems)?;
        Ok(settings)
    }
}
