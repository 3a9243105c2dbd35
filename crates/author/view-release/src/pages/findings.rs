//! The page with all findings of lint.

use std::fmt::Write;

use crate::html::{Frame, escaped};
use crate::pages::{count, finding, problems};
use crate::site::{FINDINGS, INDEX, Site};

/// The page with the findings of all releases and the manifest, by file.
pub(crate) fn page(site: &Site) -> String {
    let above = [("Deployment".to_owned(), INDEX.to_owned())];
    let title = "Findings of lint - boson view";
    let frame = Frame { path: FINDINGS, title, above: &above, name: "Findings of lint", version: site.version };
    let content = match site.findings() {
        Ok(found) => {
            let mut text = format!("<p>{}</p>\n", count(found.len(), "finding"));
            let mut file = None;
            for one in found {
                let place = &one.place;
                if file != Some(&place.file) {
                    text += if file.is_some() { "</ul>\n" } else { "" };
                    // Writing to a string does not fail.
                    let _ = write!(text, "<h2>{}</h2>\n<ul class=\"findings\">\n", escaped(&place.file));
                    file = Some(&place.file);
                }
                let line = place.line.map(|line| format!("<span class=\"place\">line {line}</span> "));
                let (severity, content) = (one.severity, finding(site, one));
                let _ = writeln!(text, "<li class=\"finding {severity}\">{}{content}</li>", line.unwrap_or_default());
            }
            text + if file.is_some() { "</ul>\n" } else { "" }
        }
        Err(found) => problems(site, "The releases cannot be checked", found.iter()),
    };
    frame.page(&format!("<h1>Findings of lint</h1>\n{content}"))
}
