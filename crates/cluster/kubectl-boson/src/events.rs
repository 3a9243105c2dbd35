//! `kubectl boson events`: what Kubernetes reports about a deployment's objects.

use std::collections::BTreeSet;

use clap::Args;
use cluster::{Kind, Object, name};
use kubernetes_objects as objects;
use problem::Result;
use startup::Common;
use table::{Table, TableOptions};

use crate::target::Target;

/// One line for `--help`.
pub const ABOUT: &str = "Show the events of a deployment's objects";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the events of a deployment's runs, pods, StatefulSets and Jobs, the oldest first. Kubernetes keeps events for an \
        hour.",
    after_long_help = "Example:\n\x20\x20kubectl boson events nats"
)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    table: TableOptions,
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.target.find()?;
    let mut own = BTreeSet::new();
    for kind in [Kind::POD, Kind::STATEFUL_SET, Kind::JOB] {
        own.extend(deployment.list(kind)?.iter().map(|object| (kind.kind, name(object).to_owned())));
    }
    // Runs are events of the anchor.
    own.insert((Kind::CONFIG_MAP.kind, objects::anchor(&deployment.name)));
    let mut events = deployment.cluster.list(Kind::EVENT, "")?;
    let text = |value: &Object| value.as_str().unwrap_or_default().to_owned();
    events.retain(|event| {
        let about = &event["involvedObject"];
        own.iter().any(|(kind, name)| about["kind"] == *kind && about["name"] == name.as_str())
    });
    let when = |event: &Object| {
        let times = [&event["lastTimestamp"], &event["eventTime"], &event["metadata"]["creationTimestamp"]];
        times.into_iter().find_map(|time| time.as_str().map(str::to_owned)).unwrap_or_default()
    };
    events.sort_by_key(when);
    let mut table = Table::new("events", &["Time", "Type", "Reason", "Object", "Message"]);
    for event in &events {
        let about = &event["involvedObject"];
        let object = format!("{}/{}", text(&about["kind"]), text(&about["name"]));
        let message = text(&event["message"]).replace('\n', " ");
        table.push([when(event), text(&event["type"]), text(&event["reason"]), object, message]);
    }
    table.print(&options.table)?;
    Ok(0)
}
