//! The graph as lines for a terminal.

use std::fmt::Write;

use crate::{Graph, Job, instances, start};

/// A line for each group, job and link; groups in the manifest's order, each behind the step in which it starts.
pub fn render(graph: &Graph) -> String {
    let mut text = String::new();
    let width = graph.groups.iter().map(|group| start(group.start).len()).max().unwrap_or(0).max("START".len());
    // Writing to a string does not fail.
    let _ = writeln!(text, "{:width$}  INSTANCE GROUP, JOBS AND LINKS", "START");
    for group in &graph.groups {
        let _ = writeln!(text, "{:width$}  {}: {}", start(group.start), group.name, instances(group));
        for job in &group.jobs {
            write_job(&mut text, graph, job, width + 4);
        }
    }
    text
}

fn write_job(text: &mut String, graph: &Graph, job: &Job, indent: usize) {
    let _ = writeln!(text, "{:indent$}{} (release {})", "", job.name, job.release);
    let indent = indent + 2;
    for link in &job.provides {
        let _ = writeln!(text, "{:indent$}provides {}{}", "", link.name, of_type(&link.name, &link.link_type));
    }
    for link in &job.consumes {
        let link_type = of_type(&link.name, &link.link_type);
        let source = graph.source_name(&link.source);
        let _ = writeln!(text, "{:indent$}consumes {}{link_type} from {source}", "", link.name);
    }
}

/// The type of a link behind its name, unless it is the same.
pub(crate) fn of_type(name: &str, link_type: &str) -> String {
    if name == link_type { String::new() } else { format!(" (type {link_type})") }
}
