//! The DNS aliases that the manifest gives to the links that a job provides.

use handoff::deployment::Alias;
use manifest_model::manifest::Job;
use problem::Step;
use value::Value;

use super::{Reader, below};

impl Reader<'_> {
    /// The aliases of the links that a job provides; what is wrong with `provides` itself was reported with the links.
    pub(super) fn aliases(&mut self, job: &Job) -> Vec<(String, Vec<Alias>)> {
        let path = below(&job.path, "provides");
        let mut found = Vec::new();
        for (link, entry) in job.provides.as_map().into_iter().flat_map(value::Map::iter) {
            let (link, Some(aliases)) = (link.scalar_to_s().unwrap_or_default(), entry.get("aliases")) else {
                continue;
            };
            let path = below(&below(&path, &link), "aliases");
            let aliases = self.each(aliases, &path, "aliases", Self::alias);
            found.push((entry.get("as").and_then(Value::scalar_to_s).unwrap_or(link), aliases));
        }
        found
    }

    fn alias(&mut self, alias: &Value, path: &[Step]) -> Option<Alias> {
        let domain = self.text(alias, path, "domain");
        Some(Alias {
            placeholder_type: self.optional_text(alias, path, "placeholder_type"),
            health_filter: self.optional_text(alias, path, "health_filter"),
            initial_health_check: self.optional_text(alias, path, "initial_health_check"),
            domain: domain?,
        })
    }
}
