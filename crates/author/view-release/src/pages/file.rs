//! The page of a file: the template and what it renders, side by side.

use std::collections::BTreeMap;
use std::fmt::Write;

use deployment_diff::Mask;
use lint_release::Finding;
use problem::Problem;
use render_release::{PreviewFile, PreviewInstance, ReadLine};
use template::Source;

use crate::findings::{self, plain};
use crate::html::{Frame, escaped};
use crate::pages::instance::tree;
use crate::pages::{count, finding, problems};
use crate::site::{INDEX, Site, file_path, instance_path};

/// Lines of a text that are shown.
const MAX_LINES: usize = 5000;
/// Characters of a line that are shown.
const MAX_CHARACTERS: usize = 2000;

/// The page of a file of an instance.
pub(crate) fn page(
    site: &Site,
    instance: &str,
    file: &PreviewFile,
    all: &PreviewInstance,
    mask: &Mask,
    shows_secrets: bool,
) -> String {
    let name = format!("{}/{}", file.job, file.path);
    let (title, path) = (format!("{name} of {instance} - boson view"), file_path(instance, file));
    let above = [("Deployment".to_owned(), INDEX.to_owned()), (instance.to_owned(), instance_path(instance))];
    let frame = Frame { path: &path, title: &title, above: &above, name: &name, version: site.version };
    let (template_pane, others) = match &file.template {
        Some(source) => template(site, file, source, all),
        None => ("<p>boson writes this file: it has no template.</p>\n".to_owned(), Vec::new()),
    };
    let (rendered, has_secrets) = rendered(file, mask);
    let secrets = match (site.version, shows_secrets) {
        (Some(_), true) => "<p><a class=\"button\" href=\"?\">Hide secrets</a></p>\n",
        (Some(_), false) if has_secrets => "<p><a class=\"button\" href=\"?secrets=show\">Show secrets</a></p>\n",
        (None, _) if has_secrets => "<p>Secrets are masked.</p>\n",
        _ => "",
    };
    let changed = if file.is_changed {
        "<p>The manifest changes this file after it is rendered: its lines are not linked.</p>\n"
    } else {
        ""
    };
    let main = format!(
        "<h1>{}</h1>\n{secrets}{changed}{}<details class=\"files\"><summary>Files of {}</summary>\n{}</details>\n\
         <div class=\"panes\">\n<section class=\"pane\" aria-labelledby=\"template\">\n<h2 id=\"template\">Template{}</h2>\n{template_pane}</section>\n\
         <section class=\"pane\" aria-labelledby=\"rendered\">\n<h2 id=\"rendered\">Rendered file</h2>\n{rendered}</section>\n</div>\n\
         <section id=\"details\" aria-label=\"About the line\" aria-live=\"polite\"><p>Point at a line, or move to its number, to see what \
         renders it and what it reads. The arrow keys move between lines.</p></section>\n",
        escaped(&name),
        problems(site, "The template fails", others),
        escaped(instance),
        tree(site, &frame, instance, all, Some(&name)),
        file.template.as_ref().map(|one| format!(" <span>{}</span>", escaped(plain(&one.file)))).unwrap_or_default(),
    );
    frame.page(&main)
}

/// The template with what is wrong at its lines, and the problems that have no line in it.
fn template<'i>(
    site: &Site,
    file: &PreviewFile,
    source: &Source,
    all: &'i PreviewInstance,
) -> (String, Vec<&'i Problem>) {
    let text = String::from_utf8_lossy(&source.text);
    let mut renders: BTreeMap<u32, u32> = BTreeMap::new();
    for (number, lines) in (1..).zip(&file.origins) {
        lines.iter().for_each(|line| _ = renders.entry(*line).or_insert(number));
    }
    let of_file = findings::of_file(site.findings(), &source.file);
    let (mut in_place, mut others) = (BTreeMap::<u32, Vec<String>>::new(), Vec::new());
    for one in of_file {
        in_place.entry(one.place.line.unwrap_or(1)).or_default().push(below_line(site, one));
    }
    for problem in all.problems.iter().filter(|_| file.content.is_none()) {
        let line = line_in(problem, &source.file);
        match line.filter(|line| (*line as usize) <= text.lines().count()) {
            Some(line) => {
                let text = escaped(&site.masked(&problem.text().to_string()));
                let below = format!("<div class=\"finding error\"><strong>error</strong><pre>{text}</pre></div>");
                in_place.entry(line).or_default().insert(0, below);
            }
            None => others.push(problem),
        }
    }
    let mut pane = String::from("<ol class=\"code\" id=\"t\">\n");
    for (number, line) in (1..).zip(text.lines().take(MAX_LINES)) {
        let target = renders.get(&number).map_or_else(|| format!("t{number}"), |first| format!("r{first}"));
        let label = renders.get(&number).map(|first| format!(", renders line {first}")).unwrap_or_default();
        let reads = file.reads.get(&number).map(|reads| attribute(reads)).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(
            pane,
            "<li id=\"t{number}\"{reads}><a href=\"#{target}\" aria-label=\"Template line {number}{label}\">{number}</a><code>{}</code>{}</li>",
            shown(line),
            in_place.remove(&number).unwrap_or_default().concat()
        );
    }
    pane += "</ol>\n";
    pane += &rest(text.lines().count());
    (pane, others)
}

/// The line of the template that a problem is about.
fn line_in(problem: &Problem, file: &str) -> Option<u32> {
    let places = problem.place.iter().chain(problem.notes.iter().map(|note| &note.place));
    places.filter(|place| plain(&place.file) == plain(file)).find_map(|place| place.line)
}

fn below_line(site: &Site, found: &Finding) -> String {
    format!("<div class=\"finding {}\">{}</div>", found.severity, finding(site, found))
}

/// The rendered lines, and whether a secret is among them.
fn rendered(file: &PreviewFile, mask: &Mask) -> (String, bool) {
    let Some(content) = &file.content else {
        return ("<p class=\"failed\">The template fails: there is no file.</p>\n".to_owned(), false);
    };
    let text = String::from_utf8_lossy(content);
    let lines = mask.apply_to_lines(&text);
    let has_secrets = lines.iter().zip(text.lines()).any(|(masked, line)| masked != line);
    let mut pane = String::from("<ol class=\"code\" id=\"r\">\n");
    for (number, line) in (1..).zip(lines.iter().take(MAX_LINES)) {
        let origins = file.origins.get(number - 1).map(Vec::as_slice).unwrap_or_default();
        let target = origins.first().map_or_else(|| format!("r{number}"), |line| format!("t{line}"));
        let numbers = origins.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let label = if numbers.is_empty() { String::new() } else { format!(", from template line {numbers}") };
        // Writing to a string does not fail.
        let _ = writeln!(
            pane,
            "<li id=\"r{number}\" data-from=\"{numbers}\"><a href=\"#{target}\" aria-label=\"Line {number}{label}\">{number}</a><code>{}</code></li>",
            shown(line)
        );
    }
    pane += "</ol>\n";
    if content.is_empty() {
        pane += "<p>The file is empty.</p>\n";
    }
    pane += &rest(lines.len());
    (pane, has_secrets)
}

/// What a template's line reads, for the script and as a tooltip.
fn attribute(reads: &[ReadLine]) -> String {
    let lines: Vec<String> = reads
        .iter()
        .map(|ReadLine { name, origin }| format!("{name}\t{}", startup::without_control(origin).replace("  ", " ")))
        .collect();
    format!(" data-reads=\"{}\"", escaped(&lines.join("\n")))
}

fn shown(line: &str) -> String {
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}<em> (line too long to show)</em>", escaped(&line[..end])),
        None => escaped(line),
    }
}

fn rest(lines: usize) -> String {
    match lines.saturating_sub(MAX_LINES) {
        0 => String::new(),
        more => format!("<p>{} more; `boson render` shows all.</p>\n", count(more, "line")),
    }
}
