//! The page of an instance: the tree of its files.

use std::fmt::Write;

use render_release::PreviewInstance;

use crate::findings;
use crate::html::{Frame, escaped};
use crate::pages::{count, problems};
use crate::site::{INDEX, Site, file_path, instance_path};

/// The page of an instance, GROUP/INDEX.
pub(crate) fn page(site: &Site, name: &str) -> String {
    let (title, path) = (format!("{name} - boson view"), instance_path(name));
    let above = [("Deployment".to_owned(), INDEX.to_owned())];
    let frame = Frame { path: &path, title: &title, above: &above, name, version: site.version };
    let content = match site.instance(name).as_ref() {
        Ok(instance) => {
            let failed = problems(site, "Templates that fail", &instance.problems);
            let files = count(instance.files.len(), "file");
            format!(
                "{failed}<section aria-labelledby=\"files\">\n<h2 id=\"files\">Rendered files</h2>\n<p>{files}</p>\n{}</section>\n",
                tree(site, &frame, name, instance, None)
            )
        }
        Err(found) => problems(site, "The instance cannot be shown", found.iter()),
    };
    frame.page(&format!("<h1>Instance {}</h1>\n{content}", escaped(name)))
}

/// The files of an instance by job, as links; `current` is the one that is shown, as JOB/PATH.
pub(crate) fn tree(
    site: &Site,
    frame: &Frame,
    instance: &str,
    content: &PreviewInstance,
    current: Option<&str>,
) -> String {
    let mut tree = String::from("<ul class=\"tree\">\n");
    let mut job = None;
    for file in &content.files {
        if job != Some(&file.job) {
            tree += if job.is_some() { "</ul></li>\n" } else { "" };
            // Writing to a string does not fail.
            let _ = write!(tree, "<li><strong>{}</strong><ul>", escaped(&file.job));
            job = Some(&file.job);
        }
        let name = format!("{}/{}", file.job, file.path);
        let is_current = if current == Some(&name) { " aria-current=\"page\"" } else { "" };
        let mut note = String::new();
        if file.content.is_none() {
            note += " <span class=\"failed\">fails</span>";
        }
        let found = file.template.as_ref().map_or(0, |source| findings::of_file(site.findings(), &source.file).len());
        if found > 0 {
            let _ = write!(note, " <span class=\"found\">{}</span>", count(found, "finding"));
        }
        let target = escaped(&frame.to(&file_path(instance, file)));
        let _ = writeln!(
            tree,
            "<li><a href=\"{target}\"{is_current}>{}</a> <span class=\"mode\">{:04o}</span>{note}</li>",
            escaped(&file.path),
            file.mode
        );
    }
    tree += if job.is_some() { "</ul></li>\n" } else { "" };
    tree + "</ul>\n"
}
