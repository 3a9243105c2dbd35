//! `properties.yaml`: a resolved instance group, in the structure of a deployment manifest with that one group.
//!
//! What was resolved for a job lies under its `properties.quarks`, everything else of `properties` is what its
//! templates see. As a document it is written and read by Psych, so this module speaks [`Value`].

mod node;

use std::rc::Rc;

use bpm::ProcessConfig;
use instance_group::{Instance, JobRelease, Link, Resolved, ResolvedJob};
use manifest_model::identity::{self, Domain, Slot};
use manifest_model::manifest::Network;
use problem::Class;
use value::{Map, Value};

use crate::document::{Format, NOT_A_NUMBER, VERSION_KEY};
use crate::process;

use node::Node;

const FORMAT: Format = Format { name: "properties.yaml", version: 1, class: Class::Input };

/// The key of a job's properties under which boson's own facts lie.
pub const QUARKS: &str = "quarks";

/// What is below a job's `quarks`.
const JOB_QUARKS: [&str; 11] = [
    "release",
    "misspelt",
    "consumes",
    "consumes_types",
    "provides",
    "instances",
    "spec_digest",
    "templates",
    "packages",
    "bpm_overlay",
    "bpm",
];

/// The document of a resolved group.
pub fn encode(group: &Resolved) -> Value {
    let mut entry = Map::default();
    entry.set("name", Value::str(group.name.clone()));
    entry.set("lifecycle", Value::str(group.lifecycle.clone()));
    entry.set("instances", Value::Int(i64::from(group.instances)));
    entry.set("azs", strings(&group.azs));
    entry.set("networks", Value::array(group.networks.iter().map(encode_network)));
    entry.set("persistent_disk", Value::Int(i64::from(group.persistent_disk)));
    entry.set("jobs", Value::array(group.jobs.iter().map(encode_job)));
    let mut quarks = Map::default();
    quarks.set("replicas", Value::Int(i64::from(group.replicas)));
    quarks.set("namespace", Value::str(group.domain.namespace.clone()));
    quarks.set("service_domain", Value::str(group.domain.service_domain.clone()));
    if !group.follows_formula() {
        quarks.set("instances", Value::array(group.slots.iter().map(encode_slot)));
    }
    entry.set("properties", Value::map([(QUARKS, Value::Map(Rc::new(quarks)))]));
    Value::map([
        (VERSION_KEY, Value::Int(i64::from(FORMAT.version))),
        ("name", Value::str(group.domain.deployment.clone())),
        ("instance_groups", Value::array([Value::Map(Rc::new(entry))])),
    ])
}

fn encode_slot(slot: &Slot) -> Value {
    let numbers = [("index", slot.index), ("az_index", slot.az_index), ("ordinal", slot.ordinal)];
    Value::map(numbers.map(|(key, number)| (key, Value::Int(i64::from(number)))))
}

fn strings(items: &[String]) -> Value {
    Value::array(items.iter().cloned().map(Value::str))
}

fn encode_network(network: &Network) -> Value {
    let default = network.default.iter().cloned().map(Value::str);
    Value::map([("name", Value::str(network.name.clone())), ("default", Value::array(default))])
}

fn encode_job(job: &ResolvedJob) -> Value {
    let mut consumes = Map::default();
    let mut types = Map::default();
    for link in &job.links {
        consumes.set(&link.name, link.content.clone());
        types.set(&link.name, Value::str(link.link_type.clone()));
    }
    let provides = job.provides.iter().map(|(name, link_type)| {
        Value::map([("name", Value::str(name.clone())), ("type", Value::str(link_type.clone()))])
    });
    let mut quarks = Map::default();
    quarks.set("release", Value::map([("version", Value::str(job.release.version.clone()))]));
    if !job.misspelt.is_empty() {
        let misspelt = job.misspelt.iter().map(|(name, given)| (name.as_str(), Value::str(given.clone())));
        quarks.set("misspelt", Value::map(misspelt));
    }
    quarks.set("consumes", Value::Map(Rc::new(consumes)));
    quarks.set("consumes_types", Value::Map(Rc::new(types)));
    quarks.set("provides", Value::array(provides));
    quarks.set("instances", Value::array(job.instances.iter().map(Instance::to_value)));
    let templates =
        job.templates.iter().map(|(source, destination)| (source.as_str(), Value::str(destination.clone())));
    quarks.set("spec_digest", Value::str(job.spec_digest.clone()));
    quarks.set("templates", Value::map(templates));
    if !job.packages.is_empty() {
        quarks.set("packages", strings(&job.packages));
    }
    if let Some(overlay) = &job.bpm_overlay {
        quarks.set("bpm_overlay", Value::str(overlay.clone()));
    }
    let processes = |processes: &Vec<_>| Value::array(processes.iter().map(process::encode));
    let bpm = job.bpm.as_ref().map_or(Value::Nil, |bpm| Value::map([("processes", processes(bpm))]));
    quarks.set("bpm", bpm);
    let mut properties = job.properties.as_map().cloned().unwrap_or_default();
    properties.set(QUARKS, Value::Map(Rc::new(quarks)));
    Value::map([
        ("name", Value::str(job.name.clone())),
        ("release", Value::str(job.release.name.clone())),
        ("properties", Value::Map(Rc::new(properties))),
    ])
}

/// Reads the document; `file` is named in problems.
///
/// # Errors
/// Another version or none, and a document that `plan` did not write; the place is the node that is missing, unknown or
/// wrong.
pub fn decode(value: &Value, file: &str) -> problem::Result<Vec<Resolved>> {
    let root = Node { value, path: Vec::new(), file };
    let version = value.get(VERSION_KEY).map(|version| version.as_int().map(|n| n.to_string()));
    FORMAT.check_version(version.map(|n| n.unwrap_or_else(|| NOT_A_NUMBER.to_owned())).as_deref(), file)?;
    root.only(&[VERSION_KEY, "name", "instance_groups"])?;
    let deployment = root.text("name")?;
    root.items("instance_groups")?.iter().map(|group| decode_group(group, &deployment)).collect()
}

fn decode_group(group: &Node, deployment: &str) -> problem::Result<Resolved> {
    group.only(&["name", "lifecycle", "instances", "azs", "networks", "persistent_disk", "jobs", "properties"])?;
    let properties = group.child("properties")?;
    properties.only(&[QUARKS])?;
    let quarks = properties.child(QUARKS)?;
    quarks.only(&["replicas", "namespace", "service_domain", "instances"])?;
    let network = |n: &Node| {
        n.only(&["name", "default"])?;
        Ok(Network { name: n.text("name")?, default: n.texts("default")? })
    };
    let (instances, azs) = (group.number("instances")?, group.texts("azs")?);
    let slots = match quarks.value.get("instances") {
        None => identity::slots(instances, &azs, &[]),
        Some(_) => {
            quarks.items("instances")?.iter().map(|slot| decode_slot(slot, &azs)).collect::<problem::Result<_>>()?
        }
    };
    Ok(Resolved {
        domain: Domain {
            deployment: deployment.to_owned(),
            namespace: quarks.text("namespace")?,
            service_domain: quarks.text("service_domain")?,
        },
        name: group.text("name")?,
        lifecycle: group.text("lifecycle")?,
        instances,
        replicas: quarks.number("replicas")?,
        azs,
        slots,
        networks: group.items("networks")?.iter().map(network).collect::<problem::Result<_>>()?,
        persistent_disk: group.number("persistent_disk")?,
        jobs: group.items("jobs")?.iter().map(decode_job).collect::<problem::Result<_>>()?,
    })
}

fn decode_slot(slot: &Node, azs: &[String]) -> problem::Result<Slot> {
    slot.only(&["index", "az_index", "ordinal"])?;
    let az_index = slot.number("az_index")?;
    let az = usize::try_from(az_index).ok().and_then(|number| azs.get(number.checked_sub(1)?)).cloned();
    Ok(Slot { az, az_index, ordinal: slot.number("ordinal")?, index: slot.number("index")? })
}

fn decode_job(job: &Node) -> problem::Result<ResolvedJob> {
    job.only(&["name", "release", "properties"])?;
    let properties = job.child("properties")?;
    let quarks = properties.child(QUARKS)?;
    quarks.only(&JOB_QUARKS)?;
    let release = quarks.child("release")?;
    release.only(&["version"])?;
    let types = quarks.child("consumes_types")?;
    let mut links = Vec::new();
    for (name, content) in quarks.child("consumes")?.value.as_map().map(Map::iter).into_iter().flatten() {
        let name = name.scalar_to_s().unwrap_or_default();
        links.push(Link { link_type: types.text(&name)?, name, content: content.clone(), external: None });
    }
    let own = properties.value.as_map().map(Map::iter).into_iter().flatten();
    let own = own.filter(|(key, _)| key.as_str() != Some(QUARKS)).map(|(k, v)| (k.clone(), v.clone()));
    Ok(ResolvedJob {
        name: job.text("name")?,
        release: JobRelease { name: job.text("release")?, version: release.text("version")? },
        properties: Value::Map(Rc::new(Map::from_unique(own.collect()))),
        misspelt: match quarks.value.get("misspelt") {
            None => Vec::new(),
            Some(_) => quarks.child("misspelt")?.text_pairs()?,
        },
        links,
        provides: quarks
            .items("provides")?
            .iter()
            .map(|link| {
                link.only(&["name", "type"])?;
                Ok((link.text("name")?, link.text("type")?))
            })
            .collect::<problem::Result<_>>()?,
        instances: quarks.items("instances")?.iter().map(decode_instance).collect::<problem::Result<_>>()?,
        spec_digest: quarks.text("spec_digest")?,
        templates: quarks.child("templates")?.text_pairs()?,
        packages: quarks.value.get("packages").map_or(Ok(Vec::new()), |_| quarks.texts("packages"))?,
        bpm_overlay: quarks.value.get("bpm_overlay").map(|_| quarks.text("bpm_overlay")).transpose()?,
        bpm: decode_bpm(&quarks.child("bpm")?)?,
    })
}

fn decode_bpm(bpm: &Node) -> problem::Result<Option<Vec<ProcessConfig>>> {
    if bpm.value.is_nil() {
        return Ok(None);
    }
    bpm.only(&["processes"])?;
    let decode = |process: &Node| {
        process::decode(process.value).ok_or_else(|| process.problem("is not a process of a bpm.yml").into())
    };
    bpm.items("processes")?.iter().map(decode).collect::<problem::Result<_>>().map(Some)
}

fn decode_instance(instance: &Node) -> problem::Result<Instance> {
    instance.only(&["name", "index", "id", "az", "address", "bootstrap"])?;
    let az = instance.child("az")?;
    Ok(Instance {
        name: instance.text("name")?,
        index: instance.number("index")?,
        id: instance.text("id")?,
        az: if az.value.is_nil() { None } else { Some(instance.text("az")?) },
        address: instance.text("address")?,
        bootstrap: instance.child("bootstrap")?.value.is_truthy(),
    })
}

#[cfg(test)]
mod tests {
    use problem::{Problem, Step};

    use super::*;

    fn sample() -> Resolved {
        let domain = Domain { deployment: "d".into(), namespace: "n".into(), service_domain: "s".into() };
        let instance = Instance {
            name: "ig-j".into(),
            index: 0,
            id: "ig-0-j".into(),
            az: Some("z1".into()),
            address: "d-ig-0.n.s".into(),
            bootstrap: true,
        };
        let job = ResolvedJob {
            name: "j".into(),
            release: JobRelease { name: "r".into(), version: "1".into() },
            properties: Value::map([("a", Value::Symbol("b".into()))]),
            misspelt: vec![("port".into(), "prot".into())],
            links: vec![Link {
                external: None,
                name: "l".into(),
                link_type: "t".into(),
                content: Value::map([("instances", Value::array([]))]),
            }],
            provides: vec![("l".into(), "t".into())],
            instances: vec![instance],
            spec_digest: "0a".into(),
            bpm_overlay: Some("{}".into()),
            templates: vec![("a.erb".into(), "config/a".into())],
            packages: vec!["p".into()],
            bpm: Some(vec![ProcessConfig { name: "j".into(), executable: "/x".into(), ..ProcessConfig::default() }]),
        };
        Resolved {
            domain,
            name: "ig".into(),
            lifecycle: "service".into(),
            instances: 1,
            replicas: 1,
            azs: vec!["z1".into()],
            slots: vec![Slot { az: Some("z1".into()), az_index: 1, ordinal: 0, index: 0 }],
            networks: vec![Network { name: "default".into(), default: vec![] }],
            persistent_disk: 0,
            jobs: vec![job],
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(decode(&encode(&sample()), "p").unwrap(), [sample()]);
    }

    #[test]
    fn indexes_are_written_where_the_formula_does_not_give_them() {
        let instances = |group: &Resolved| {
            encode(group).get("instance_groups").map(|groups| format!("{groups:?}").contains("ordinal"))
        };
        assert_eq!(instances(&sample()), Some(false));
        let mut scaled = sample();
        scaled.slots[0].index = 3;
        assert_eq!(instances(&scaled), Some(true));
        assert_eq!((scaled.index(1, 9, 0), scaled.index(1, 9, 1), scaled.index(2, 9, 0)), (Some(3), None, None));
        assert_eq!(decode(&encode(&scaled), "p").unwrap(), [scaled]);
    }

    #[test]
    fn a_manifest_is_no_resolved_group() {
        let manifest = Value::map([("name", Value::str("d")), ("instance_groups", Value::array([Value::map([])]))]);
        let error = decode(&manifest, "p").unwrap_err().to_string();
        assert!(
            error.starts_with("error: properties.yaml has no version, and this program reads version 1\n"),
            "{error}"
        );
    }

    /// The document with another value at a path of keys and indexes.
    fn with(value: &Value, path: &[Step], new: &Value) -> Value {
        let Some((first, rest)) = path.split_first() else { return new.clone() };
        match (value, first) {
            (Value::Array(items), Step::Index(n)) => {
                let item = |(i, item)| if i == *n { with(item, rest, new) } else { item.clone() };
                Value::array(items.iter().enumerate().map(item))
            }
            (Value::Map(map), Step::Key(key)) => {
                let mut map = Map::clone(map);
                let inner = map.get(key).cloned().unwrap_or(Value::Nil);
                map.set(key, with(&inner, rest, new));
                Value::Map(Rc::new(map))
            }
            _ => panic!("no {first:?} in {value:?}"),
        }
    }

    fn refused(path: &[Step], new: &Value) -> Problem {
        decode(&with(&encode(&sample()), path, new), "p").unwrap_err().into_vec().remove(0)
    }

    #[test]
    fn other_versions_are_refused() {
        let message = |version: Value| refused(&["version".into()], &version).message;
        assert_eq!(message(Value::Int(2)), "properties.yaml has version 2, and this program reads version 1");
        let text = message(Value::str("hunter2"));
        assert_eq!(text, "properties.yaml has version (not a number), and this program reads version 1");
    }

    /// The document without a field.
    fn lacking(value: &Value, path: &[Step], field: &str) -> Value {
        match (value, path.split_first()) {
            (Value::Map(map), None) => {
                let pairs = map.iter().filter(|(key, _)| key.as_str() != Some(field));
                Value::Map(Rc::new(Map::from_unique(pairs.map(|(k, v)| (k.clone(), v.clone())).collect())))
            }
            (Value::Map(map), Some((Step::Key(key), rest))) => {
                let inner = lacking(map.get(key).unwrap_or(&Value::Nil), rest, field);
                with(value, std::slice::from_ref(&path[0]), &inner)
            }
            (Value::Array(items), Some((Step::Index(n), rest))) => {
                with(value, std::slice::from_ref(&path[0]), &lacking(&items[*n], rest, field))
            }
            _ => panic!("no {path:?} in {value:?}"),
        }
    }

    /// All fields of the document are in docs/contract.md, which says that these two may be absent.
    #[test]
    fn missing_fields_are_refused() {
        let document = encode(&sample());
        let group: [Step; 2] = ["instance_groups".into(), 0.into()];
        let job = [&group[..], &["jobs".into(), 0.into()]].concat();
        let quarks = [&job[..], &["properties".into(), QUARKS.into()]].concat();
        let places: [&[Step]; 9] = [
            &[],
            &group,
            &[&group[..], &["networks".into(), 0.into()]].concat(),
            &[&group[..], &["properties".into(), QUARKS.into()]].concat(),
            &job,
            &quarks,
            &[&quarks[..], &["release".into()]].concat(),
            &[&quarks[..], &["provides".into(), 0.into()]].concat(),
            &[&quarks[..], &["instances".into(), 0.into()]].concat(),
        ];
        for path in places {
            let node = path.iter().fold(&document, |node, step| match (step, node) {
                (Step::Index(n), Value::Array(items)) => &items[*n],
                (Step::Key(key), node) => node.get(key).unwrap(),
                _ => panic!("no {step:?}"),
            });
            let fields: Vec<String> = node.as_map().unwrap().iter().filter_map(|(key, _)| key.scalar_to_s()).collect();
            for field in fields {
                let is_optional = path == quarks && ["misspelt", "packages", "bpm_overlay"].contains(&field.as_str());
                let decoded = decode(&lacking(&document, path, &field), "p");
                assert_eq!(decoded.is_ok(), is_optional, "{path:?} {field}");
            }
        }
    }

    #[test]
    fn unknown_fields_are_refused_wherever_the_user_names_none() {
        let group: [Step; 2] = ["instance_groups".into(), 0.into()];
        let job = [&group[..], &["jobs".into(), 0.into()]].concat();
        let quarks = [&job[..], &["properties".into(), QUARKS.into()]].concat();
        let below: [&[Step]; 10] = [
            &[],
            &group,
            &[&group[..], &["networks".into(), 0.into()]].concat(),
            &[&group[..], &["properties".into()]].concat(),
            &[&group[..], &["properties".into(), QUARKS.into()]].concat(),
            &job,
            &quarks,
            &[&quarks[..], &["release".into()]].concat(),
            &[&quarks[..], &["provides".into(), 0.into()]].concat(),
            &[&quarks[..], &["instances".into(), 0.into()]].concat(),
        ];
        for path in below {
            let path = [path, &["surprise".into()]].concat();
            let problem = refused(&path, &Value::str("hunter2"));
            assert_eq!(problem.message, "properties.yaml: 'surprise' is unknown");
            assert_eq!(problem.place.unwrap().path, path);
        }
        let process = [&quarks[..], &["bpm".into(), "processes".into(), 0.into()]].concat();
        let problem = refused(&[&process[..], &["surprise".into()]].concat(), &Value::str("hunter2"));
        assert_eq!(problem.message, "properties.yaml: element 0 is not a process of a bpm.yml");
        assert_eq!(problem.place.unwrap().path, process);
        let property = [&job[..], &["properties".into(), "surprise".into()]].concat();
        let group = decode(&with(&encode(&sample()), &property, &Value::Int(1)), "p").unwrap().remove(0);
        assert_eq!(group.jobs[0].properties.get("surprise"), Some(&Value::Int(1)));
    }
}
