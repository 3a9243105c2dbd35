//! Where the executables of a platform stand in an archive, and where terraform looks for them.

use crate::manifest::{Binary, Manifest};

/// A file of the archive, and where it is written below a directory of executables.
pub type Copy = (String, String);

/// The directory of a platform (`os/arch`) in an archive.
pub fn directory(platform: &str) -> String {
    format!("bin/{platform}")
}

/// The executables of a platform of the manifest, and messages about those that the archive does not have. `names` are those of the
/// archive's files.
pub fn executables(manifest: &Manifest, platform: &str, names: &[&str]) -> (Vec<Copy>, Vec<String>) {
    let directory = directory(platform);
    let target = platform.replace('/', "_");
    let mut copies = Vec::new();
    let mut wrong = Vec::new();
    for terraform in &manifest.terraform {
        let Binary { name, version, .. } = terraform;
        let paths = [format!("{directory}/{version}/{name}"), format!("{directory}/{name}")];
        match paths.into_iter().find(|path| names.contains(&path.as_str())) {
            Some(path) => copies.push((path, format!("versions/{version}/{name}"))),
            None => wrong.push(format!("could not find {name} version {version} in brokerpak")),
        }
    }
    for provider in &manifest.providers {
        match find(names, &format!("{directory}/{}_v{}", provider.name, provider.version)) {
            Ok(path) => {
                let address = provider.provider.as_deref().unwrap_or_default();
                let to = format!("{address}/{}/{target}/{}", provider.version, file_name(&path));
                copies.push((path, to));
            }
            Err(message) => wrong.push(message),
        }
    }
    for other in &manifest.other_binaries {
        match find(names, &format!("{directory}/{}", other.name)) {
            Ok(path) => {
                let to = file_name(&path).to_owned();
                copies.push((path, to));
            }
            Err(message) => wrong.push(message),
        }
    }
    (copies, wrong)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The only file with a prefix; what follows the prefix starts with one of `_-.`, so that `psql` is not `psqlodbc`.
fn find(names: &[&str], prefix: &str) -> Result<String, String> {
    let is_it = |rest: &str| (rest.is_empty() || rest.starts_with(['_', '-', '.'])) && !rest.contains('/');
    let mut found: Vec<&str> =
        names.iter().copied().filter(|name| name.strip_prefix(prefix).is_some_and(is_it)).collect();
    found.sort_unstable();
    match found.as_slice() {
        [] => Err(format!("file with prefix {prefix:?} not found in zip")),
        [one] => Ok((*one).to_owned()),
        _ if found[0] == prefix => Ok(prefix.to_owned()),
        several => Err(format!("multiple files found with prefix {prefix:?}: {}", several.join(", "))),
    }
}
