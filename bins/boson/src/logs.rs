//! `boson logs`: what the jobs have logged.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use problem::{IoContext, Problem, Result};
use startup::Common;

use crate::output;
use crate::state::{StateDir, Which};

/// What `logs` is told.
#[derive(Debug, Args)]
#[command(
    long_about = "Prints the files below /var/vcap/sys/log of the instances of a deployment, each line with the \
                  instance and the file that it is from.\n\n\
                  Example:\n  boson logs nats/0 --job nats -f"
)]
pub(crate) struct Options {
    /// The instance, as `boson status` names it, or an instance group [default: all]
    #[arg(value_name = "GROUP/INDEX")]
    pub(crate) instance: Option<String>,
    /// Only the files of this job
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Go on printing what is logged from now on
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Prints what the jobs have logged";

/// How often files are looked at that grow.
const INTERVAL: Duration = Duration::from_millis(200);

/// Runs the verb; gives the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    let dir = options.which.find()?;
    let mut reader = Reader { seen: HashMap::new() };
    loop {
        let files = files(&dir, options.instance.as_deref(), options.job.as_deref())?;
        for (label, path) in &files {
            reader.print(label, path)?;
        }
        if !options.follow || dir.record().is_none() {
            return Ok(0);
        }
        std::thread::sleep(INTERVAL);
    }
}

/// What there is to read, with the label of each file, in order.
fn files(dir: &StateDir, instance: Option<&str>, job: Option<&str>) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut known = Vec::new();
    for name in names(&dir.instances())? {
        // The directory of `group/index` is `group-index`.
        let Some((group, index)) = name.rsplit_once('-') else { continue };
        let shown = format!("{group}/{index}");
        let wanted = instance.is_none_or(|wanted| wanted == shown || wanted == group);
        known.push(shown.clone());
        if !wanted {
            continue;
        }
        let logs = dir.instances().join(&name).join("vcap/sys/log");
        for of in names(&logs)?.into_iter().filter(|of| job.is_none_or(|job| job == of)) {
            for file in names(&logs.join(&of))? {
                found.push((format!("{shown} {of}/{file}"), logs.join(&of).join(&file)));
            }
        }
    }
    if let Some(instance) = instance
        && !known.iter().any(|k| k == instance || k.rsplit_once('/').is_some_and(|(group, _)| group == instance))
    {
        let message = format!("there is no instance {instance}");
        return Err(Problem::input(message).hint(format!("there are: {}", known.join(", "))).into());
    }
    Ok(found)
}

fn names(directory: &Path) -> Result<Vec<String>> {
    let mut names: Vec<String> = match fs::read_dir(directory) {
        Ok(entries) => entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => Err(e).io("read", directory)?,
    };
    names.sort();
    Ok(names)
}

/// Remembers how far each file has been read.
#[derive(Debug)]
struct Reader {
    seen: HashMap<PathBuf, (u64, u64)>,
}

impl Reader {
    /// Prints the lines that are new; a line without its end waits for it.
    fn print(&mut self, label: &str, path: &Path) -> Result<()> {
        // Jobs can write there: no link is followed, and nothing waited for.
        let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
        let mut file = match File::options().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(e) if matches!(e.raw_os_error(), Some(nix::libc::ENOENT | nix::libc::ELOOP | nix::libc::ENXIO)) => {
                return Ok(());
            }
            Err(e) => Err(e).io("read", path)?,
        };
        let meta = file.metadata().io("read", path)?;
        if !meta.is_file() {
            return Ok(());
        }
        let (inode, mut at) = self.seen.get(path).copied().unwrap_or((meta.ino(), 0));
        // Rotated by renaming or by truncating.
        if inode != meta.ino() || at > meta.len() {
            at = 0;
        }
        file.seek(SeekFrom::Start(at)).io("read", path)?;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).io("read", path)? > 0 && line.ends_with(b"\n") {
            at += line.len() as u64;
            output::line(&format!("[{label}] {}", String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r'])));
            line.clear();
        }
        self.seen.insert(path.to_path_buf(), (meta.ino(), at));
        Ok(())
    }
}
