//! The files that an instance has of its jobs.

/// Path of the list of links below a job's directory.
pub const LINKS_JSON: &str = ".bosh/links.json";

/// Whether an instance has the files of this job. boson takes the place of the others: a release's own BPM sets up what its runc
/// needs, and BOSH DNS takes over the machine's DNS.
pub fn is_installed(job: &str) -> bool {
    !manifest_model::replaced::is_replaced(job)
}

/// [`LINKS_JSON`]: name, type and group of the links that the job provides, by group (BOSH's job template renderer).
pub fn links_json(provides: &[(String, String)]) -> Vec<u8> {
    let mut links: Vec<(String, &String, &String)> =
        provides.iter().map(|(name, link_type)| (format!("{name}-{link_type}"), name, link_type)).collect();
    links.sort();
    if links.is_empty() {
        return b"[\n\n]\n".to_vec();
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let objects: Vec<String> = links
        .iter()
        .map(|(group, name, link_type)| {
            format!(
                "  {{\n    \"name\": {},\n    \"type\": {},\n    \"group\": {}\n  }}",
                quoted(name),
                quoted(link_type),
                quoted(group)
            )
        })
        .collect();
    format!("[\n{}\n]\n", objects.join(",\n")).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_listed_as_ruby_prints_them() {
        assert_eq!(links_json(&[]), b"[\n\n]\n");
        let two = [("b".to_owned(), "t".to_owned()), ("a".to_owned(), "t".to_owned())];
        let text = String::from_utf8(links_json(&two)).unwrap();
        assert!(text.starts_with("[\n  {\n    \"name\": \"a\",\n    \"type\": \"t\",\n    \"group\": \"a-t\"\n  },\n"));
    }
}
