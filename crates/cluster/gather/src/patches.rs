//! `--patch`: patches of releases, checked as far as they can be without the releases.

use std::path::Path;

use kubernetes_objects::{Patches, ReleaseRef};
use problem::{Place, Problem, Problems, Result, code};

use crate::MAX_PATCHES;

/// The patches of each release, in the order of the flags; `flags` have the form `RELEASE=FILE`.
///
/// # Errors
/// All flags that are malformed, releases that the manifest does not have or of which no job runs, files that cannot be read or
/// are no unified diffs, patches that are too large for a ConfigMap.
pub(crate) fn read(flags: &[String], releases: &[ReleaseRef]) -> Result<Vec<Patches>> {
    let mut problems = Vec::new();
    let mut patches: Vec<Patches> = Vec::new();
    for flag in flags {
        let Some((release, file)) = flag.split_once('=').filter(|(name, file)| !name.is_empty() && !file.is_empty())
        else {
            problems.push(Problem::usage(format!("--patch must be RELEASE=FILE, not '{flag}'")));
            continue;
        };
        problems.extend(unknown(release, releases));
        let content = match diff(Path::new(file)) {
            Ok(content) => content,
            Err(found) => {
                problems.extend(found.into_vec());
                continue;
            }
        };
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
        match patches.iter_mut().find(|known| known.release == release) {
            Some(known) => known.files.push((name, content)),
            None => patches.push(Patches { release: release.to_owned(), files: vec![(name, content)] }),
        }
    }
    problems.extend(patches.iter().filter_map(too_large));
    Problems::check(problems)?;
    Ok(patches)
}

fn unknown(release: &str, releases: &[ReleaseRef]) -> Option<Problem> {
    let problem = |message: String| Problem::input(message).code(code::RELEASE_UNKNOWN);
    match releases.iter().find(|known| known.name == release) {
        Some(known) if known.is_needed => None,
        Some(_) => Some(problem(format!("--patch: no job of release '{release}' runs"))),
        None => {
            let problem = problem(format!("--patch: the manifest has no release '{release}'"));
            let near = problem::did_you_mean(release, releases.iter().map(|known| known.name.as_str()));
            Some(near.map(|near| format!("did you mean '{near}'?")).into_iter().fold(problem, Problem::hint))
        }
    }
}

fn diff(path: &Path) -> Result<Vec<u8>> {
    let file = path.display().to_string();
    let content = vcap::input::read(path).map_err(|error| {
        let problem = Problem::input("cannot read the patch").code(code::INPUT_FILE).because(error);
        Problems::from(problem.at(Place::file(&file)))
    })?;
    unified_diff::read(&content).map_err(|malformed| {
        let problem = Problem::input("the patch is not a unified diff that can be applied").code(code::PATCH_INVALID);
        Problems::from(problem.because(&malformed.what).at(Place::line(&file, malformed.line)))
    })?;
    Ok(content)
}

fn too_large(patches: &Patches) -> Option<Problem> {
    let size: usize = patches.files.iter().map(|(_, content)| content.len()).sum();
    (size > MAX_PATCHES).then(|| {
        let release = &patches.release;
        let message =
            format!("the patches of release '{release}' have {size} bytes, and a ConfigMap holds {MAX_PATCHES}");
        Problem::input(message).code(code::DOCUMENT_TOO_LARGE)
    })
}
