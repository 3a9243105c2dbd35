//! The page to begin with: groups, instances and the graph.

use std::fmt::Write;

use deployment_graph::svg;
use instance_group::Resolved;
use render_release::Preview;

use crate::html::{Frame, address, escaped};
use crate::pages::{count, problems};
use crate::site::{FINDINGS, INDEX, Site, instance_path};

/// The page of the deployment, or of what is wrong with it.
pub(crate) fn page(site: &Site) -> String {
    let preview = match &site.preview {
        Ok(preview) => preview,
        Err(found) => {
            let frame = frame("cannot be shown", site.version);
            let main = format!(
                "<h1>The deployment cannot be shown</h1>\n{}<p>The page loads again when a file is saved.</p>\n",
                problems(site, "What is wrong", found.iter())
            );
            return frame.page(&main);
        }
    };
    let name = if preview.name().is_empty() { "deployment" } else { preview.name() };
    let title = format!("{name} - boson view");
    let frame = frame(&title, site.version);
    let groups: String = preview.groups().iter().map(|group| group_row(&frame, group)).collect();
    let main = format!(
        "<h1>Deployment {}</h1>\n<p><a href=\"{}\">Findings of lint</a></p>\n<div class=\"overview\">\n\
         <section aria-labelledby=\"groups\">\n<h2 id=\"groups\">Instance groups</h2>\n<ul class=\"groups\">\n{groups}</ul>\n</section>\n\
         {}</div>\n",
        escaped(name),
        address(FINDINGS),
        graph(site, preview)
    );
    frame.page(&main)
}

fn frame(title: &str, version: Option<u64>) -> Frame<'_> {
    Frame { path: INDEX, title, above: &[], name: "Deployment", version }
}

/// A group with its instances.
fn group_row(frame: &Frame, group: &Resolved) -> String {
    let mut row = format!("<li><h3>{}</h3>\n<p class=\"jobs\">", escaped(&group.name));
    let jobs: Vec<String> = group.jobs.iter().map(|job| escaped(&job.name)).collect();
    // Writing to a string does not fail.
    let _ = write!(row, "{}", if jobs.is_empty() { "no jobs".to_owned() } else { jobs.join(", ") });
    row += "</p>\n<ul class=\"instances\">";
    for slot in &group.slots {
        let name = format!("{}/{}", group.name, slot.index);
        let az = slot.az.as_ref().map(|az| format!(" <span class=\"az\">{}</span>", escaped(az))).unwrap_or_default();
        let target = escaped(&frame.to(&instance_path(&name)));
        let _ = write!(row, "<li><a href=\"{target}\">{}</a>{az}</li>", escaped(&name));
    }
    if group.slots.is_empty() {
        row += "<li>no instances</li>";
    }
    row + "</ul></li>\n"
}

/// The graph, or why there is none.
fn graph(site: &Site, preview: &Preview) -> String {
    let drawn = match preview.graph() {
        Ok(graph) => {
            let target = |group: &deployment_graph::Group| {
                let resolved = preview.groups().iter().find(|one| one.name == group.name)?;
                let slot = resolved.slots.first()?;
                Some(address(&instance_path(&format!("{}/{}", group.name, slot.index))))
            };
            let picture = svg::render_element(graph, &target);
            let links = graph.groups.iter().flat_map(|group| &group.jobs).map(|job| job.consumes.len()).sum();
            format!(
                "<p>{}, {}</p>\n<div class=\"graph\" role=\"region\" aria-label=\"Graph of the deployment\" tabindex=\"0\">\n{picture}</div>\n",
                count(graph.groups.len(), "group"),
                count(links, "link")
            )
        }
        Err(found) => problems(site, "The graph cannot be drawn", found.iter()),
    };
    format!("<section aria-labelledby=\"graph\">\n<h2 id=\"graph\">Graph</h2>\n{drawn}</section>\n")
}
