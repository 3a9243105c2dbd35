//! No document, however wrong, stops the readers: they give a result or problems.

use manifest_model::JobSpec;
use manifest_model::manifest::Manifest;
use manifest_model::property::{self, Found};
use testkit::random::Random;
use testkit::values::{same, value};
use value::{Map, Value};

const ROUNDS: usize = 20_000;

const MANIFEST: &[&str] = &[
    "name",
    "releases",
    "instance_groups",
    "jobs",
    "release",
    "properties",
    "consumes",
    "provides",
    "instances",
    "azs",
    "networks",
    "lifecycle",
    "addons",
    "include",
    "exclude",
    "stemcells",
    "alias",
    "os",
    "version",
    "env",
    "features",
    "instances_per_az",
    "custom_provider_definitions",
    "persistent_disk",
    "default",
    "update",
    "stemcell",
    "z1",
    "service",
];

const SPEC: &[&str] = &[
    "name",
    "templates",
    "packages",
    "properties",
    "provides",
    "consumes",
    "type",
    "optional",
    "default",
    "description",
    "j",
    "a.b",
    "a..b",
    "a",
    "bin/run",
];

/// A Hash, so that more than the outermost check is reached.
fn document(random: &mut Random, keys: &[&str]) -> Value {
    loop {
        let document = value(random, keys, 6);
        if matches!(document, Value::Map(_)) {
            return document;
        }
    }
}

#[test]
fn manifests() {
    let mut random = Random::new(11);
    let mut read = 0;
    for _ in 0..ROUNDS {
        if let Ok(mut manifest) = Manifest::parse(&document(&mut random, MANIFEST), "m.yml") {
            read += 1;
            let _ = manifest.place_addons();
        }
    }
    assert!(read > 0, "every document was refused: the test tests nothing");
}

#[test]
fn job_specs() {
    let mut random = Random::new(12);
    for _ in 0..ROUNDS {
        let _ = JobSpec::parse(&document(&mut random, SPEC), "j", "spec");
    }
}

#[test]
fn properties_hold_what_is_set_and_lose_nothing_by_sorting() {
    let mut random = Random::new(13);
    for _ in 0..ROUNDS {
        let tree = value(&mut random, SPEC, 4);
        let name = *random.pick(SPEC);
        let _ = property::lookup(&tree, name);
        if let Ok(once) = property::json_round_trip(&tree) {
            let twice = property::json_round_trip(&once).expect("what JSON gave, it takes");
            assert!(same(&once, &twice));
        }
        if let Ok(sorted) = property::sort(&tree) {
            let again = property::sort(&sorted).expect("what is sorted can be sorted");
            assert!(same(&sorted, &again), "{tree:?}");
        }
        let mut map = tree.as_map().cloned().unwrap_or_default();
        property::set(&mut map, name, Value::Int(7));
        let root = Value::Map(std::rc::Rc::new(Map::clone(&map)));
        assert_eq!(property::lookup(&root, name), Found::Value(&Value::Int(7)), "{name}");
    }
}
