//! Properties and links of a group's jobs that differ.

use instance_group::{Link, Resolved, ResolvedJob};
use value::Value;

use crate::Change;
use crate::mask::{MASKED, Mask, is_secret_name};

/// Describes a certificate in PEM format, such as `expires 2027-11-22`; nothing for any other text.
pub type DescribeCertificate<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The longest text that is shown whole; longer ones are in rendered files.
const MAX_SHOWN: usize = 100;

/// The properties and links that differ, of jobs that both versions of the group have.
pub(crate) fn changes(old: &Resolved, new: &Resolved, mask: &Mask, certificate: DescribeCertificate) -> Vec<Change> {
    let mut changes = Changes { mask, certificate, found: Vec::new() };
    for job in &new.jobs {
        let Some(before) = old.jobs.iter().find(|before| before.name == job.name) else { continue };
        changes.compare(&format!("property {}", job.name), Some(&before.properties), Some(&job.properties), false);
        changes.links(before, job);
    }
    changes.found
}

struct Changes<'a> {
    mask: &'a Mask,
    certificate: DescribeCertificate<'a>,
    found: Vec<Change>,
}

impl Changes<'_> {
    fn links(&mut self, old: &ResolvedJob, new: &ResolvedJob) {
        let find = |job: &'_ ResolvedJob, name: &str| job.links.iter().find(|link| link.name == name).cloned();
        let gone = old.links.iter().filter(|link| find(new, &link.name).is_none());
        for name in new.links.iter().chain(gone).map(|link| &link.name) {
            let what = format!("link {}.{name}", new.name);
            match (find(old, name), find(new, name)) {
                (Some(before), Some(after)) => self.link(&what, &before, &after),
                (before, after) => {
                    let provider = |link: Link| provider(&link);
                    self.found.push(Change { what, old: before.map(provider), new: after.map(provider) });
                }
            }
        }
    }

    fn link(&mut self, what: &str, old: &Link, new: &Link) {
        if old.content == new.content {
            return;
        }
        let count = |link: &Link| link.content.get("instances").and_then(Value::as_array).map_or(0, <[Value]>::len);
        let instances = (count(old), count(new));
        let keys = |link: &Link| -> Vec<String> {
            let pairs = link.content.as_map().into_iter().flat_map(value::Map::iter);
            pairs.filter_map(|(key, _)| key.scalar_to_s()).filter(|key| key != "instances").collect()
        };
        let mut all = keys(old);
        all.extend(keys(new).into_iter().filter(|key| old.content.get(key).is_none()));
        for key in all {
            self.compare(&format!("{what}.{key}"), old.content.get(&key), new.content.get(&key), false);
        }
        if instances.0 != instances.1 {
            let text = |count: usize| Some(count.to_string());
            self.found.push(Change {
                what: format!("{what}.instances"),
                old: text(instances.0),
                new: text(instances.1),
            });
        } else {
            let of = |link: &Link| link.content.get("instances").cloned();
            self.compare(&format!("{what}.instances"), of(old).as_ref(), of(new).as_ref(), false);
        }
    }

    /// Adds the scalars that differ; `is_secret` if a name above them says so.
    fn compare(&mut self, path: &str, old: Option<&Value>, new: Option<&Value>, is_secret: bool) {
        match (old, new) {
            (old, new) if old == new => {}
            (Some(Value::Map(before)), Some(Value::Map(after))) => {
                let added = after.iter().filter(|(key, _)| find(before, key).is_none());
                for (key, _) in before.iter().chain(added) {
                    let name = key.scalar_to_s().unwrap_or_default();
                    let is_secret = is_secret || is_secret_name(&name);
                    self.compare(&format!("{path}.{name}"), find(before, key), find(after, key), is_secret);
                }
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) => {
                for at in 0..before.len().max(after.len()) {
                    self.compare(&format!("{path}[{at}]"), before.get(at), after.get(at), is_secret);
                }
            }
            (old, new) => {
                let shown = |value: &Value| self.shown(value, is_secret);
                let (old, new) = (old.filter(|value| !value.is_nil()), new.filter(|value| !value.is_nil()));
                let change = Change { what: path.to_owned(), old: old.map(shown), new: new.map(shown) };
                if change.old.is_some() || change.new.is_some() {
                    self.found.push(change);
                }
            }
        }
    }

    /// What is shown for a text with certificates.
    fn certificate(&self, text: &str) -> Option<String> {
        if !text.trim_start().starts_with("-----BEGIN CERTIFICATE-----") {
            return None;
        }
        let description = (self.certificate)(text).map(|text| format!(", {text}")).unwrap_or_default();
        Some(format!("certificate{description}"))
    }

    fn shown(&self, value: &Value, is_secret: bool) -> String {
        match value {
            Value::Map(_) => "{...}".to_owned(),
            Value::Array(items) if items.is_empty() => "[]".to_owned(),
            Value::Array(_) => "[...]".to_owned(),
            Value::Bool(value) => value.to_string(),
            _ => {
                let text = value.scalar_to_s().unwrap_or_default();
                if let Some(shown) = self.certificate(&text) {
                    return shown;
                }
                if is_secret && !self.mask.shows_everything() {
                    return MASKED.to_owned();
                }
                let text = self.mask.apply(&text);
                let lines = text.lines().count();
                if lines > 1 {
                    return format!("{lines} lines");
                }
                match text.char_indices().nth(MAX_SHOWN) {
                    Some((end, _)) => format!("{}...", &text[..end]),
                    None if text.is_empty() => "''".to_owned(),
                    None => text,
                }
            }
        }
    }
}

fn find<'m>(map: &'m value::Map, key: &Value) -> Option<&'m Value> {
    map.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
}

/// The group that provides a link.
fn provider(link: &Link) -> String {
    let group = link.content.get("instance_group").and_then(Value::as_str);
    group.map_or_else(|| "given by the manifest".to_owned(), |group| format!("provided by {group}"))
}
