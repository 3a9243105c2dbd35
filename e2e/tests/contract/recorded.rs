//! Documents that earlier versions of boson wrote are read by this one: `docs/stability.md` promises it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use e2e::{here, run};
use handoff::bpm_info::BpmInfo;
use handoff::deployment::Deployment;
use handoff::hook_state::{self, HookState};
use handoff::identities::Identities;
use handoff::links::{SharedLink, SharedLinks};
use handoff::packages::Packages;
use handoff::process_state::{ProcessState, Stop};
use handoff::versions::Versions;
use problem::Result;

/// One directory for each minor version.
const RECORDED: &str = "recorded";

/// Reads the document at a path as boson does.
type Reader = fn(&Path) -> Result<()>;

/// The documents, and how each is read. `state.json` of `boson up` is read by a test of `local-state`.
const DOCUMENTS: [(&str, Reader); 9] = [
    ("bpm.yaml", |path| BpmInfo::decode(&text(path), "recorded").map(drop)),
    ("deployment.yaml", |path| Deployment::decode(&text(path), "recorded").map(drop)),
    ("hook-state.json", |path| HookState::decode(&text(path), "recorded").map(drop)),
    ("identities.json", |path| Identities::decode(&text(path), "recorded").map(drop)),
    ("links.json", |path| SharedLinks::decode(&text(path), "recorded").map(drop)),
    ("packages.json", |path| Packages::decode(&text(path), "recorded").map(drop)),
    ("process-state.json", |path| ProcessState::decode(&text(path), "recorded").map(drop)),
    ("properties.yaml", render),
    ("versions.yaml", |path| Versions::decode(&text(path), "recorded").map(drop)),
];

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Renders the instance `front/0` of the scenario with a document of `properties.yaml`.
fn render(path: &Path) -> Result<()> {
    let root = tempfile::tempdir().unwrap();
    let jobs = root.path().join("var/vcap/all-releases/jobs-src");
    fs::create_dir_all(&jobs).unwrap();
    std::os::unix::fs::symlink(here().join(super::SCENARIO).join("2-releases/orders/jobs"), jobs.join("orders"))
        .unwrap();
    let variables = [
        ("BOSON_ROOT", root.path().to_str().unwrap()),
        ("BOSH_MANIFEST_PATH", path.to_str().unwrap()),
        ("INSTANCE_GROUP_NAME", "front"),
        ("POD_ORDINAL", "0"),
    ];
    let outcome = run(&["render-jobs"], &variables, &here());
    assert_eq!(outcome.code, Some(0), "{}: {}", path.display(), outcome.stderr);
    Ok(())
}

/// What this version writes, with every field that is rarely there.
fn documents() -> [String; 9] {
    let deployment = super::deployment_with_every_field();
    let link = SharedLink {
        name: "db".to_owned(),
        link_type: "sql".to_owned(),
        content: serde_json::json!({"address": "db.test", "properties": {"port": 5432}}),
    };
    [
        super::snapshot("3-output/front/bpm.yaml"),
        deployment.encode().unwrap(),
        super::hook(hook_state::State::Failed),
        Identities::default().after(&deployment).encode(),
        SharedLinks { links: vec![link] }.encode(),
        Packages { packages: ["nats-server".to_owned()].into() }.encode(),
        super::state(Some(Stop::Drained)),
        super::snapshot("3-output/front/ig-resolved.yaml"),
        super::versions(),
    ]
}

/// The version of this program without its patch number.
fn minor_version() -> String {
    env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0.to_owned()
}

fn recordings() -> Vec<PathBuf> {
    fs::read_dir(here().join(RECORDED)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn documents_of_earlier_versions_are_read() {
    let own = here().join(RECORDED).join(minor_version());
    if std::env::var_os("BOSON_UPDATE").is_some() {
        fs::create_dir_all(&own).unwrap();
        // What is recorded stays as it is.
        for ((name, _), text) in DOCUMENTS.iter().zip(documents()).filter(|((name, _), _)| !own.join(name).exists()) {
            fs::write(own.join(name), text).unwrap();
        }
    }
    assert!(own.is_dir(), "no documents of this version: type `BOSON_UPDATE=1 cargo test -p e2e --test contract`");
    for directory in recordings() {
        for (name, read) in DOCUMENTS {
            let path = directory.join(name);
            read(&path).unwrap_or_else(|problems| panic!("{}: {problems}", path.display()));
        }
    }
}

#[test]
fn every_document_of_the_contract_is_recorded() {
    let recorded: BTreeSet<&str> = DOCUMENTS.iter().map(|(name, _)| *name).collect();
    let page = super::page();
    let listed =
        super::section(&page, "Versions").split("Every document on this page has a `version` at its top: ").nth(1);
    let listed = super::quoted(listed.unwrap().split('(').next().unwrap()).map(|name| match name {
        ".packages" => "packages.json",
        other => other,
    });
    // The states of processes and scripts have no file names of their own there.
    let states = ["hook-state.json", "process-state.json"];
    assert_eq!(recorded, listed.chain(states).collect());
}
