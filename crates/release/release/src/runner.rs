//! Running a package's scripts: the step, and the interface of what runs it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use problem::Result;
use vcap::Vcap;

use crate::package::PRE_PACKAGING;
use crate::tree::remove_tree;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// One script to run. All paths are the host's.
#[derive(Debug)]
pub struct CompileStep<'a> {
    /// The package's name.
    pub package: &'a str,
    /// Its fingerprint, which is its version.
    pub version: &'a str,
    /// The script's name in `compile_dir`: `packaging`, or `pre_packaging` before it.
    pub script: &'static str,
    /// Whether no other script follows, which would continue where this one ended.
    pub is_last: bool,
    /// The package's files and its scripts; the script runs in it.
    pub compile_dir: &'a Path,
    /// The directory that the script fills.
    pub install_dir: &'a Path,
    /// An empty directory for the runner's own use.
    pub scratch_dir: &'a Path,
    /// The compiled packages it depends on: name and content.
    pub dependencies: &'a [(String, PathBuf)],
    /// The release's source directory.
    pub release_dir: &'a Path,
    /// Where both outputs of the script go.
    pub log: &'a File,
}

impl CompileStep<'_> {
    /// Where BOSH's agent compiles: the place of `compile_dir` as the script should see it.
    pub fn compile_target(&self) -> PathBuf {
        compile_targets(&vcap()).join(self.package)
    }

    /// Where the package will be: the place of `install_dir` as the script should see it.
    pub fn install_target(&self) -> PathBuf {
        vcap().packages().join(self.package)
    }

    /// Where the dependencies have to be, with their content.
    pub fn dependency_targets(&self) -> impl Iterator<Item = (PathBuf, &Path)> {
        self.dependencies.iter().map(|(name, dir)| (vcap().packages().join(name), dir.as_path()))
    }

    /// The command, as BOSH's agent runs it.
    pub fn argv(&self) -> Vec<String> {
        ["/bin/bash", "-x", self.script].map(str::to_owned).to_vec()
    }

    /// The whole environment of a script that sees its two directories at these places.
    pub fn env(&self, compile_target: &Path, install_target: &Path) -> Vec<(String, String)> {
        let compile_target = compile_target.display().to_string();
        let mut env = vec![
            ("PATH", PATH.to_owned()),
            ("HOME", compile_target.clone()),
            ("BOSH_COMPILE_TARGET", compile_target.clone()),
            ("BOSH_INSTALL_TARGET", install_target.display().to_string()),
            ("BOSH_PACKAGE_NAME", self.package.to_owned()),
            ("BOSH_PACKAGE_VERSION", self.version.to_owned()),
        ];
        if self.script == PRE_PACKAGING {
            env.push(("BUILD_DIR", compile_target));
            env.push(("RELEASE_DIR", self.release_dir.display().to_string()));
        }
        env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Where BOSH's agent compiles: a directory for each package.
pub fn compile_targets(vcap: &Vcap) -> PathBuf {
    vcap.base().join("data/compile")
}

fn vcap() -> Vcap {
    Vcap::under(Path::new("/"))
}

/// Runs a script where it sees the directories of its [`CompileStep`] as BOSH has them.
pub trait Runner: Sync {
    /// Runs it until it exits; returns its exit status as a shell shows it.
    fn run(&self, step: &CompileStep) -> Result<u8>;

    /// Whether the user has interrupted.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Whether it can run several steps at the same time.
    fn is_parallel(&self) -> bool {
        true
    }

    /// Whether the user can read the logs in the cache.
    fn keeps_logs(&self) -> bool {
        true
    }

    /// Removes what scripts have written.
    fn remove(&self, dir: &Path) -> io::Result<()> {
        remove_tree(dir)
    }
}

impl<F: Fn(&CompileStep) -> Result<u8> + Sync> Runner for F {
    fn run(&self, step: &CompileStep) -> Result<u8> {
        self(step)
    }
}
