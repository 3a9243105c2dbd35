//! The rotation of a certificate authority in three steps, so that every certificate is trusted at every time:
//!
//! 1. A new authority is generated. Everything trusts both, the present one goes on signing.
//! 2. The new authority signs; certificates are generated anew. Everything trusts both.
//! 3. The authority that was is forgotten.
//!
//! Between two steps, a run gives every instance what the step has changed. An authority that is being rotated has two
//! certificates in its value, that of the key first: who signs reads the first, who verifies reads both.

use go_yaml::{Key, Map, Node, Value};

use crate::store::{Rotation, Store};

/// What a step has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The next run generates the new authority, which is trusted from then on.
    Trust,
    /// The next run generates certificates that the new authority signs.
    Sign,
    /// The next run forgets the authority that was.
    Forget,
}

/// Why a step cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The variable is no certificate.
    NotACertificate,
    /// No run has generated the new authority yet.
    NotGenerated,
    /// These variables still hold certificates that the authority before has signed.
    StillUsed(Vec<String>),
}

impl Store {
    /// Does the next step of an authority's rotation; the first one if none is under way.
    ///
    /// # Errors
    /// The run after the step before has not happened, or the variable is no certificate. The store is unchanged.
    pub fn rotate_authority(&mut self, name: &str) -> Result<Step, Refusal> {
        let value = self.get(name).cloned().ok_or(Refusal::NotACertificate)?;
        let (Some(present), Some(_)) = (text(&value, CERTIFICATE), text(&value, PRIVATE_KEY)) else {
            return Err(Refusal::NotACertificate);
        };
        match self.rotation(name).cloned() {
            None => {
                self.set_rotation(name, Some(Rotation::Wanted));
                Ok(Step::Trust)
            }
            Some(Rotation::Wanted) => Err(Refusal::NotGenerated),
            Some(Rotation::Trusted { certificate, private_key, ca }) => {
                let both = joined(&certificate, first(present));
                let ca = if ca == certificate { both.clone() } else { ca };
                self.replace(name, with(&value, &[(CA, &ca), (CERTIFICATE, &both), (PRIVATE_KEY, &private_key)]));
                self.set_rotation(name, Some(Rotation::Signing));
                Ok(Step::Sign)
            }
            Some(Rotation::Signing) => {
                let (new, both) = (first(present).to_owned(), present.trim().to_owned());
                let users = self.users_of_another(name, &new, &both);
                if !users.is_empty() {
                    return Err(Refusal::StillUsed(users));
                }
                let alone = format!("{new}\n");
                let signs_itself = text(&value, CA).is_some_and(|ca| ca.trim() == both);
                let mut changes = vec![(CERTIFICATE, alone.as_str())];
                changes.extend(signs_itself.then_some((CA, alone.as_str())));
                self.replace(name, with(&value, &changes));
                self.set_rotation(name, None);
                Ok(Step::Forget)
            }
        }
    }

    /// Whether an authority is being rotated, or this variable still trusts two.
    pub(crate) fn is_rotating(&self, name: &str) -> bool {
        let ca = self.get(name).and_then(|value| text(value, CA));
        self.rotated_authorities().next().is_some() || ca.is_some_and(|ca| certificates(ca).len() > 1)
    }

    /// The variables whose authority is one of `both`, and not `new`.
    fn users_of_another(&self, name: &str, new: &str, both: &str) -> Vec<String> {
        let is_user = |ca: &str| first(ca) != new && certificates(both).contains(&first(ca));
        let names = self.values().iter().filter_map(|(key, value)| Some((key.as_str()?, text(value, CA)?)));
        names.filter(|(user, ca)| *user != name && is_user(ca)).map(|(user, _)| user.to_owned()).collect()
    }

    /// Adds a generated authority to the one that is being rotated, which goes on signing.
    pub(crate) fn trust(&mut self, name: &str, generated: &Node) {
        let value = |node: &Node, key| text(node, key).unwrap_or_default().to_owned();
        let Some(present) = self.get(name).cloned() else { return };
        let (own, new) = (value(&present, CERTIFICATE), value(generated, CERTIFICATE));
        let both = joined(first(&own), &new);
        let mut changes = vec![(CERTIFICATE, both.as_str())];
        // It has signed itself.
        changes.extend((value(&present, CA).trim() == own.trim()).then_some((CA, both.as_str())));
        self.replace(name, with(&present, &changes));
        let (private_key, ca) = (value(generated, PRIVATE_KEY), value(generated, CA));
        self.set_rotation(name, Some(Rotation::Trusted { certificate: new, private_key, ca }));
    }

    /// Gives a certificate the present text of its authority, if the same authority has signed it, and a rotation has changed
    /// the text; returns the new value.
    pub(crate) fn refresh(&mut self, name: &str, ca: &str) -> Option<Node> {
        let authority = text(self.get(ca)?, CERTIFICATE)?.to_owned();
        let value = self.get(name)?.clone();
        let known = text(&value, CA)?;
        let is_rotated = self.rotation(ca).is_some() || certificates(known).len() > certificates(&authority).len();
        if !is_rotated || known == authority || first(known) != first(&authority) {
            return None;
        }
        let value = with(&value, &[(CA, &authority)]);
        self.replace(name, value.clone());
        Some(value)
    }
}

const CA: &str = "ca";
const CERTIFICATE: &str = "certificate";
const PRIVATE_KEY: &str = "private_key";

fn text<'n>(value: &'n Node, key: &str) -> Option<&'n str> {
    value.get(key)?.as_str()
}

/// A value with other texts at some of its keys.
pub(crate) fn with(value: &Node, changes: &[(&str, &str)]) -> Node {
    let Value::Map(map) = &value.value else { return value.clone() };
    let changed = |(key, node): (&Key, &Node)| {
        let change = changes.iter().find(|(name, _)| key.as_str() == Some(*name));
        let node = change.map_or_else(|| node.clone(), |(_, text)| Node::new(Value::String((*text).to_owned())));
        (key.clone(), node)
    };
    Node { value: Value::Map(map.iter().map(changed).collect::<Map>()), ..value.clone() }
}

/// Two certificates, one after the other.
fn joined(one: &str, two: &str) -> String {
    format!("{}\n{}\n", one.trim(), two.trim())
}

/// The certificates of a text, without space around them.
fn certificates(text: &str) -> Vec<&str> {
    let starts: Vec<usize> = text.match_indices("-----BEGIN ").map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| text[*start..end].trim()).collect()
}

/// The first certificate of a text: that of the key. All of a text that has none.
pub(crate) fn first(text: &str) -> &str {
    certificates(text).first().copied().unwrap_or_else(|| text.trim())
}

#[cfg(test)]
mod tests {
    use go_yaml::Source;

    use super::*;

    fn certificate(name: &str) -> String {
        format!("-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n")
    }

    fn node(ca: &str, certificate: &str, key: &str) -> Node {
        let text = |text: &str| Node::new(Value::String(text.to_owned()));
        let entries = [(CA, ca), (CERTIFICATE, certificate), (PRIVATE_KEY, key)];
        let map = entries.into_iter().map(|(key, value)| (Key::String(key.to_owned()), text(value))).collect();
        Node::new(Value::Map(map))
    }

    fn store() -> Store {
        let mut store = Store::parse(b"p: secret\n", Source::default()).unwrap();
        store.replace("ca", node(&certificate("A"), &certificate("A"), "key of A"));
        store.replace("tls", node(&certificate("A"), &certificate("leaf"), "key"));
        store
    }

    fn parts<'s>(store: &'s Store, name: &str) -> [&'s str; 3] {
        [CA, CERTIFICATE, PRIVATE_KEY].map(|key| text(store.get(name).unwrap(), key).unwrap())
    }

    #[test]
    fn both_authorities_are_trusted_until_all_certificates_are_new() {
        let mut store = store();
        assert_eq!(store.rotate_authority("ca"), Ok(Step::Trust));
        assert_eq!(store.rotate_authority("ca"), Err(Refusal::NotGenerated));

        store.trust("ca", &node(&certificate("B"), &certificate("B"), "key of B"));
        let both = certificate("A") + &certificate("B");
        assert_eq!(parts(&store, "ca"), [both.as_str(), &both, "key of A"]);
        store.refresh("tls", "ca").unwrap();
        assert_eq!(parts(&store, "tls")[0], both);
        assert_eq!(store.refresh("tls", "ca"), None);
        // The rotation survives the file.
        let mut store = Store::parse(store.text().as_bytes(), Source::default()).unwrap();

        assert_eq!(store.rotate_authority("ca"), Ok(Step::Sign));
        let both = certificate("B") + &certificate("A");
        assert_eq!(parts(&store, "ca"), [both.as_str(), &both, "key of B"]);
        // The authority that was has signed it.
        assert_eq!(store.refresh("tls", "ca"), None);
        assert_eq!(store.rotate_authority("ca"), Err(Refusal::StillUsed(vec!["tls".to_owned()])));

        store.replace("tls", node(&both, &certificate("new leaf"), "key"));
        assert_eq!(store.rotate_authority("ca"), Ok(Step::Forget));
        assert_eq!(parts(&store, "ca"), [certificate("B").as_str(), &certificate("B"), "key of B"]);
        store.refresh("tls", "ca").unwrap();
        assert_eq!(parts(&store, "tls")[0], certificate("B"));
        assert_eq!(store.rotate_authority("ca"), Ok(Step::Trust));
    }

    #[test]
    fn an_authority_that_another_has_signed_keeps_it() {
        let mut store = store();
        store.replace("ca", node(&certificate("root"), &certificate("A"), "key of A"));
        store.rotate_authority("ca").unwrap();
        store.trust("ca", &node(&certificate("root"), &certificate("B"), "key of B"));
        assert_eq!(parts(&store, "ca")[0], certificate("root"));
        store.rotate_authority("ca").unwrap();
        assert_eq!(parts(&store, "ca")[0], certificate("root"));
    }

    #[test]
    fn a_chain_that_no_rotation_has_made_stays() {
        let mut store = store();
        let chain = certificate("A") + &certificate("root");
        store.replace("ca", node(&certificate("root"), &chain, "key of A"));
        assert_eq!(store.refresh("tls", "ca"), None);
        assert_eq!(store.rotate_authority("p"), Err(Refusal::NotACertificate));
    }
}
