//! A template as a Secret: its name, its labels, and its content, compressed if it is large.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cluster::{Object, label, name};
use dialect_kubernetes_templates::{Format, Node, compact, read};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Stored, set_version};
use crate::node::metadata_text;
use crate::status::Failure;

/// The label of all Secrets of one server: its value is [`Naming::prefix`].
pub(super) const STORE: &str = "boson.cloudfoundry.org/template-store";
/// The label with the namespace of the template.
pub(super) const NAMESPACE: &str = "boson.cloudfoundry.org/template-namespace";
/// The type of the Secrets.
const TYPE: &str = "boson.cloudfoundry.org/template";
/// The keys of the content.
const PLAIN: &str = "template.json";
const COMPRESSED: &str = "template.json.gz";

/// Larger templates are compressed.
const PLAIN_AT_MOST: usize = 64 * 1024;
/// What the data of a Secret may have.
const SECRET_AT_MOST: usize = 1024 * 1024;
/// What is read of a compressed template; nothing larger is stored.
const DOCUMENT_AT_MOST: u64 = 64 * 1024 * 1024;
/// The longest name of an object.
const LONGEST_NAME: usize = 253;
/// The group whose Secrets have no digest in their names.
const OPENSHIFT: &str = "template.openshift.io";

/// How the Secrets of a server are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Naming {
    /// `template`, and for other groups than OpenShift's with a digest, so that servers of several groups can share a namespace.
    pub(super) prefix: String,
}

impl Naming {
    pub(super) fn of(group: &str) -> Naming {
        let prefix = match group {
            OPENSHIFT => "template".to_owned(),
            _ => format!("template-{}", &digest(group)[..10]),
        };
        Naming { prefix }
    }

    /// The name of a template's Secret. No two templates have the same: a namespace has no dot, and a name that is too long is replaced by
    /// its digest, behind another prefix.
    pub(super) fn secret(&self, namespace: &str, name: &str) -> String {
        let plain = format!("{}.{namespace}.{name}", self.prefix);
        if plain.len() <= LONGEST_NAME { plain } else { format!("{}-long.{namespace}.{}", self.prefix, digest(name)) }
    }

    /// The selector of the Secrets of all templates, or of those of a namespace.
    pub(super) fn selector(&self, namespace: Option<&str>) -> String {
        let all = format!("{STORE}={}", self.prefix);
        namespace.map_or(all.clone(), |namespace| format!("{all},{NAMESPACE}={namespace}"))
    }

    /// The Secret of a template.
    ///
    /// # Errors
    /// 413 for a template that does not fit into one, 500 if it cannot be compressed.
    pub(super) fn encode(&self, namespace: &str, name: &str, template: &Node) -> Result<Object, Failure> {
        let text = compact(template);
        let (key, bytes) = if text.len() <= PLAIN_AT_MOST {
            (PLAIN, text.into_bytes())
        } else {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            let compressed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
            (COMPRESSED, compressed.map_err(|_| Failure::internal())?)
        };
        if bytes.len() > SECRET_AT_MOST {
            let message = format!(
                "Request entity is too large: the template has {} bytes when it is compressed, the limit is {SECRET_AT_MOST} bytes",
                bytes.len()
            );
            return Err(Failure::too_long(message));
        }
        Ok(json!({
            "apiVersion": "v1", "kind": "Secret", "type": TYPE,
            "metadata": {
                "name": self.secret(namespace, name),
                "labels": {"app.kubernetes.io/managed-by": "boson", STORE: self.prefix, NAMESPACE: namespace},
            },
            "data": {key: BASE64_STANDARD.encode(bytes)},
        }))
    }

    /// The template of a Secret.
    ///
    /// # Errors
    /// Why it is none of this server's; the message contains nothing of the content.
    pub(super) fn decode(&self, secret: &Object) -> Result<Stored, String> {
        let wrong = |why: &str| format!("the Secret {} is not a template: {why}", name(secret));
        if label(secret, STORE) != Some(self.prefix.as_str()) {
            return Err(wrong("it does not have the label"));
        }
        let version = version(secret).ok_or_else(|| wrong("it has no version"))?;
        let bytes = content(secret).ok_or_else(|| wrong("its content cannot be read"))?;
        let mut template = read(&bytes, Format::Json).map_err(|_| wrong("its content is not JSON"))?;
        set_version(&mut template, version);
        let text = |key: &str| metadata_text(&template, key).unwrap_or_default().to_owned();
        let (namespace, of) = (text("namespace"), text("name"));
        // A copy under another name is no template of its own.
        if self.secret(&namespace, &of) != name(secret) || label(secret, NAMESPACE) != Some(namespace.as_str()) {
            return Err(wrong("it has the name or labels of another one"));
        }
        Ok(Stored::of(&namespace, &of, version, &template))
    }
}

/// The version of an object of the API server, which is a number for all its own objects.
pub(super) fn version(object: &Object) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

fn content(secret: &Object) -> Option<Vec<u8>> {
    let value = |key: &str| BASE64_STANDARD.decode(secret["data"][key].as_str()?).ok();
    if let Some(plain) = value(PLAIN) {
        return Some(plain);
    }
    let compressed = value(COMPRESSED)?;
    let mut bytes = Vec::new();
    GzDecoder::new(compressed.as_slice()).take(DOCUMENT_AT_MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    fn template(name: &str, message: &str) -> Node {
        parsed(&format!(
            r#"{{"kind":"Template","metadata":{{"name":"{name}","namespace":"shop"}},"message":"{message}"}}"#
        ))
    }

    fn stored(naming: &Naming, name: &str, message: &str) -> (Object, Stored) {
        let mut secret = naming.encode("shop", name, &template(name, message)).unwrap();
        secret["metadata"]["resourceVersion"] = "7".into();
        let stored = naming.decode(&secret).unwrap();
        (secret, stored)
    }

    #[test]
    fn a_template_is_what_was_stored() {
        let naming = Naming::of("template.openshift.io");
        let (secret, found) = stored(&naming, "web", "x");
        assert_eq!(name(&secret), "template.shop.web");
        assert_eq!(
            &*found.json,
            r#"{"kind":"Template","metadata":{"name":"web","namespace":"shop","resourceVersion":"7"},"message":"x"}"#
        );
        assert!(secret["data"][PLAIN].is_string());
        // A large one is compressed.
        let long = "x".repeat(2 * SECRET_AT_MOST);
        let (secret, found) = stored(&naming, "web", &long);
        assert!(secret["data"][COMPRESSED].as_str().unwrap().len() < 10_000 && found.json.contains(&long));
        assert_eq!(naming.selector(None), "boson.cloudfoundry.org/template-store=template");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut random = vec![0; 2 * SECRET_AT_MOST];
        getrandom::fill(&mut random).unwrap();
        let failure =
            Naming::of("example.com").encode("shop", "web", &template("web", &BASE64_STANDARD.encode(random)));
        assert_eq!(failure.unwrap_err().code, 413);
    }

    #[test]
    fn names_do_not_collide() {
        let (one, other) = (Naming::of("template.openshift.io"), Naming::of("templates.example.com"));
        let (a, b) = ("a".repeat(253), format!("{}b", "a".repeat(252)));
        let namespace = "n".repeat(63);
        let mut names = vec![];
        for naming in [&one, &other] {
            for of in ["web", "shop.web", "web.shop", a.as_str(), b.as_str()] {
                names.extend(["shop", namespace.as_str()].map(|namespace| naming.secret(namespace, of)));
            }
        }
        let count = names.len();
        assert!(names.iter().all(|name| name.len() <= 253 && crate::template::is_name(name)), "{names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(other.selector(Some("shop")).ends_with(",boson.cloudfoundry.org/template-namespace=shop"));
        assert_eq!(stored(&other, &a, "x").1.name, a);
    }

    #[test]
    fn other_secrets_are_no_templates() {
        let naming = Naming::of("example.com");
        let (secret, _) = stored(&naming, "web", "hunter2");
        let changed = |pointer: &str, value: Object| {
            let mut secret = secret.clone();
            *secret.pointer_mut(pointer).unwrap() = value;
            naming.decode(&secret).unwrap_err()
        };
        for error in [
            changed("/metadata/name", "copy".into()),
            changed("/metadata/labels/boson.cloudfoundry.org~1template-store", "template".into()),
            changed("/metadata/labels/boson.cloudfoundry.org~1template-namespace", "other".into()),
            changed("/metadata/resourceVersion", "x".into()),
            changed("/data/template.json", "?".into()),
            changed("/data/template.json", "eA==".into()),
        ] {
            assert!(error.contains(" is not a template: ") && !error.contains("hunter2"), "{error}");
        }
        assert!(stored(&Naming::of("template.openshift.io"), "web", "x").1.version == 7);
    }
}
