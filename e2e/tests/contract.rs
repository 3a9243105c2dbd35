//! `docs/contract.md` matches the executables: its examples are their output, its tables have every field of
//! the examples and no other, its variables and paths are those of `--help`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use e2e::{here, run};
use handoff::bpm_info::BpmInfo;
use handoff::deployment::{ConsumedLink, Deployment, ExternalLink, ForeignPackage, SWITCHES, Script};
use handoff::hook_state::{self, HookState};
use handoff::output::{BPM_YAML, encode};
use handoff::process_state::{ProcessState, State, Stop};
use handoff::versions::Versions;
use pod_settings::GroupSettings;
use serde_yaml::Value;

#[path = "contract/modes.rs"]
mod modes;
#[path = "contract/recorded.rs"]
mod recorded;

const PAGE: &str = "../docs/contract.md";
/// The scenario of the page; `tests/scenarios.rs` compares its files with the executables' output.
const SCENARIO: &str = "scenarios/orders";
const GROUPS: [&str; 3] = ["count", "front", "store"];

fn page() -> String {
    fs::read_to_string(here().join(PAGE)).unwrap()
}

/// The text below a heading, up to the next of the same level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    rest.split("\n## ").next().unwrap()
}

fn snapshot(path: &str) -> String {
    let path = here().join(SCENARIO).join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A process that a signal killed, while the pod stopped or not.
fn state(stop: Option<Stop>) -> String {
    ProcessState {
        state: State::Crashed,
        pid: Some(17),
        exit_code: Some(137),
        signal: Some(9),
        stop,
        since: 1_700_000_000,
    }
    .encode()
}

/// A script that failed, for the first time.
fn hook(state: hook_state::State) -> String {
    let last_lines = vec!["no route to nats".to_owned()];
    HookState { state, exit_code: Some(3), attempt: 1, since: 1_700_000_000, last_lines }.encode()
}

/// The record of two runs, of which the second one changed one group.
fn versions() -> String {
    let groups = |nats: u32| [("nats".to_owned(), nats), ("smoke-tests".to_owned(), 1)].into();
    let flags =
        |version: &str| vec![format!("--image=nats=nats:{version}"), "--boson-image=boson/boson:0.1.0".to_owned()];
    let first = Versions::default().with(1, groups(1), flags("1"));
    let runs = first.and_then(|first| first.with(1, groups(2), flags("2")));
    runs.unwrap().encode().unwrap()
}

/// The content of the block below this line of the page.
fn example(introduction: &str) -> Option<String> {
    if let Some(rest) = introduction.strip_prefix("[e2e/") {
        return Some(fs::read_to_string(here().join(rest.split(']').next()?)).unwrap());
    }
    if introduction.starts_with("The `output.json` of KIND `bpm` for the group `count`") {
        return Some(encode(BPM_YAML, &snapshot("3-output/count/bpm.yaml")));
    }
    if introduction.ends_with("second run changed one group:") {
        return Some(versions());
    }
    if introduction.ends_with("The state of a script that failed:") {
        return Some(hook(hook_state::State::Failed));
    }
    introduction.ends_with("that was killed by a signal:").then(|| state(None))
}

#[test]
fn the_examples_match_the_output_of_the_executables() {
    let (after, filled) = e2e::fill(&page(), example);
    assert_eq!(filled, 9, "examples that are files or made by code");
    e2e::check(&here().join(PAGE), &after).unwrap();
}

/// The fields in a section's tables, with the path above each table, and the rest of their rows.
fn documented(text: &str) -> BTreeMap<String, &str> {
    let mut prefix = String::new();
    let mut fields = BTreeMap::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Below `") {
            prefix = format!("{}.", rest.split('`').next().unwrap());
        } else if line == "At the top:" {
            prefix.clear();
        } else if let Some(rest) = line.strip_prefix("| `") {
            let (name, rest) = rest.split_once('`').unwrap();
            let field = format!("{prefix}{name}");
            assert!(fields.insert(field.clone(), rest).is_none(), "{field} is documented twice");
        }
    }
    fields
}

/// The parts of a document that the tables do not spell out.
struct Shape {
    /// Maps with user-defined keys, the placeholder for such a key, and the key that is not one.
    named: &'static [(&'static str, &'static str, &'static str)],
    /// Values that are described elsewhere.
    closed: &'static [&'static str],
}

impl Shape {
    fn fields(&self, value: &Value, path: &str, found: &mut BTreeSet<String>) {
        if self.closed.contains(&path) {
            return;
        }
        match value {
            Value::Sequence(items) => items.iter().for_each(|item| self.fields(item, &format!("{path}[]"), found)),
            Value::Mapping(map) => {
                for (key, inner) in map {
                    let key = key.as_str().unwrap();
                    let named = self.named.iter().find(|(at, _, but)| *at == path && *but != key);
                    let key = named.map_or(key, |(_, placeholder, _)| placeholder);
                    let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                    self.fields(inner, &path, found);
                    found.insert(path);
                }
            }
            _ => {}
        }
    }
}

fn compare(heading: &str, shape: &Shape, path: &str, documents: &[Value]) {
    let mut found = BTreeSet::new();
    documents.iter().for_each(|document| shape.fields(document, path, &mut found));
    let in_tables: BTreeSet<String> = documented(section(&page(), heading)).into_keys().collect();
    let missing: Vec<_> = found.difference(&in_tables).collect();
    let invented: Vec<_> = in_tables.difference(&found).collect();
    assert!(missing.is_empty(), "{PAGE}, {heading}: these fields are written and not documented: {missing:#?}");
    assert!(invented.is_empty(), "{PAGE}, {heading}: these fields are documented and in no example: {invented:#?}");
}

fn documents(name: &str) -> Vec<Value> {
    let texts = GROUPS.map(|group| snapshot(&format!("3-output/{group}/{name}")));
    texts.iter().map(|text| serde_yaml::from_str(text).unwrap()).collect()
}

/// The places of all fields of a document, as JSON pointers, by the names that the tables have.
fn places(value: &serde_json::Value, shape: &Shape, path: &str, pointer: &str, found: &mut BTreeMap<String, String>) {
    if shape.closed.contains(&path) || shape.named.iter().any(|(at, _, _)| *at == path) {
        return;
    }
    if let Some(items) = value.as_array() {
        let inner = |(n, item)| places(item, shape, &format!("{path}[]"), &format!("{pointer}/{n}"), found);
        items.iter().enumerate().for_each(inner);
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let pointer = format!("{pointer}/{key}");
        places(inner, shape, &path, &pointer, found);
        found.entry(path).or_insert(pointer);
    }
}

/// Compares the fields that a reader does without with those that may be absent by the tables.
fn compare_absent(
    heading: &str,
    shape: &Shape,
    documents: &[Value],
    decode: impl Fn(&str) -> Result<(), problem::Problems>,
) {
    let page = page();
    let in_tables = documented(section(&page, heading));
    for document in documents {
        let document = serde_json::to_value(document).unwrap();
        decode(&document.to_string()).unwrap_or_else(|e| panic!("{heading}: {e}"));
        let mut found = BTreeMap::new();
        places(&document, shape, "", "", &mut found);
        for (field, pointer) in found {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let mut without = document.clone();
            without.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
            let cells = in_tables.get(&field).unwrap_or_else(|| panic!("{heading}: {field} is not documented"));
            let may_be_absent = cells.split(" | ").nth(1).unwrap().contains("absent");
            let is_accepted = decode(&without.to_string()).is_ok();
            assert_eq!(is_accepted, may_be_absent, "{PAGE}, {heading}: {field}; left: a reader accepts its absence");
        }
    }
}

const VERSIONS: Shape = Shape { named: &[("runs[].groups", "<group>", "")], closed: &[] };

#[test]
fn every_field_of_versions_yaml_is_documented() {
    let document = [serde_yaml::from_str(&versions()).unwrap()];
    compare_absent("`versions.yaml`", &VERSIONS, &document, |text| Versions::decode(text, "x").map(drop));
    compare("`versions.yaml`", &VERSIONS, "", &document);
}

fn spec() -> Value {
    serde_yaml::from_str(&snapshot("4-rendered/front-0/front/config/spec.yml")).unwrap()
}

#[test]
fn every_field_of_properties_yaml_is_documented() {
    let shape = Shape {
        named: &[
            ("instance_groups[].jobs[].properties", "<property>", "quarks"),
            ("instance_groups[].jobs[].properties.quarks.consumes", "<link>", ""),
            ("instance_groups[].jobs[].properties.quarks.consumes_types", "<link>", ""),
            ("instance_groups[].jobs[].properties.quarks.templates", "<template>", ""),
        ],
        closed: &[
            "instance_groups[].jobs[].properties.<property>",
            "instance_groups[].jobs[].properties.quarks.consumes.<link>",
            "instance_groups[].jobs[].properties.quarks.misspelt",
            "instance_groups[].jobs[].properties.quarks.bpm",
        ],
    };
    let mut examples = with_quarks("ig-resolved.yaml", "{packages: [p]}");
    // As of a group whose instances have not all the indexes that the formula gives.
    let instances = "instance_groups: [{properties: {quarks: {instances: [{index: 2, az_index: 1, ordinal: 1}]}}}]";
    examples.push(serde_yaml::from_str(instances).unwrap());
    compare("`properties.yaml`", &shape, "", &examples);
}

/// The documents of the scenario, and one with something that no job of it has.
fn with_quarks(name: &str, quarks: &str) -> Vec<Value> {
    let further = format!("instance_groups: [{{jobs: [{{properties: {{quarks: {quarks}}}}}]}}]");
    documents(name).into_iter().chain([serde_yaml::from_str(&further).unwrap()]).collect()
}

#[test]
fn every_field_of_bpm_yaml_is_documented() {
    let shape = Shape {
        named: &[("instance_groups[].jobs[].properties.quarks.bpm.processes[].env", "<variable>", "")],
        closed: &["instance_groups[].jobs[].properties.quarks.bpm.processes[].unsafe.unrestricted_volumes"],
    };
    compare("`bpm.yaml`", &shape, "", &with_quarks("bpm.yaml", "{for_windows: true}"));
    // The fields of a process are those of `bpm.yml`, of which nearly all may be absent.
    let shape = Shape { closed: &["instance_groups[].jobs[].properties.quarks.bpm.processes"], named: &[] };
    compare_absent("`bpm.yaml`", &shape, &documents("bpm.yaml"), |text| BpmInfo::decode(text, "x").map(drop));
}

/// The scenario's document, and what the scenario does not have: tags, a zone of a cloud config, a package of another release, a setting
/// of the kernel, a link of another deployment.
fn deployment_with_every_field() -> Deployment {
    let mut further = Deployment::decode(&snapshot("3-output/deployment.yaml"), "deployment.yaml").unwrap();
    let group = &mut further.instance_groups[0];
    group.tags.insert("team".to_owned(), "a".to_owned());
    group.azs[0].zone = Some("eu-central-1a".to_owned());
    let package = ForeignPackage { name: "jq".to_owned(), release: "tools".to_owned() };
    group.jobs[0].foreign_packages.push(package);
    group.jobs[0].sysctls.push("kernel.shmmax".to_owned());
    let [deployment, name, service] = ["shared", "db", "postgres"].map(str::to_owned);
    let external = Some(ExternalLink { deployment, name: name.clone(), service: Some(service) });
    let link = ConsumedLink { name, link_type: "sql".to_owned(), instance_group: None, external };
    group.jobs[0].consumes.push(link);
    further
}

#[test]
fn every_field_of_deployment_yaml_is_documented() {
    let shape = Shape {
        named: &[("instance_groups[].env.values", "<switch>", ""), ("instance_groups[].env.settings", "<setting>", "")],
        closed: &[
            "instance_groups[].env.settings.<setting>",
            "instance_groups[].tags",
            "instance_groups[].jobs[].quarks.run",
            "instance_groups[].jobs[].quarks.resources",
            "instance_groups[].jobs[].quarks.active_passive_probes",
            "instance_groups[].jobs[].quarks.envs[].value_from",
        ],
    };
    let (text, further) = (snapshot("3-output/deployment.yaml"), deployment_with_every_field());
    let documents = [text, further.encode().unwrap()].map(|text| serde_yaml::from_str(&text).unwrap());
    compare("`deployment.yaml`", &shape, "", &documents);
    compare_absent("`deployment.yaml`", &shape, &documents, |text| Deployment::decode(text, "x").map(drop));
}

#[test]
fn every_field_of_a_process_state_is_documented() {
    let (heading, shape) = ("The state of a process", Shape { named: &[], closed: &[] });
    let document = [serde_yaml::from_str(&state(Some(Stop::Drained))).unwrap()];
    compare(heading, &shape, "", &document);
    compare_absent(heading, &shape, &document, |text| ProcessState::decode(text, "x").map(drop));
}

#[test]
fn every_field_of_a_script_state_is_documented() {
    let (heading, shape) = ("The state of a script", Shape { named: &[], closed: &[] });
    let document = [serde_yaml::from_str(&hook(hook_state::State::Failed)).unwrap()];
    compare(heading, &shape, "", &document);
    compare_absent(heading, &shape, &document, |text| HookState::decode(text, "x").map(drop));
}

/// The names in backquotes in a field's row that `is_one` accepts.
fn names_of(heading: &str, field: &str, is_one: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let page = page();
    let fields = documented(section(&page, heading));
    quoted(fields[field]).filter(|name| is_one(name)).map(str::to_owned).collect()
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn all_names_that_a_field_can_have_are_listed() {
    let is_state =
        |name: &str| ProcessState::decode(&state(None).replace("\"crashed\"", &format!("\"{name}\"")), "x").is_ok();
    let states = set(["crashed", "exited", "running", "starting", "stopped", "stopping"]);
    assert_eq!(names_of("The state of a process", "state", is_state), states);
    let is_stop = |name: &str| {
        let text = state(Some(Stop::Drained));
        ProcessState::decode(&text.replace("\"drained\"", &format!("\"{name}\"")), "x").is_ok()
    };
    assert_eq!(names_of("The state of a process", "stop", is_stop), set(["asked", "drained", "ended", "pre-stopped"]));
    let is_hook = |name: &str| {
        let text = hook(hook_state::State::Failed);
        HookState::decode(&text.replace("\"failed\"", &format!("\"{name}\"")), "x").is_ok()
    };
    let hooks = set(["failed", "running", "succeeded", "waiting"]);
    assert_eq!(names_of("The state of a script", "state", is_hook), hooks);
    let in_deployment = |field: &str| names_of("`deployment.yaml`", field, |_| true);
    assert_eq!(in_deployment("instance_groups[].jobs[].scripts"), set(Script::ALL.map(Script::file_name)));
    assert_eq!(in_deployment("instance_groups[].env.values.<switch>"), set(SWITCHES));
    let without_effect = GroupSettings::WITHOUT_EFFECT.map(|(name, _)| name);
    let settings = GroupSettings::KEYS.into_iter().filter(|name| !without_effect.contains(name));
    assert_eq!(in_deployment("instance_groups[].env.settings.<setting>"), set(settings));
}

#[test]
fn versions_are_those_of_the_documents() {
    let page = page();
    let text = section(&page, "Versions").split_whitespace().collect::<Vec<_>>().join(" ");
    let version = |document: &str| {
        let value: Value = serde_yaml::from_str(document).unwrap();
        value["version"].as_u64().unwrap()
    };
    let [bpm, deployment, properties] = ["store/bpm.yaml", "deployment.yaml", "store/ig-resolved.yaml"]
        .map(|name| snapshot(&format!("3-output/{name}")));
    let numbered = [("bpm.yaml", &bpm), ("deployment.yaml", &deployment), ("versions.yaml", &versions())].map(
        |(name, document)| {
            format!("`{name}` {} {}", if name == "bpm.yaml" { "has version" } else { "version" }, version(document))
        },
    );
    let sentence = format!("{}, the others version 1.", numbered.join(", "));
    assert!(text.contains(&sentence), "{PAGE}: {sentence}");
    for document in [&properties, &state(None), &hook(hook_state::State::Failed)] {
        assert_eq!(version(document), 1);
    }
    let other = BpmInfo::decode(&bpm.replacen("version: 2", "version: 1", 1), "x").unwrap_err().to_string();
    let message = text.split("names both: `").nth(1).unwrap().split('`').next().unwrap();
    assert!(other.starts_with(&format!("error: {message}\n")), "{other}");
}

#[test]
fn strings_that_only_yaml_1_1_reads_otherwise_are_not_quoted() {
    let mut info = BpmInfo::decode(&snapshot("3-output/store/bpm.yaml"), "x").unwrap();
    let process = &mut info.instance_groups[0].jobs[0].properties.quarks.bpm.as_mut().unwrap().processes[0];
    process.args = ["yes", "1:30", "5433"].map(str::to_owned).to_vec();
    let text = info.encode().unwrap();
    for line in ["- yes\n", "- 1:30\n", "- '5433'\n"] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn every_key_of_spec_is_documented() {
    let shape = Shape {
        named: &[("networks", "<network>", ""), ("properties", "<property>", ""), ("links", "<link>", "")],
        closed: &["properties.<property>", "links.<link>"],
    };
    compare("`spec`", &shape, "", &[spec()]);
}

#[test]
fn every_key_of_a_link_is_documented() {
    let shape = Shape { named: &[], closed: &["<link>.properties"] };
    compare("Links", &shape, "<link>", &[spec()["links"]["database"].clone()]);
}

/// The output of `--help`, in one line.
fn help(verb: &str) -> String {
    let outcome = run(&[verb, "--help"], &[], &here());
    assert_eq!(outcome.code, Some(0), "{verb} --help: {}", outcome.stderr);
    outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rows of a section's table, as their cells.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// The texts in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_variable_of_a_stage_is_in_the_table_of_stages() {
    let page = page();
    let mut seen = BTreeSet::new();
    for row in rows(section(&page, "Stages")) {
        let verb = row[0].split([' ', ',']).next().unwrap();
        if !seen.insert(verb) {
            continue;
        }
        let listed: BTreeSet<&str> = quoted(row.get(3).unwrap_or(&"")).collect();
        let help = help(verb);
        let known = help.split("[env: ").skip(1).filter_map(|part| part.split('=').next());
        let known: BTreeSet<&str> = known.filter(|name| !name.starts_with("BOSON_")).collect();
        assert_eq!(listed, known, "{verb}; left: {PAGE}, right: --help");
    }
    assert_eq!(seen.len(), 7, "stages");
}

#[test]
fn every_default_path_of_a_stage_is_in_the_table_of_paths() {
    let page = page();
    let rows = rows(section(&page, "Paths"));
    let known: Vec<&str> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    let mut defaults = 0;
    for verb in ["copy-jobs", "plan", "render-jobs"] {
        for default in help(verb).split("[default: /var").skip(1).filter_map(|rest| rest.split(']').next()) {
            let default = format!("/var{}", default.replace("RELEASE", "<release>"));
            assert!(known.iter().any(|path| path.starts_with(&default)), "{verb}: {default} is not in {PAGE}");
            defaults += 1;
        }
    }
    assert!(defaults >= 6, "--help shows {defaults} default paths");
}
