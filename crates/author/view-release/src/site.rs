//! What the pages of a deployment show.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use problem::{Problems, Result};
use render_release::{Preview, PreviewFile, PreviewInstance, Previews, instance_names};

use crate::findings::Findings;

/// Instances whose files are kept.
const MAX_KEPT: usize = 32;

/// The page to begin with.
pub(crate) const INDEX: &str = "index.html";
/// The page with all findings of lint.
pub(crate) const FINDINGS: &str = "findings.html";
/// The directory of the pages of instances.
pub(crate) const INSTANCES: &str = "instances";

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

impl<'a, 'p> Site<'a, 'p> {
    pub(crate) fn new(
        preview: Result<Preview<'a>>,
        previews: &'p Previews<'p>,
        releases: Vec<PathBuf>,
        version: Option<u64>,
    ) -> Site<'a, 'p> {
        Site { preview, previews, releases, version, findings: OnceCell::new(), instances: RefCell::default() }
    }

    /// The paths of an instance's pages.
    pub(crate) fn paths_of(&self, name: &str) -> Vec<String> {
        let instance = self.instance(name);
        let files = instance.iter().flat_map(|instance| &instance.files);
        std::iter::once(instance_path(name)).chain(files.map(|file| file_path(name, file))).collect()
    }

    /// The names of all instances, GROUP/INDEX.
    pub(crate) fn instance_names(&self) -> Vec<String> {
        self.preview.iter().flat_map(|preview| instance_names(preview.groups())).collect()
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
}

/// The path of an instance's page.
pub(crate) fn instance_path(instance: &str) -> String {
    format!("{INSTANCES}/{}/{INDEX}", instance.replace('/', "-"))
}

/// The path of a file's page.
pub(crate) fn file_path(instance: &str, file: &PreviewFile) -> String {
    format!("{INSTANCES}/{}/files/{}/{}.html", instance.replace('/', "-"), file.job, file.path)
}
