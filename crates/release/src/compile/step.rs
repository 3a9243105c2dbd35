//! Running a package's scripts.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result};
use vcap::Vcap;

use super::Plan;
use crate::cache::{Work, remove_tree};
use crate::package::{FileKind, PACKAGING, PRE_PACKAGING, PackageFile};
use crate::release::Release;

/// How much of the end of a log a failure shows: so many lines, and no more bytes.
struct Shown {
    lines: usize,
    bytes: u64,
}

const WHERE_THE_REST_CAN_BE_READ: Shown = Shown { lines: 20, bytes: 16 * 1024 };
const WHERE_IT_CANNOT: Shown = Shown { lines: 2000, bytes: 256 * 1024 };
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
    /// What the script fills.
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
pub trait Runner {
    /// Runs it to its end; gives its exit status as a shell shows it.
    fn run(&self, step: &CompileStep) -> Result<u8>;

    /// Whether the user does not want to wait any longer.
    fn is_interrupted(&self) -> bool {
        false
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

impl<F: Fn(&CompileStep) -> Result<u8>> Runner for F {
    fn run(&self, step: &CompileStep) -> Result<u8> {
        self(step)
    }
}

/// Puts the package's files in place and runs its scripts.
pub(super) fn compile(
    release: &Release,
    plan: &Plan,
    dependencies: Vec<(String, PathBuf)>,
    work: &Work,
    runner: &dyn Runner,
) -> Result<()> {
    for (path, file) in &plan.files {
        put(file, &work.compile.join(path)).io("copy", &file.source)?;
    }
    let log = File::options().create(true).truncate(true).read(true).write(true).open(&work.log);
    let log = log.io("write", &work.log)?;
    // All are written before the first runs: nothing here follows a link that a script made.
    let mut scripts = Vec::new();
    for script in [PRE_PACKAGING, PACKAGING] {
        if let Some(content) = plan.package.script(script)? {
            let file = work.compile.join(script);
            fs::write(&file, content).io("write", &file)?;
            scripts.push(script);
        }
    }
    for script in scripts {
        let step = CompileStep {
            package: &plan.package.name,
            version: &plan.fingerprint,
            script,
            is_last: script == PACKAGING,
            compile_dir: &work.compile,
            install_dir: &work.install,
            scratch_dir: &work.scratch,
            dependencies: &dependencies,
            release_dir: &release.dir,
            log: &log,
        };
        let status = runner.run(&step)?;
        if status != 0 {
            return Err(failed(release, plan, script, status, work, runner.keeps_logs()).into());
        }
        if script == PRE_PACKAGING {
            // BOSH: it is not part of the package.
            let _ = fs::remove_file(work.compile.join(script));
        }
    }
    Ok(())
}

/// Copies one file with its time (build tools compare them) and whether it is executable.
fn put(file: &PackageFile, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    match &file.kind {
        FileKind::Link(target) => symlink(target, to),
        FileKind::File { executable } => {
            fs::copy(&file.source, to)?;
            fs::set_permissions(to, Permissions::from_mode(if *executable { 0o755 } else { 0o644 }))?;
            File::options().write(true).open(to)?.set_modified(fs::metadata(&file.source)?.modified()?)
        }
    }
}

fn failed(release: &Release, plan: &Plan, script: &str, status: u8, work: &Work, is_log_kept: bool) -> Problem {
    let package = &plan.package.name;
    let message = format!(
        "package '{package}' of release '{}' does not compile: {script} ended with status {status}",
        release.name
    );
    let shown = if is_log_kept { WHERE_THE_REST_CAN_BE_READ } else { WHERE_IT_CANNOT };
    let problem = match last_lines(&work.log, &shown) {
        Ok(lines) if !lines.is_empty() => {
            Problem::input(message).because(format!("the last lines of its log:\n{lines}"))
        }
        _ => Problem::input(message).because("it printed nothing"),
    };
    if is_log_kept { problem.hint(format!("the whole log is in {}", work.log.display())) } else { problem }
}

fn last_lines(log: &Path, shown: &Shown) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(shown.bytes)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let text = String::from_utf8_lossy(&end);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(shown.lines)..].join("\n"))
}
