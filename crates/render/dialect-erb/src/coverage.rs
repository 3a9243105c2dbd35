//! Which lines and branches of a template renderings reach.

use std::collections::BTreeMap;

use ruby::Vm;
use template::Source;

use crate::trace::{Site, Sites, Trace, code_lines};

/// What renderings reach in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// The lines that output or run something, and the number of renderings that reach them.
    pub lines: BTreeMap<u32, u64>,
    /// The branches.
    pub branches: Vec<Branch>,
}

/// A place where a template goes one of several ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its line.
    pub line: u32,
    /// What branches: `if`, `elsif`, `unless`, `case`, `if_p`, `if_link`, or the method of a loop.
    pub kind: String,
    /// The names that `if_p` or `if_link` asks for, if they are literal.
    pub name: Option<String>,
    /// Its ways.
    pub ways: Vec<Way>,
}

/// A way of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The line where it begins, as far as known.
    pub line: u32,
    /// `true` and `false` of a condition; `found` and `absent`; `items` and `no items` of a loop; `when` and `else` of a `case`.
    pub label: &'static str,
    /// The number of times that it was taken.
    pub count: u64,
}

impl Coverage {
    /// What there is to reach in templates, in one call of the VM. None of their code runs.
    ///
    /// # Errors
    /// Only where the VM itself fails.
    pub fn of(vm: &Vm, sources: &[&Source]) -> problem::Result<Vec<Coverage>> {
        let texts: Vec<&[u8]> = sources.iter().map(|source| source.text.as_slice()).collect();
        let sites = Sites::of(vm, &texts)?;
        let coverage = texts.iter().zip(sites).map(|(text, sites)| Coverage {
            lines: code_lines(text, &sites).into_iter().map(|line| (line, 0)).collect(),
            branches: sites.branches.iter().map(Branch::new).collect(),
        });
        Ok(coverage.collect())
    }

    /// Adds a rendering of the template.
    pub fn add(&mut self, trace: &Trace) {
        for (line, count) in &mut self.lines {
            *count += u64::from(trace.reached.contains(line));
        }
        for (branch, counts) in self.branches.iter_mut().zip(&trace.ways) {
            for (way, count) in branch.ways.iter_mut().zip(counts) {
                way.count += count;
            }
        }
    }
}

impl Branch {
    fn new(site: &Site) -> Branch {
        let labels = match site.kind.as_str() {
            "if" | "elsif" | "unless" => ["true", "false"],
            "if_p" | "if_link" => ["found", "absent"],
            "case" => ["when"; 2],
            _ => ["items", "no items"],
        };
        let label = |index: usize| labels[index.min(1)];
        let ways = site.arms.iter().enumerate().map(|(index, line)| Way { line: *line, label: label(index), count: 0 });
        let rest = site.has_rest.then_some(Way { line: site.line, label: "else", count: 0 });
        Branch { line: site.line, kind: site.kind.clone(), name: site.name.clone(), ways: ways.chain(rest).collect() }
    }
}
