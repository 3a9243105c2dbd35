//! The instance: its Secret, which is the parent of an ApplySet and holds generated values.
//!
//! ApplySets are Kubernetes' convention for the objects that are applied together (KEP 3659): the parent has an id, the members
//! have it in a label, and the parent's annotations name the kinds and namespaces in which members can be.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cluster::{Apply, Cluster, Kind, Object, label};
use dialect_kubernetes_templates::UserValues;
use problem::{Place, Problem, Result, code};
use serde_json::json;
use sha2::{Digest, Sha256};

/// The field manager of all instances.
pub(crate) const MANAGER: &str = "boson-template";
/// The label of members: the id of their ApplySet.
pub(crate) const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// The label of parents.
pub(crate) const ID: &str = "applyset.kubernetes.io/id";
const TOOLING: &str = "applyset.kubernetes.io/tooling";
const GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
/// What the version stands behind in [`TOOLING`].
const TOOL: &str = "boson/";
/// How often a Secret that changes at the same time is read again.
const TRIES: usize = 10;
const HOW: Apply<'static> = Apply { manager: MANAGER, force: true, dry_run: false };

/// The kinds and namespaces in which members can be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// `Deployment.apps`, `Service`.
    pub(crate) group_kinds: BTreeSet<String>,
    /// Namespaces other than the instance's own.
    pub(crate) namespaces: BTreeSet<String>,
}

impl Reach {
    pub(crate) fn with(&self, other: &Reach) -> Reach {
        Reach { group_kinds: &self.group_kinds | &other.group_kinds, namespaces: &self.namespaces | &other.namespaces }
    }
}

/// An instance of a template.
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// The id of the ApplySet.
    pub(crate) id: String,
    /// Whether its Secret exists.
    pub(crate) exists: bool,
    /// Where members can be, as the Secret says.
    pub(crate) reach: Reach,
    /// The values that were generated.
    pub(crate) values: UserValues,
    version: Option<String>,
}

/// The name of an instance's Secret.
pub(crate) fn secret(name: &str) -> String {
    format!("template.{name}")
}

impl Instance {
    /// An instance that does not exist.
    pub(crate) fn new(name: &str, namespace: &str) -> Instance {
        Instance {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            id: id(&secret(name), namespace),
            exists: false,
            reach: Reach::default(),
            values: UserValues::default(),
            version: None,
        }
    }

    /// Reads an instance, which may not exist.
    pub(crate) fn read(cluster: &Cluster, name: &str) -> Result<Instance> {
        let mut instance = Instance::new(name, cluster.namespace());
        let Some(found) = cluster.get(Kind::SECRET, &secret(name))? else { return Ok(instance) };
        let annotation = |name: &str| found["metadata"]["annotations"][name].as_str().unwrap_or_default();
        if label(&found, ID) != Some(&instance.id) || !annotation(TOOLING).starts_with(TOOL) {
            let message = format!("Secret {} exists, and is not that of an instance of a template", secret(name));
            return Err(Problem::input(message)
                .code(code::CLUSTER_CONFLICT)
                .hint("delete it, or choose another --name")
                .into());
        }
        let set = |name: &str| -> BTreeSet<String> {
            annotation(name).split(',').filter(|text| !text.is_empty()).map(str::to_owned).collect()
        };
        instance.reach = Reach { group_kinds: set(GROUP_KINDS), namespaces: set(NAMESPACES) };
        for (name, value) in found["data"].as_object().into_iter().flatten() {
            let value = value.as_str().and_then(|text| STANDARD.decode(text).ok());
            let value = value.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
                let message = format!("Secret {}: the value of '{name}' is not text", secret(&instance.name));
                Problem::input(message).code(code::STORE_INVALID)
            })?;
            instance.values.set(name, value, Place::file(format!("Secret {}", secret(&instance.name))));
        }
        instance.exists = true;
        instance.version = version(&found);
        Ok(instance)
    }

    /// Adds to the Secret where members can be, and values; gives the instance as it is then.
    ///
    /// # Errors
    /// Another run has generated other values at the same time; failures of the cluster.
    pub(crate) fn extend(&self, cluster: &Cluster, reach: &Reach, values: &UserValues) -> Result<Instance> {
        if self.version.is_none() {
            // Of two runs, one makes it; the other one finds it.
            cluster.create(&self.object(&Reach::default()), false)?;
        }
        for _ in 0..TRIES {
            let mut instance = Instance::read(cluster, &self.name)?;
            let differs = |(name, value): (&str, &str)| values.get(name).is_some_and(|new| new != value);
            if instance.values.iter().any(differs) {
                break;
            }
            instance.values.replace_with(values.clone());
            instance.reach = instance.reach.with(reach);
            if let Some(written) = cluster.try_apply(&instance.object(&instance.reach), HOW)? {
                instance.version = version(&written);
                return Ok(instance);
            }
        }
        let message = format!("another run changes the instance {} at the same time", self.name);
        let problem = Problem::internal(message).code(code::CLUSTER_CONFLICT);
        Err(problem.hint("run this again when the other one has ended").into())
    }

    /// Leaves only these kinds and namespaces in the Secret, unless another run has changed it.
    pub(crate) fn narrow(&self, cluster: &Cluster, reach: &Reach) -> Result<()> {
        cluster.try_apply(&self.object(reach), HOW).map(|_| ())
    }

    /// The Secret with this reach.
    fn object(&self, reach: &Reach) -> Object {
        let text = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let values = self.values.iter();
        let data: serde_json::Map<_, _> =
            values.map(|(name, value)| (name.to_owned(), STANDARD.encode(value).into())).collect();
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {
            "name": secret(&self.name),
            "labels": {ID: self.id, object_basics::MANAGED_BY: object_basics::MANAGER},
            "annotations": {TOOLING: format!("{TOOL}v{}", env!("CARGO_PKG_VERSION")), GROUP_KINDS: text(&reach.group_kinds)},
        }, "data": data});
        if !reach.namespaces.is_empty() {
            object["metadata"]["annotations"][NAMESPACES] = text(&reach.namespaces).into();
        }
        if let Some(version) = &self.version {
            object["metadata"]["resourceVersion"] = version.as_str().into();
        }
        object
    }
}

fn version(object: &Object) -> Option<String> {
    object["metadata"]["resourceVersion"].as_str().map(str::to_owned)
}

/// The id of an ApplySet whose parent is a Secret.
fn id(name: &str, namespace: &str) -> String {
    let digest = Sha256::digest(format!("{name}.{namespace}.Secret."));
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_kubectl() {
        // The example of kubectl's own tests: a Secret my-set in the namespace test.
        assert_eq!(id("my-set", "test"), "applyset-0eFHV8ySqp7XoShsGvyWFQD3s96yqwHmzc4e0HR1dsY-v1");
    }
}
