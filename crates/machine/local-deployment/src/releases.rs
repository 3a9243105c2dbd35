//! The releases of a manifest: those of `--release`, and those that the manifest gives by `url`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fetch::Fetcher;
use go_yaml::{Node, Value};
use manifest_inputs::{Document, Documents};
use manifest_model::replaced::is_spec_unneeded;
use problem::{Place, Problem, Problems, Result, code, hint_for_unknown};
use release::{Download, Release};

use local_state::{Progress, Step, output};

/// How long one download may take.
const MAX_TIME: Duration = Duration::from_secs(3600);
/// How many bytes an archive may have.
const MAX_SIZE: u64 = 16 << 30;
/// How often the progress of a download is shown.
const SHOWN: Duration = Duration::from_millis(200);

/// A release of a manifest.
struct Wanted {
    name: String,
    url: Option<String>,
    digest: Option<String>,
    place: Place,
}

/// The releases to use: those given, and for the others of the manifest and the runtime configs what is at their `url`, downloaded
/// into the cache if it is not there.
///
/// # Errors
/// Releases that jobs are from and that are neither given nor have a URL; what cannot be downloaded.
pub(crate) fn complete(documents: &Documents, given: &[PathBuf], is_offline: bool) -> Result<Vec<PathBuf>> {
    let all: Vec<Wanted> =
        std::iter::once(&documents.manifest).chain(&documents.runtime_configs).flat_map(wanted).collect();
    let mut releases = given.to_vec();
    let missing_files = crate::input::missing_releases(given);
    if all.is_empty() || !missing_files.is_empty() {
        // What is wrong with them is reported where they are read.
        return Ok(releases);
    }
    let known = names(given)?;
    let (mut problems, mut seen) = (Vec::new(), BTreeSet::new());
    let progress = Progress::on_stdout();
    for release in all.iter().filter(|release| !known.contains(&release.name)) {
        if !seen.insert(&release.name) {
            continue;
        }
        match &release.url {
            None => problems.push(not_given(release, &known)),
            Some(url) => match located(release, url, is_offline, &progress) {
                Ok(path) => releases.push(path),
                Err(found) => problems.extend(found.into_vec()),
            },
        }
    }
    Problems::check(problems)?;
    Ok(releases)
}

/// The problem of a release that is none of those given.
fn not_given(release: &Wanted, given: &BTreeSet<String>) -> Problem {
    let hint = hint_for_unknown(&release.name, given.iter().map(String::as_str), || {
        "PATH is its source directory, or an archive made by bosh; a release with `url` in the manifest is downloaded"
            .to_owned()
    });
    Problem::input(format!("release '{}' is not given: -r PATH", release.name))
        .code(code::RELEASE_MISSING)
        .at(release.place.clone())
        .hint(hint)
}

/// The names of the releases given.
fn names(given: &[PathBuf]) -> Result<BTreeSet<String>> {
    let cache = local_state::user_dirs::cache()?;
    let (mut names, mut problems) = (BTreeSet::new(), Vec::new());
    for path in given {
        match Release::open_any(path, &cache, &|| false) {
            Ok(release) => drop(names.insert(release.name)),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    Problems::check(problems)?;
    Ok(names)
}

/// The archive or directory at a URL.
fn located(release: &Wanted, url: &str, is_offline: bool, progress: &Progress) -> Result<PathBuf> {
    let at = |problem: Problem| problem.at(release.place.clone()).code(code::RELEASE_MISSING);
    if let Some(path) = url.strip_prefix("file:") {
        let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
        if path.exists() {
            return Ok(path);
        }
        return Err(at(Problem::input(format!("release '{}': {} does not exist", release.name, path.display()))).into());
    }
    if !url.starts_with("https://") && !url.starts_with("http://") {
        let message = format!("release '{}': the URL begins with neither https: nor file:", release.name);
        return Err(at(Problem::input(message)).hint("give the release with -r PATH").into());
    }
    if url.starts_with("http:") && release.digest.is_none() {
        let message =
            format!("release '{}': what a URL with http: sends is not protected, and has no sha1", release.name);
        return Err(at(Problem::input(message)).hint("add its sha1 or sha256 to the manifest, or use https:").into());
    }
    let download = Download::new(&local_state::user_dirs::cache()?, url, release.digest.as_deref());
    if let Some(path) = download.existing() {
        return Ok(path.to_path_buf());
    }
    if is_offline {
        let message = format!("release '{}' has not been downloaded, and --offline is given", release.name);
        return Err(at(Problem::input(message)).hint("give it with -r PATH").into());
    }
    let certificates = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let fetcher = Fetcher::anywhere(Path::new("/"), certificates.as_deref(), MAX_TIME, MAX_SIZE)?;
    let step = progress.step(format!("downloading the release {}", release.name));
    let mut size = 0;
    let path = download.make(|file| {
        let mut counted = Counted { file, step: &step, name: &release.name, size: 0, shown: Instant::now() };
        size = fetcher.copy(url, &mut counted).map_err(|why| {
            let message = format!("cannot download the release '{}'", release.name);
            at(Problem::internal(message)).because(why).hint("give it with -r PATH")
        })?;
        Ok(())
    })?;
    step.done(&format!("downloaded the release {}: {}", release.name, output::size(size)));
    if release.digest.is_none() {
        progress.line(&format!(
            "warning: the release {} has no sha1 in the manifest: its content is not checked",
            release.name
        ));
    }
    Ok(path.to_path_buf())
}

/// Shows how much has been written.
struct Counted<'a> {
    file: &'a mut File,
    step: &'a Step<'a>,
    name: &'a str,
    size: u64,
    shown: Instant,
}

impl Write for Counted<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.size += written as u64;
        if self.shown.elapsed() > SHOWN {
            self.step.at(format!("downloading the release {}: {}", self.name, output::size(self.size)));
            self.shown = Instant::now();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The releases of a document; none of one that is not valid, which `plan` reports.
fn wanted(document: &Document) -> Vec<Wanted> {
    let Ok(root) = go_yaml::read(document.text(), go_yaml::Source::default()) else { return Vec::new() };
    let Some(Node { value: Value::List(items), .. }) = root.get("releases") else { return Vec::new() };
    let text = |item: &Node, key: &str| item.get(key).and_then(Node::as_str).map(str::to_owned);
    let release = |item: &Node| {
        let place = Place::line(&document.file, item.origin.line);
        let place = if document.is_file() { place } else { Place::file(&document.file) };
        // A digest that YAML reads as a number has lost its text: no file has it.
        let digest = item.get("sha1").filter(|node| !matches!(node.value, Value::Null));
        let digest = digest.map(|node| node.as_str().unwrap_or_default().to_owned());
        Some(Wanted { name: text(item, "name")?, url: text(item, "url"), digest, place })
    };
    let used = used(&root);
    items.iter().filter_map(release).filter(|release| used.contains(&release.name)).collect()
}

/// The releases that jobs are from, of instance groups and addons. Jobs that boson takes the place of need none.
fn used(root: &Node) -> BTreeSet<String> {
    let list = |node: &Node, key: &str| match node.get(key) {
        Some(Node { value: Value::List(items), .. }) => items.clone(),
        _ => Vec::new(),
    };
    let groups = list(root, "instance_groups").into_iter().chain(list(root, "addons"));
    let jobs = groups.flat_map(|group| list(&group, "jobs"));
    jobs.filter_map(|job| {
        let text = |key: &str| job.get(key)?.as_str();
        let (release, name) = (text("release")?, text("name").unwrap_or_default());
        (!is_spec_unneeded(release, name)).then(|| release.to_owned())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(text: &str) -> Documents {
        Documents {
            manifest: Document::of_file("m.yml", text.as_bytes().to_vec()),
            runtime_configs: Vec::new(),
            cloud_configs: Vec::new(),
            variables: Default::default(),
        }
    }

    const JOBS: &str = "instance_groups: [{name: g, jobs: [{name: j, release: r}]}]\n";

    #[test]
    fn a_release_that_is_neither_given_nor_has_a_url_is_named() {
        let text = format!("name: d\nreleases:\n- {{name: r, version: 1}}\n- {{name: unused, version: 1}}\n{JOBS}");
        let problems = complete(&documents(&text), &[], false).unwrap_err().to_string();
        assert!(problems.starts_with("error: release 'r' is not given: -r PATH\n  --> m.yml:3"), "{problems}");
        assert!(!problems.contains("unused"), "{problems}");
        let wanted = Wanted { name: "shopp".into(), url: None, digest: None, place: Place::file("m.yml") };
        let hint = |given: &[&str]| not_given(&wanted, &given.iter().map(|name| (*name).to_owned()).collect()).hint;
        assert_eq!(hint(&["nats", "shop"]).as_deref(), Some("did you mean 'shop'?"));
        assert!(hint(&["nats"]).unwrap().starts_with("PATH is "));
    }

    #[test]
    fn a_url_of_a_file_is_that_file() {
        let archive = tempfile::NamedTempFile::new().unwrap();
        let path = archive.path().display().to_string();
        for url in [format!("file://{path}"), format!("file:{path}")] {
            let text = format!("releases: [{{name: r, version: 1, url: '{url}'}}]\n{JOBS}");
            assert_eq!(complete(&documents(&text), &[], true).unwrap(), [archive.path()]);
        }
        for (url, message) in [
            ("file:///no/such/file", "/no/such/file does not exist"),
            ("ftp://x/r.tgz", "begins with neither https: nor file:"),
            ("https://release.invalid/r.tgz", "has not been downloaded, and --offline is given"),
        ] {
            let text = format!("releases: [{{name: r, version: 1, url: '{url}', sha1: abc}}]\n{JOBS}");
            let problems = complete(&documents(&text), &[], true).unwrap_err().to_string();
            assert!(problems.contains(message), "{problems}");
        }
        let text = format!("releases: [{{name: r, version: 1, url: 'http://release.invalid/r.tgz'}}]\n{JOBS}");
        let problems = complete(&documents(&text), &[], true).unwrap_err().to_string();
        assert!(problems.contains("add its sha1 or sha256"), "{problems}");
    }
}
