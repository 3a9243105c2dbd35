//! In which order packages are compiled.

use std::collections::{BTreeMap, BTreeSet};

use problem::{Problem, Result, code};

use crate::package::Package;

/// `wanted` and everything they depend on, each after its dependencies; a cycle is reported.
pub(crate) fn by_dependencies<'a>(
    packages: &'a [Package],
    wanted: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<&'a Package>> {
    let by_name = packages.iter().map(|package| (package.name.as_str(), package)).collect();
    let mut order = Order { by_name, done: BTreeSet::new(), path: Vec::new(), ordered: Vec::new() };
    for name in wanted {
        order.visit(name)?;
    }
    Ok(order.ordered)
}

struct Order<'a> {
    by_name: BTreeMap<&'a str, &'a Package>,
    done: BTreeSet<&'a str>,
    /// From the wanted package down to the one being visited.
    path: Vec<&'a str>,
    ordered: Vec<&'a Package>,
}

impl<'a> Order<'a> {
    fn visit(&mut self, name: &'a str) -> Result<()> {
        if self.done.contains(name) {
            return Ok(());
        }
        if let Some(at) = self.path.iter().position(|above| *above == name) {
            let cycle = [&self.path[at..], &[name]].concat().join(" -> ");
            return Err(Problem::input(format!("packages depend on each other in a cycle: {cycle}"))
                .code(code::RELEASE_INVALID)
                .into());
        }
        let Some(package) = self.by_name.get(name).copied() else {
            let known = self.by_name.keys().copied().collect::<Vec<_>>().join(", ");
            return Err(Problem::input(format!("unknown package '{name}'"))
                .code(code::RELEASE_INVALID)
                .hint(format!("the release has: {known}"))
                .into());
        };
        self.path.push(name);
        for dependency in &package.dependencies {
            self.visit(dependency)?;
        }
        self.path.pop();
        self.done.insert(name);
        self.ordered.push(package);
        Ok(())
    }
}
