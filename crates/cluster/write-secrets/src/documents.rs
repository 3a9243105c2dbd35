//! What `plan` has written.

use std::path::Path;

use handoff::deployment::Deployment;
use handoff::links::SharedLinks;
use handoff::output::{BPM_YAML, DEPLOYMENT_YAML, LINKS_JSON, PROPERTIES_YAML};
use kubernetes_objects as objects;
use object_basics::packed::MOST_PARTS;
use objects::LARGEST_IN_SECRET;
use problem::{Note, Place, Problem, Problems, Result, code};

use crate::size::largest_parts;

/// A document: the kind of its Secret, its key, its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) kind: &'static str,
    pub(crate) key: &'static str,
    pub(crate) text: String,
}

/// All documents of a deployment.
pub(crate) struct Documents {
    pub(crate) deployment: Deployment,
    pub(crate) of_deployment: Vec<Document>,
    /// The links that it shares.
    pub(crate) shared: SharedLinks,
    /// The pair of each group, in the manifest's order.
    pub(crate) groups: Vec<(String, Vec<Document>)>,
}

impl Documents {
    /// Reads and checks all of them.
    pub(crate) fn read(directory: &Path) -> Result<Documents> {
        let deployment = document(directory, "deployment", "deployment", DEPLOYMENT_YAML)?;
        let decoded = Deployment::decode(&deployment.text, &directory.display().to_string())?;
        let mut problems = Vec::new();
        let mut groups = Vec::new();
        for group in &decoded.instance_groups {
            let mut pair = Vec::new();
            for (kind, key) in [("ig-resolved", PROPERTIES_YAML), ("bpm", BPM_YAML)] {
                match document(&directory.join(&group.name), kind, kind, key) {
                    Ok(document) => pair.push(document),
                    Err(found) => problems.extend(found.into_vec()),
                }
            }
            groups.push((group.name.clone(), pair));
        }
        for (group, document) in
            groups.iter().flat_map(|(group, pair)| pair.iter().map(move |document| (group, document)))
        {
            problems.extend(too_large(&format!("group '{group}'"), document, MOST_PARTS));
        }
        problems.extend(too_large("the deployment", &deployment, MOST_PARTS));
        Problems::check(problems)?;
        let shared = match document(directory, "links", "links", LINKS_JSON) {
            Ok(document) => SharedLinks::decode(&document.text, &directory.display().to_string())?,
            // A deployment that shares none has no document of them.
            Err(found) if found.iter().all(|problem| problem.code == code::DOCUMENT_MISSING) => SharedLinks::default(),
            Err(found) => return Err(found),
        };
        Ok(Documents { deployment: decoded, of_deployment: vec![deployment], shared, groups })
    }
}

/// A problem if a document, compressed, does not fit into so many Secrets.
fn too_large(whose: &str, document: &Document, most_parts: usize) -> Option<Problem> {
    let Document { key, text, .. } = document;
    let parts = objects::divided("", key, text);
    if parts.len() <= most_parts {
        return None;
    }
    let compressed: usize = parts.iter().map(|(.., content)| content.len()).sum();
    let most = most_parts * LARGEST_IN_SECRET;
    let message = format!(
        "{whose}: {key} has {} bytes, {compressed} when compressed, and {most_parts} Secrets hold {most}",
        text.len()
    );
    let mut problem = Problem::input(message).code(code::DOCUMENT_TOO_LARGE);
    let note = |(path, size): (String, usize)| Note {
        place: Place::file(path),
        what: Some(format!("{size} bytes")),
        hint: None,
    };
    problem.notes = largest_parts(text).into_iter().map(note).collect();
    Some(problem.hint("divide the instance group, or shorten its largest properties"))
}

fn document(directory: &Path, subdirectory: &str, kind: &'static str, key: &'static str) -> Result<Document> {
    Ok(Document { kind, key, text: plan_output::text(directory, subdirectory, key)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that hardly compresses: nearly a byte of chance for each character.
    fn noise(length: usize) -> String {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(state >> 58) as usize])
        };
        (0..length).map(|_| next()).collect()
    }

    /// P12: a document above the limit of a Secret is compressed and divided; one above all limits is refused with what is large in
    /// it, before anything is written.
    #[test]
    fn a_document_above_all_limits_is_refused_with_its_largest_parts() {
        let large =
            |length: usize| Document { kind: "bpm", key: BPM_YAML, text: format!("a:\n  b: {}\n", noise(length)) };
        let document = large(3_000_000);
        assert!(too_large("group 'cell'", &document, 3).is_none());
        let problem = too_large("group 'cell'", &document, 2).unwrap();
        let (start, end) =
            ("group 'cell': bpm.yaml has 3000009 bytes, ", " when compressed, and 2 Secrets hold 2000000");
        assert!(problem.message.starts_with(start) && problem.message.ends_with(end), "{}", problem.message);
        assert_eq!(problem.notes[0].place.file, "/a/b");
        assert_eq!(problem.notes[0].what.as_deref(), Some("3000000 bytes"));
    }
}
