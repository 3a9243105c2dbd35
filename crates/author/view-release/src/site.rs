//! The pages of a deployment, by their paths.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use deployment_diff::Mask;
use problem::{Problems, Result};
use render_release::{Preview, PreviewFile, PreviewInstance, Previews};

use crate::findings::Findings;
use crate::pages;

/// Instances whose files are kept.
const MAX_KEPT: usize = 32;

/// The page to begin with.
pub(crate) const INDEX: &str = "index.html";
/// The page with all findings of lint.
pub(crate) const FINDINGS: &str = "findings.html";
/// The directory of the pages of instances.
const INSTANCES: &str = "instances";

const STYLE: &str = include_str!("../assets/view.css");
const SCRIPT: &str = include_str!("../assets/view.js");

/// A deployment, or what is wrong with it, as pages.
pub(crate) struct Site<'a, 'p> {
    pub(crate) preview: std::result::Result<Preview<'a>, Problems>,
    previews: &'p Previews<'p>,
    releases: Vec<PathBuf>,
    /// The number of this state of the files; `None` for pages that do not load again.
    pub(crate) version: Option<u64>,
    findings: OnceCell<Findings>,
    instances: RefCell<BTreeMap<String, Rc<Result<PreviewInstance>>>>,
}

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

impl<'a, 'p> Site<'a, 'p> {
    pub(crate) fn new(
        preview: Result<Preview<'a>>,
        previews: &'p Previews<'p>,
        releases: Vec<PathBuf>,
        version: Option<u64>,
    ) -> Site<'a, 'p> {
        Site { preview, previews, releases, version, findings: OnceCell::new(), instances: RefCell::default() }
    }

    /// The page of a path; `None` if it has none. With `shows_secrets` nothing is masked.
    pub(crate) fn page(&self, path: &str, shows_secrets: bool) -> Option<Page> {
        let body = match self.target(path)? {
            Target::Style => {
                let body = format!("{STYLE}\n/* The graph. */\n{}\n", deployment_graph::svg::STYLE);
                return Some(Page { media_type: "text/css; charset=utf-8", body });
            }
            Target::Script => {
                return Some(Page { media_type: "text/javascript; charset=utf-8", body: SCRIPT.to_owned() });
            }
            Target::Index => pages::overview::page(self),
            Target::Findings => pages::findings::page(self),
            Target::Instance(name) => pages::instance::page(self, &name),
            Target::File(instance, file) => {
                let found = self.instance(&instance);
                let none = Mask::none();
                let mask = if shows_secrets { Some(&none) } else { self.preview.as_ref().ok().map(Preview::mask) };
                let is_it = |one: &&PreviewFile| format!("{}/{}", one.job, one.path) == file;
                let shown =
                    found.as_ref().as_ref().ok().and_then(|found| Some((found.files.iter().find(is_it)?, found)));
                let (shown, all) = shown?;
                pages::file::page(self, &instance, shown, all, mask?, shows_secrets)
            }
        };
        Some(Page { media_type: "text/html; charset=utf-8", body })
    }

    /// The paths of all pages.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = ["view.css", "view.js", INDEX, FINDINGS].map(str::to_owned).into();
        for name in self.instance_names() {
            paths.push(instance_path(&name));
            if let Ok(instance) = self.instance(&name).as_ref() {
                paths.extend(instance.files.iter().map(|file| file_path(&name, file)));
            }
        }
        paths
    }

    /// The names of all instances, GROUP/INDEX.
    pub(crate) fn instance_names(&self) -> Vec<String> {
        let groups = self.preview.iter().flat_map(|preview| preview.groups());
        groups.flat_map(|group| group.slots.iter().map(|slot| format!("{}/{}", group.name, slot.index))).collect()
    }

    /// An instance with its files.
    pub(crate) fn instance(&self, name: &str) -> Rc<Result<PreviewInstance>> {
        if let Some(known) = self.instances.borrow().get(name) {
            return known.clone();
        }
        let instance = match &self.preview {
            Ok(preview) => preview.instance(name),
            Err(problems) => Err(problems.clone()),
        };
        let instance = Rc::new(instance);
        let mut kept = self.instances.borrow_mut();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(name.to_owned(), instance.clone());
        instance
    }

    /// The findings of lint.
    pub(crate) fn findings(&self) -> &Findings {
        self.findings.get_or_init(|| {
            let (manifest, inputs) = self.previews.manifest();
            lint_release::find(self.previews.vm(), self.previews.renderer(), &self.releases, manifest, inputs)
        })
    }

    /// The text without secrets.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.preview.as_ref().map_or_else(|_| text.to_owned(), |preview| preview.mask().apply(text))
    }

    fn target(&self, path: &str) -> Option<Target> {
        match path {
            "view.css" => return Some(Target::Style),
            "view.js" => return Some(Target::Script),
            "" | INDEX => return Some(Target::Index),
            FINDINGS => return Some(Target::Findings),
            _ => {}
        }
        let (instance, rest) = path.strip_prefix(INSTANCES)?.strip_prefix('/')?.split_once('/')?;
        let name = self.instance_names().into_iter().find(|name| name.replace('/', "-") == instance)?;
        if rest.is_empty() || rest == INDEX {
            return Some(Target::Instance(name));
        }
        Some(Target::File(name, rest.strip_prefix("files/")?.strip_suffix(".html")?.to_owned()))
    }
}

/// The path of an instance's page.
pub(crate) fn instance_path(instance: &str) -> String {
    format!("{INSTANCES}/{}/{INDEX}", instance.replace('/', "-"))
}

/// The path of a file's page.
pub(crate) fn file_path(instance: &str, file: &PreviewFile) -> String {
    format!("{INSTANCES}/{}/files/{}/{}.html", instance.replace('/', "-"), file.job, file.path)
}
