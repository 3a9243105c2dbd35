//! The pages of a deployment, by their paths.

use deployment_diff::Mask;
use render_release::{Preview, PreviewFile};

use crate::pages;
use crate::site::{FINDINGS, INDEX, INSTANCES, Site};

/// The paths of the pages that are not about one instance, and of what all pages load.
pub(crate) const COMMON: [&str; 4] = [STYLE_PATH, SCRIPT_PATH, INDEX, FINDINGS];
const STYLE_PATH: &str = "view.css";
const SCRIPT_PATH: &str = "view.js";

const STYLE: &str = include_str!("../assets/view.css");
const SCRIPT: &str = include_str!("../assets/view.js");

/// A file for a browser.
pub(crate) struct Page {
    /// Its media type.
    pub(crate) media_type: &'static str,
    /// Its content.
    pub(crate) body: String,
}

/// What a path names.
enum Target {
    Style,
    Script,
    Index,
    Findings,
    Instance(String),
    File(String, String),
}

/// The page of a path; `None` if it has none. With `shows_secrets` nothing is masked.
pub(crate) fn page(site: &Site, path: &str, shows_secrets: bool) -> Option<Page> {
    let body = match target(site, path)? {
        Target::Style => {
            let body = format!("{STYLE}\n/* The graph. */\n{}\n", deployment_graph::svg::STYLE);
            return Some(Page { media_type: "text/css; charset=utf-8", body });
        }
        Target::Script => {
            return Some(Page { media_type: "text/javascript; charset=utf-8", body: SCRIPT.to_owned() });
        }
        Target::Index => pages::overview::page(site),
        Target::Findings => pages::findings::page(site),
        Target::Instance(name) => pages::instance::page(site, &name),
        Target::File(instance, file) => {
            let found = site.instance(&instance);
            let none = Mask::none();
            let mask = if shows_secrets { Some(&none) } else { site.preview.as_ref().ok().map(Preview::mask) };
            let is_it = |one: &&PreviewFile| format!("{}/{}", one.job, one.path) == file;
            let shown = found.as_ref().as_ref().ok().and_then(|found| Some((found.files.iter().find(is_it)?, found)));
            let (shown, all) = shown?;
            pages::file::page(site, &instance, shown, all, mask?, shows_secrets)
        }
    };
    Some(Page { media_type: "text/html; charset=utf-8", body })
}

fn target(site: &Site, path: &str) -> Option<Target> {
    match path {
        STYLE_PATH => return Some(Target::Style),
        SCRIPT_PATH => return Some(Target::Script),
        "" | INDEX => return Some(Target::Index),
        FINDINGS => return Some(Target::Findings),
        _ => {}
    }
    let (instance, rest) = path.strip_prefix(INSTANCES)?.strip_prefix('/')?.split_once('/')?;
    let name = site.instance_names().into_iter().find(|name| name.replace('/', "-") == instance)?;
    if rest.is_empty() || rest == INDEX {
        return Some(Target::Instance(name));
    }
    Some(Target::File(name, rest.strip_prefix("files/")?.strip_suffix(".html")?.to_owned()))
}
