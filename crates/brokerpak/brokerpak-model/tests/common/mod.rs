//! Paks in memory.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part, and a test may panic")]

use std::collections::BTreeMap;

use brokerpak_model::pak::{Files, Pak};
use brokerpak_model::report::Report;
use problem::Problem;

pub(crate) struct Memory(pub(crate) BTreeMap<String, String>);

impl Files for Memory {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let text = self.0.get(path).ok_or_else(|| format!("open {path}: no such file or directory"))?;
        Ok(text.clone().into_bytes())
    }

    fn shown(&self, path: &str) -> String {
        path.to_owned()
    }
}

pub(crate) const MANIFEST: &str = "packversion: 1
name: pak
version: 1.0.0
platforms: [{os: linux, arch: amd64}]
terraform_binaries: [{name: tofu, version: 1.9.1}]
service_definitions: [s.yml]
";

/// The head of a definition without errors.
pub(crate) const SERVICE: &str = "version: 1
name: s
id: 00000000-0000-0000-0000-000000000000
description: d
display_name: S
image_url: https://example.com/i.png
documentation_url: https://example.com
support_url: https://example.com
plans:
- name: small
  id: 00000000-0000-0000-0000-000000000001
  description: d
  display_name: Small
  properties: {fixed: 1, flag: true}
  provision_overrides: {over: plan}
  bind_overrides: {bound: plan}
";

pub(crate) fn memory(files: &[(&str, &str)]) -> Memory {
    Memory(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
}

pub(crate) fn read(files: &[(&str, &str)]) -> (Pak, Report) {
    let mut report = Report::default();
    let pak = Pak::read(&memory(files), "manifest.yml", &mut report);
    (pak, report)
}

/// Problems as texts: the message, and the lines of its places.
pub(crate) fn shown(problems: &[Problem]) -> Vec<String> {
    let shown = |problem: &Problem| {
        let own = problem.place.iter();
        let places = own.chain(problem.notes.iter().map(|note| &note.place)).filter_map(|place| place.line);
        let lines: Vec<String> = places.map(|line| line.to_string()).collect();
        let hint = problem.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{} @{}{hint}", problem.message, lines.join(","))
    };
    problems.iter().map(shown).collect()
}

pub(crate) fn errors(files: &[(&str, &str)]) -> Vec<String> {
    shown(&read(files).1.problems())
}
