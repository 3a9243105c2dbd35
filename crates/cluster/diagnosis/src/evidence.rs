//! What an API server reports about a namespace.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Event, PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What an API server reports about a namespace.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The pods.
    pub pods: Vec<Pod>,
    /// The events of type Warning, the oldest first.
    pub events: Vec<Event>,
    /// The claims of disks.
    pub claims: Vec<PersistentVolumeClaim>,
    /// The ends of logs, by pod and container.
    pub logs: BTreeMap<(String, String), String>,
    /// The ids ([`event_id`]) of events that were reported before the present run. They may be outdated: none of them proves
    /// that waiting does not help.
    pub earlier: BTreeSet<String>,
}

/// What an event is recognised by; another one if it was reported again.
pub fn event_id(event: &Value) -> String {
    let text = |key: &str| event["metadata"][key].as_str().unwrap_or_default().to_owned();
    format!("{} {} {}", text("name"), text("uid"), text("resourceVersion"))
}

impl Evidence {
    /// Reads objects as the API server has them. What is no such object is left out.
    pub fn new(pods: &[Value], events: &[Value], claims: &[Value]) -> Evidence {
        let mut events: Vec<Event> = read(events);
        events.retain(|event| event.type_.as_deref() == Some("Warning"));
        events.sort_by_key(when);
        Evidence { pods: read(pods), events, claims: read(claims), ..Evidence::default() }
    }

    /// The warnings about an object, the oldest first.
    pub(crate) fn warnings<'a>(&'a self, kind: &'a str, object: &'a ObjectMeta) -> impl Iterator<Item = &'a Event> {
        self.events.iter().filter(move |event| {
            let about = &event.involved_object;
            // An object with this name may have existed before.
            let is_same = about.uid.is_none() || object.uid.is_none() || about.uid == object.uid;
            about.kind.as_deref() == Some(kind) && about.name == object.name && is_same
        })
    }

    /// Whether an event was reported before the present run.
    pub(crate) fn is_earlier(&self, event: &Event) -> bool {
        let metadata = &event.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        self.earlier.contains(&format!(
            "{} {} {}",
            text(&metadata.name),
            text(&metadata.uid),
            text(&metadata.resource_version)
        ))
    }
}

fn read<T: DeserializeOwned>(objects: &[Value]) -> Vec<T> {
    objects.iter().filter_map(|object| serde_json::from_value(object.clone()).ok()).collect()
}

/// When an event was reported last.
fn when(event: &Event) -> String {
    let last = event.last_timestamp.as_ref().map(|time| time.0.to_string());
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref()).map(|t| t.0.to_string());
    let created = || event.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    series.or(last).or_else(created).unwrap_or_default()
}
