//! What an executable of the workspace is made of.
//!
//! Cargo's own list, `target/<profile>/<executable>.d`, is written by `cargo build` only. The lists of rustc, one for each
//! crate in `target/<profile>/deps`, are those of the last build, whichever command it was.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The directory of the workspace.
pub(super) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap_or(Path::new(".")).to_path_buf()
}

/// The sources of an executable `target/<profile>/<package>` and of all crates of the workspace that it is linked with, as
/// far as lists of them exist.
pub(super) fn of(executable: &Path, workspace: &Path) -> Vec<PathBuf> {
    let package = executable.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let deps = executable.with_file_name("deps");
    // The same file: the executable's tests have a list of the same name.
    let inode = |path: &Path| fs::metadata(path).map(|metadata| metadata.ino()).ok();
    let own = entries(&deps).into_iter().find(|path| path.extension().is_none() && inode(path) == inode(executable));
    let mut lists: Vec<PathBuf> = own.into_iter().map(|path| path.with_extension("d")).collect();
    let mut found = Vec::new();
    for name in linked(&package, workspace) {
        if name != package {
            lists.extend(newest_library(&deps, &name.replace('-', "_")));
        }
        if let Some(directory) = directory(&name, workspace).filter(|directory| directory.join("build.rs").exists()) {
            // Sources that a build script compiles: rustc does not list them.
            found.push(directory.join("build.rs"));
            found.extend(entries(&directory.join("ruby")));
        }
    }
    let texts = lists.iter().filter_map(|list| fs::read_to_string(list).ok());
    found.extend(texts.flat_map(|text| listed(&text)).map(|path| workspace.join(path)));
    found
}

/// The package and the packages of the workspace that it depends on, directly or through others.
fn linked(package: &str, workspace: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open = vec![package.to_owned()];
    while let Some(name) = open.pop() {
        let Some(directory) = directory(&name, workspace) else { continue };
        if names.insert(name) {
            open.extend(dependencies(&fs::read_to_string(directory.join("Cargo.toml")).unwrap_or_default()));
        }
    }
    names
}

/// The directory of a package of the workspace: an executable's in `bins`, any other's in its subject's directory.
fn directory(name: &str, workspace: &Path) -> Option<PathBuf> {
    let subjects = entries(&workspace.join("crates"));
    let parents = subjects.into_iter().chain([workspace.join("bins")]);
    parents.map(|parent| parent.join(name)).find(|path| path.join("Cargo.toml").is_file())
}

/// The names in the section `[dependencies]` of a `Cargo.toml`.
fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = section.take_while(|line| !line.starts_with('['));
    lines
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// rustc's list for the library that was built last.
fn newest_library(deps: &Path, name: &str) -> Option<PathBuf> {
    let modified =
        |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let hash = |path: &Path| {
        let file = path.file_name()?.to_str()?;
        file.strip_prefix("lib")?.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(".rlib").map(str::to_owned)
    };
    let libraries = entries(deps).into_iter().filter_map(|path| Some((modified(&path), hash(&path)?)));
    libraries.max().map(|(_, hash)| deps.join(format!("{name}-{hash}.d")))
}

/// The paths after the colons of a makefile, `\ ` being a space.
fn listed(list: &str) -> BTreeSet<String> {
    let rules = list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(": "));
    let paths = rules.flat_map(|(_, paths)| {
        paths.replace("\\ ", "\0").split(' ').map(|path| path.replace('\0', " ")).collect::<Vec<_>>()
    });
    paths.filter(|path| !path.is_empty()).collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_manifests_are_read() {
        let list = "/t/libx.rlib: a/x.rs a/a\\ b.rs\n\n/t/x.d: a/x.rs\n\na/x.rs:\n# env-dep:A=b: c\n";
        assert_eq!(listed(list).into_iter().collect::<Vec<_>>(), ["a/a b.rs", "a/x.rs"]);
        let manifest = "[package]\nname = \"x\"\n\n[dependencies]\na-b.workspace = true\nc = { path = \"c\" }\n\n[dev-dependencies]\nd = \"1\"\n";
        assert_eq!(dependencies(manifest), ["a-b", "c"]);
    }

    #[test]
    fn the_sources_of_an_executable_are_those_of_its_linked_crates() {
        let names = linked("boson-pod", &workspace());
        for name in ["boson-pod", "run-process", "supervisor", "problem"] {
            assert!(names.contains(name), "{name}: {names:?}");
        }
        assert!(!names.contains("ruby") && !names.contains("testkit") && !names.contains("clap"), "{names:?}");
    }
}
