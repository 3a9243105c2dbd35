//! Compiling in the real `/var/vcap`: in the build of a container image, which contains nothing else and in which no
//! sandbox can be made.

use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use problem::{IoContext, Problem, Problems, Result, code};
use release::{CompileStep, Release, Runner, compile_targets};
use vcap::Vcap;

use crate::tree;
use local_state::Interrupt;

/// Runs a package's scripts with their directories where BOSH has them, and leaves nothing there.
#[derive(Debug)]
pub(super) struct InPlace {
    interrupt: Interrupt,
}

impl InPlace {
    /// Checks that nothing of the release's packages is in `/var/vcap` yet, nor where they are compiled.
    pub(super) fn new(release: &Release, interrupt: &Interrupt) -> Result<Self> {
        let vcap = Vcap::under(Path::new("/"));
        let places = [vcap.packages(), compile_targets(&vcap)];
        let all = release.packages.iter().flat_map(|package| places.each_ref().map(|dir| dir.join(&package.name)));
        let problems = all
            .filter(|dir| dir.symlink_metadata().is_ok())
            .map(|dir| {
                Problem::input(format!("{} exists already", dir.display()))
                    .code(code::OUTPUT_CONFLICT)
                    .hint("--in-place is for an image that has none of the release's packages yet")
            })
            .collect();
        Problems::check(problems)?;
        Ok(InPlace { interrupt: interrupt.clone() })
    }
}

impl Runner for InPlace {
    fn run(&self, step: &CompileStep) -> Result<u8> {
        let mut placed = Placed::default();
        for (target, source) in step.dependency_targets() {
            placed.copy(source, &target)?;
        }
        let (compile, install) = (step.compile_target(), step.install_target());
        placed.copy(step.compile_dir, &compile)?;
        placed.copy(step.install_dir, &install)?;
        let status = self.script(step, &compile, &install)?;
        // No script follows a failure, and what the last script leaves in its working directory is not needed.
        let kept = if status != 0 {
            vec![]
        } else if step.is_last {
            vec![(&install, step.install_dir)]
        } else {
            vec![(&compile, step.compile_dir), (&install, step.install_dir)]
        };
        for (made, own) in kept {
            empty(own).io("empty", own)?;
            tree::copy(made, own)?;
        }
        Ok(status)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_asked()
    }

    /// There is only one `/var/vcap`.
    fn is_parallel(&self) -> bool {
        false
    }

    /// The cache is a mount of the container that an image is built in.
    fn keeps_logs(&self) -> bool {
        false
    }
}

impl InPlace {
    fn script(&self, step: &CompileStep, compile: &Path, install: &Path) -> Result<u8> {
        let argv = step.argv();
        let cannot = |e: io::Error| {
            Problem::input(format!("cannot run {}", argv.join(" "))).code(code::PROCESS_NOT_STARTED).because(e)
        };
        let output = || step.log.try_clone().io("write", compile);
        let mut child = Command::new(&argv[0])
            .args(&argv[1..])
            .env_clear()
            .envs(step.env(compile, install))
            .current_dir(compile)
            .stdin(Stdio::null())
            .stdout(output()?)
            .stderr(output()?)
            .process_group(0)
            .spawn()
            .map_err(|e| cannot(e).hint("packaging scripts need /bin/bash and the programs that they call"))?;
        let group = i32::try_from(child.id()).ok().filter(|id| *id > 1).map(Pid::from_raw);
        let guard = self.interrupt.guard(move || {
            if let Some(group) = group {
                // It may have ended by itself.
                let _ = killpg(group, Signal::SIGKILL);
            }
        });
        let status = child.wait().map_err(cannot)?;
        drop(guard);
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(255);
        Ok(u8::try_from(code).unwrap_or(255))
    }
}

/// What was put into `/var/vcap`; removed when this is dropped.
#[derive(Debug, Default)]
struct Placed {
    trees: Vec<PathBuf>,
    /// Directories that were made above them.
    above: Vec<PathBuf>,
}

impl Placed {
    fn copy(&mut self, from: &Path, to: &Path) -> Result<()> {
        let above = to.parent().unwrap_or(to);
        let missing: Vec<&Path> = above.ancestors().take_while(|dir| !dir.exists()).collect();
        self.above.extend(missing.into_iter().rev().map(Path::to_path_buf));
        fs::create_dir_all(above).io("make", above)?;
        self.trees.push(to.to_path_buf());
        tree::copy(from, to)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // Best effort: an image build copies only what is written at the end.
        for tree in &self.trees {
            let _ = fs::remove_dir_all(tree);
        }
        for dir in self.above.iter().rev() {
            let _ = fs::remove_dir(dir);
        }
    }
}

/// Removes what is in a directory.
fn empty(dir: &Path) -> io::Result<()> {
    for child in fs::read_dir(dir)? {
        let child = child?;
        if child.file_type()?.is_dir() { fs::remove_dir_all(child.path())? } else { fs::remove_file(child.path())? }
    }
    Ok(())
}
