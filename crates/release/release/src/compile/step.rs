//! Running a package's scripts.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result, code};

use super::Plan;
use crate::cache::Work;
use crate::package::{PACKAGING, PRE_PACKAGING};
use crate::package_file::{FileKind, PackageFile};
use crate::release::Release;
use crate::runner::{CompileStep, Runner};

/// How much of the end of a log a failure shows: so many lines, and no more bytes.
struct Shown {
    lines: usize,
    bytes: u64,
}

const WHERE_THE_REST_CAN_BE_READ: Shown = Shown { lines: 20, bytes: 16 * 1024 };
const WHERE_IT_CANNOT: Shown = Shown { lines: 2000, bytes: 256 * 1024 };

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
            Problem::input(message).code(code::COMPILE_FAILED).because(format!("the last lines of its log:\n{lines}"))
        }
        _ => Problem::input(message).code(code::COMPILE_FAILED).because("it printed nothing"),
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
