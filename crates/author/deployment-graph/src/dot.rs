//! The graph in the language of Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{Graph, Group, Source, Start, instances, start};

/// A digraph: a cluster for each group with a node for each job, an edge from the provider of a link to each consumer, and grey edges
/// between the steps in which groups start.
pub fn render(graph: &Graph) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(text, "digraph {} {{", quoted(&graph.name));
    text.push_str("  rankdir=LR;\n  compound=true;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    text.push_str("  edge [fontname=\"sans-serif\", fontsize=10];\n");
    for (g, group) in graph.groups.iter().enumerate() {
        write_group(&mut text, g, group);
    }
    write_outside(&mut text, graph);
    for (g, group) in graph.groups.iter().enumerate() {
        for (j, job) in group.jobs.iter().enumerate() {
            for link in &job.consumes {
                let (from, attributes) = match &link.source {
                    Source::Group { group, job: Some(job), .. } => (node(*group, *job), String::new()),
                    Source::Group { group, job: None, .. } => (node(*group, 0), format!(", ltail=cluster_{group}")),
                    Source::Outside(name) => (quoted(name), String::new()),
                    Source::Manifest => continue,
                };
                let _ = writeln!(text, "  {from} -> {} [label={}{attributes}];", node(g, j), quoted(&link.name));
            }
        }
    }
    write_steps(&mut text, graph);
    text.push_str("}\n");
    text
}

fn write_group(text: &mut String, g: usize, group: &Group) {
    let label = format!("{}: {}\nstart: {}", group.name, instances(group), start(group.start));
    let style = if matches!(group.start, Start::Step(_)) { "solid" } else { "dashed" };
    let _ = writeln!(text, "  subgraph cluster_{g} {{\n    label={};\n    style={style};", quoted(&label));
    for (j, job) in group.jobs.iter().enumerate() {
        let _ = writeln!(text, "    {} [label={}];", node(g, j), quoted(&job.name));
    }
    text.push_str("  }\n");
}

/// A node for each provider that is not in the deployment.
fn write_outside(text: &mut String, graph: &Graph) {
    let consumed = graph.groups.iter().flat_map(|group| &group.jobs).flat_map(|job| &job.consumes);
    let mut names: Vec<_> = consumed
        .filter_map(|link| if let Source::Outside(name) = &link.source { Some(quoted(name)) } else { None })
        .collect();
    names.sort();
    names.dedup();
    for name in names {
        let _ = writeln!(text, "  {name} [shape=ellipse];");
    }
}

fn write_steps(text: &mut String, graph: &Graph) {
    let mut first: BTreeMap<usize, usize> = BTreeMap::new();
    for (g, group) in graph.groups.iter().enumerate() {
        if let (Start::Step(step), false) = (group.start, group.jobs.is_empty()) {
            first.entry(step).or_insert(g);
        }
    }
    let groups: Vec<_> = first.into_values().collect();
    for pair in groups.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let ends = format!("ltail=cluster_{from}, lhead=cluster_{to}");
        let _ = writeln!(text, "  {} -> {} [{ends}, color=gray, style=bold];", node(from, 0), node(to, 0));
    }
}

fn node(group: usize, job: usize) -> String {
    format!("job_{group}_{job}")
}

/// A quoted identifier; a newline becomes an escape.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
