//! Ids of images: when they are looked up, and `render-files images`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use cloud_images::{Outcome, Source};
use dialect_nstance::{Configuration, Image, Images, Instance};
use problem::{Problem, Problems, Result};
use serde_json::{Map, Value, json};
use startup::Common;

use crate::inputs::{Inputs, Loaded};
use crate::stdout;

/// The pause after the first lookup that fails; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);

/// The outcomes of the lookups of a process.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By what identifies a lookup.
    known: BTreeMap<String, Outcome>,
    /// When all images are looked up again.
    due: Option<Instant>,
    /// The number of rounds, one after the other, in which a lookup failed.
    failures: u32,
}

impl Lookups {
    /// The ids of the images that the instance document does not give. Images are looked up if they have not been yet, or if
    /// it is time to do so again.
    ///
    /// # Errors
    /// The interval is not a time, or the certificates cannot be read.
    pub(crate) fn ids(&self, loaded: &Loaded, inputs: &Inputs, common: &Common) -> Result<Images> {
        let id = |(name, outcome): (&str, Outcome)| (name.to_owned(), outcome.result.map(|resolved| resolved.id));
        Ok(self.outcomes(loaded, inputs, common)?.into_iter().map(id).collect())
    }

    fn outcomes<'l>(&self, loaded: &'l Loaded, inputs: &Inputs, common: &Common) -> Result<Vec<(&'l str, Outcome)>> {
        let Loaded { configuration, instance } = loaded;
        let interval = inputs.images.interval(configuration)?;
        let region = configuration.provided(instance, "Provider", "Region");
        let open = open(configuration, instance);
        let mut state = self.state.borrow_mut();
        let is_due = state.due.is_some_and(|due| Instant::now() >= due);
        let keys: Vec<String> = open.iter().map(|(_, image)| cloud_images::key(image, region)).collect();
        let wanted = |key: &String| is_due || !state.known.contains_key(key);
        let (names, now): (Vec<_>, Vec<_>) =
            keys.iter().zip(&open).filter(|(key, _)| wanted(key)).map(|(key, image)| (key.clone(), *image)).unzip();
        let settings = inputs.images.settings(inputs.downloads.ssl_cert_file.as_deref(), common);
        let found = cloud_images::resolve(&now, region, &settings)?;
        for ((name, _), outcome) in now.iter().zip(&found) {
            report(name, outcome);
        }
        if !now.is_empty() {
            state.known.extend(names.into_iter().zip(found));
            state.known.retain(|key, _| keys.contains(key));
            state.plan(interval);
        }
        let known = |key: &String| state.known.get(key).cloned();
        Ok(open.iter().zip(&keys).filter_map(|((name, _), key)| Some((*name, known(key)?))).collect())
    }

    /// The time until images are looked up again, if they are.
    pub(crate) fn next(&self) -> Option<Duration> {
        Some(self.state.borrow().due?.saturating_duration_since(Instant::now()))
    }
}

impl State {
    /// Sets the time of the next round: sooner if a lookup failed.
    fn plan(&mut self, interval: Duration) {
        let failed = self.known.values().any(|outcome| outcome.failure.is_some());
        self.failures = if failed { self.failures + 1 } else { 0 };
        let regular = (!interval.is_zero()).then_some(interval);
        let pause = failed.then(|| {
            let doubled = FIRST_PAUSE.saturating_mul(2u32.saturating_pow((self.failures - 1).min(30)));
            doubled.min(LONGEST_PAUSE)
        });
        let next = regular.into_iter().chain(pause).min();
        self.due = next.and_then(|next| Instant::now().checked_add(next));
    }
}

/// Logs that an image has no live id. One without any is an error of the templates that use it.
fn report(name: &str, outcome: &Outcome) {
    let (Some(why), Ok(resolved)) = (&outcome.failure, &outcome.result) else { return };
    let instead = match (resolved.source, &resolved.resolved_at) {
        (Source::Cache, Some(at)) => format!("the id of {at} is used"),
        _ => "the fallback is used".to_owned(),
    };
    tracing::warn!("images.{}: {why}; {instead}", name.escape_debug());
}

/// The images that the instance document does not give.
fn open<'c>(configuration: &'c Configuration, instance: &Instance) -> Vec<(&'c str, &'c Image)> {
    let open = configuration.images.iter().filter(|(name, _)| !instance.images.contains_key(*name));
    open.map(|(name, image)| (name.as_str(), image)).collect()
}

/// The arguments of `images`.
#[derive(Debug, Args)]
#[command(
    long_about = "Look up all configured images once and print their ids as JSON. An image that the instance document gives is \
        not looked up. Each image is resolved by itself: by EC2's DescribeImages with the credentials that AWS's tools use \
        (AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_WEB_IDENTITY_TOKEN_FILE, containers and instances), else from the cache, else by \
        its fallback.\n\n\
        The output is {\"refresh_interval_seconds\", \"images\": {NAME: {\"id\", \"source\", \"resolved_at\"}}}, where the source \
        is live, cache or fallback; an image that could not be looked up has the cause as \"failure\", one without an id has {\"error\"}.",
    after_long_help = "Examples:\n\
        \x20\x20render-files images --config-path config.json --provider-region us-west-2\n\
        \x20\x20render-files images --config-path config.json --image-cache /tmp/images.db\n\n\
        Exit codes: 0 all images have an id; 65 the configuration or the instance is wrong; 70 an image has no id."
)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
}

/// Runs `images`; gives the exit code.
pub(crate) fn run(options: &Options, common: &Common) -> Result<u8> {
    let loaded = options.inputs.load(common)?;
    let outcomes = Lookups::default().outcomes(&loaded, &options.inputs, common)?;
    let interval = options.inputs.images.interval(&loaded.configuration)?;
    let unresolved = outcomes.iter().filter_map(|(name, outcome)| {
        let why = outcome.result.as_ref().err()?;
        Some(Problem::internal(format!("the image '{}' has no id", name.escape_debug())).because(why))
    });
    let unresolved: Vec<Problem> = unresolved.collect();
    let entry = |(name, outcome): (&str, Outcome)| {
        let entry = match outcome.result {
            Ok(resolved) => {
                let mut entry =
                    json!({"id": resolved.id, "source": resolved.source.name(), "resolved_at": resolved.resolved_at});
                if let Some(why) = outcome.failure {
                    entry["failure"] = format!("images.{}: {why}", name.escape_debug()).into();
                }
                entry
            }
            Err(why) => json!({ "error": why }),
        };
        (name.to_owned(), entry)
    };
    let entries: Map<String, Value> = outcomes.into_iter().map(entry).collect();
    let document = json!({"refresh_interval_seconds": seconds(interval), "images": entries});
    stdout::print(format!("{document:#}\n").as_bytes())?;
    Problems::check(unresolved)?;
    Ok(0)
}

/// A whole number, if it is one.
fn seconds(time: Duration) -> Value {
    if time.subsec_nanos() == 0 { time.as_secs().into() } else { time.as_secs_f64().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_follow_failures_sooner() {
        let outcome =
            |failure: Option<&str>| Outcome { result: Err(String::new()), failure: failure.map(str::to_owned) };
        let mut state = State::default();
        let mut plan = |failure: Option<&str>, interval: u64| {
            state.known.insert("i".into(), outcome(failure));
            state.plan(Duration::from_secs(interval));
            // Some milliseconds of it may have passed.
            state.due.map(|due| due.saturating_duration_since(Instant::now()).as_secs_f64().ceil())
        };
        assert_eq!(plan(None, 3600), Some(3600.0));
        let pauses: Vec<_> = (0..8).map(|_| plan(Some("x"), 3600).unwrap()).collect();
        assert_eq!(pauses, [10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 600.0, 600.0]);
        assert_eq!(plan(Some("x"), 5), Some(5.0), "no later than without a failure");
        assert_eq!(plan(None, 3600), Some(3600.0));
        assert_eq!(plan(Some("x"), 0), Some(10.0));
        assert_eq!(plan(None, 0), None);
    }
}
