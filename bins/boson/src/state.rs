//! Where a deployment on this machine lives: one directory, readable by its owner only.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::Signal;
use nix::unistd::{User, geteuid};
use problem::{IoContext, Problem, Result, code};
use sandbox::ProcessId;
use serde::{Deserialize, Serialize};

use crate::executable::INSTANCE_VERBS;

/// Everything that boson itself puts into the directory.
const CONTENT: [&str; 8] =
    ["instances", "all-releases", "hosts", "control.sock", "sandbox.log", "boson.log", NEW_RECORD, "state.json"];

/// The record while it is being written: the one thing besides the lock that can be there before it.
const NEW_RECORD: &str = "state.json.new";

/// How long the kernel may take to end killed processes.
const END_LIMIT: Duration = Duration::from_secs(30);
/// How often they are polled: they are not children of this process.
const INTERVAL: Duration = Duration::from_millis(10);

/// The directory of one deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateDir {
    path: PathBuf,
}

/// Held as long as the deployment is up; the kernel releases it however its holder ends.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code, reason = "held, not read")] Flock<File>);

/// What outlives boson itself, for who finds it dead.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The deployment's name.
    pub(crate) deployment: String,
    /// The process that holds the deployment.
    pub(crate) boson: Option<ProcessId>,
    /// The process that holds the network and all sandboxes.
    pub(crate) network: Option<ProcessId>,
    /// Where `plan` writes; it holds secrets until it has been read.
    pub(crate) plan: PathBuf,
}

impl StateDir {
    /// The directory given, else the one that belongs to the deployment's name.
    pub(crate) fn of(given: Option<&Path>, deployment: &str) -> Result<StateDir> {
        match given {
            Some(path) => Ok(StateDir { path: std::path::absolute(path).io("find", path)? }),
            None => match deployment {
                "" | "." | ".." => Err(Problem::input(format!("a deployment cannot be called \"{deployment}\""))
                    .hint("give another name, in the manifest or with --name")
                    .into()),
                _ => Ok(StateDir { path: all()?.join(deployment.replace('/', "-")) }),
            },
        }
    }

    /// The directory given, else that of the deployment named, else that of the only deployment there is.
    pub(crate) fn find(given: Option<&Path>, name: Option<&str>) -> Result<StateDir> {
        let dir = match (given, name) {
            (Some(_), _) | (None, Some(_)) => StateDir::of(given, name.unwrap_or_default())?,
            (None, None) => StateDir { path: only(&all()?)? },
        };
        if dir.record().is_none() {
            let message = format!("there is no deployment at {}", dir.path.display());
            return Err(Problem::input(message)
                .code(code::DEPLOYMENT_UNKNOWN)
                .hint("boson up -m MANIFEST --release DIR starts one")
                .into());
        }
        Ok(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn control(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    pub(crate) fn all_releases(&self) -> PathBuf {
        self.path.join("all-releases")
    }

    pub(crate) fn hosts(&self) -> PathBuf {
        self.path.join("hosts")
    }

    pub(crate) fn sandbox_log(&self) -> PathBuf {
        self.path.join("sandbox.log")
    }

    pub(crate) fn own_log(&self) -> PathBuf {
        self.path.join("boson.log")
    }

    pub(crate) fn instances(&self) -> PathBuf {
        self.path.join("instances")
    }

    /// The directory of instance `group/index`.
    pub(crate) fn instance(&self, name: &str) -> InstanceDir {
        InstanceDir(self.instances().join(name.replace('/', "-")))
    }

    /// Makes the directory and takes it; nothing if another process holds it.
    pub(crate) fn lock(&self) -> Result<Option<Lock>> {
        if !self.path.exists() {
            make_private(&self.path)?;
        } else if self.record().is_none()
            && fs::read_dir(&self.path)
                .io("read", &self.path)?
                .any(|e| e.is_ok_and(|e| e.file_name() != "lock" && e.file_name() != NEW_RECORD))
        {
            let message = format!("{} is not empty and not a deployment's", self.path.display());
            return Err(Problem::input(message)
                .code(code::OUTPUT_CONFLICT)
                .hint("give an empty or a new directory with --state-dir")
                .into());
        }
        let path = self.path.join("lock");
        let file =
            File::options().create(true).truncate(false).write(true).mode(0o600).open(&path).io("open", &path)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Some(Lock(lock))),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, e)) => {
                Err(Problem::internal(format!("cannot lock {}", path.display())).code(code::IO).because(e).into())
            }
        }
    }

    /// What was recorded, if the directory is a deployment's.
    pub(crate) fn record(&self) -> Option<Record> {
        serde_json::from_str(&fs::read_to_string(self.path.join("state.json")).ok()?).ok()
    }

    /// Records.
    pub(crate) fn write(&self, record: &Record) -> Result<()> {
        let path = self.path.join("state.json");
        let text =
            serde_json::to_string(record).map_err(|e| Problem::internal("cannot record the state").because(e))?;
        let new = self.path.join(NEW_RECORD);
        fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).io("write", &path)
    }

    /// Makes the directories that an empty deployment has.
    pub(crate) fn populate(&self) -> Result<()> {
        for path in [self.instances(), self.all_releases()] {
            make_private(&path)?;
        }
        // What `install` puts there in a pod lies elsewhere in a sandbox.
        let installed = self.all_releases().join(".boson/bin");
        make_private(&installed)?;
        let inside = Path::new(sandbox::EXECUTABLE).with_file_name("");
        for name in INSTANCE_VERBS {
            let link = installed.join(name);
            std::os::unix::fs::symlink(inside.join(name), &link).io("make", &link)?;
        }
        Ok(())
    }

    /// Removes all that boson has put there, the record last, and the directory if nothing else is in it.
    pub(crate) fn clean(&self) -> Result<()> {
        if let Some(record) = self.record() {
            end(record.network)?;
            sandbox::remove_tree(&record.plan).io("remove", &record.plan)?;
        }
        for name in CONTENT {
            let path = self.path.join(name);
            if path.is_dir() {
                sandbox::remove_tree(&path).io("remove", &path)?;
            } else if path.symlink_metadata().is_ok() {
                fs::remove_file(&path).io("remove", &path)?;
            }
        }
        Ok(())
    }

    /// As [`StateDir::clean`], and gives the directory up.
    pub(crate) fn remove(&self, lock: Lock) -> Result<()> {
        self.clean()?;
        // The lock's file goes while the lock is held; what is not boson's own stays, and with it the directory.
        let _ = fs::remove_file(self.path.join("lock"));
        let _ = fs::remove_dir(&self.path);
        drop(lock);
        Ok(())
    }
}

/// Waits for the end of a network whose boson has ended: what still runs in it still writes. Who holds the lock knows
/// that the boson has.
fn end(network: Option<ProcessId>) -> Result<()> {
    let Some(network) = network else { return Ok(()) };
    network.signal(Signal::SIGKILL);
    let start = Instant::now();
    while network.is_alive() {
        if start.elapsed() > END_LIMIT {
            return Err(Problem::internal(format!("process {} does not end", network.pid)).into());
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}

/// What one instance has on the host.
#[derive(Debug, Clone)]
pub(crate) struct InstanceDir(PathBuf);

impl InstanceDir {
    /// Its `/var/vcap`.
    pub(crate) fn vcap(&self) -> PathBuf {
        self.0.join("vcap")
    }

    /// Where its root file system is mounted, in its own view only.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    /// What a stage or a process of it printed.
    pub(crate) fn log(&self, of: &str) -> PathBuf {
        self.0.join("log").join(format!("{of}.log"))
    }

    /// Makes it anew.
    pub(crate) fn make(&self) -> Result<()> {
        sandbox::remove_tree(&self.0).io("remove", &self.0)?;
        for path in [self.vcap(), self.root(), self.0.join("log")] {
            fs::create_dir_all(&path).io("make", &path)?;
        }
        Ok(())
    }
}

/// `$XDG_STATE_HOME/boson`.
fn all() -> Result<PathBuf> {
    home("XDG_STATE_HOME", ".local/state", "--state-dir")
}

/// `$XDG_CACHE_HOME/boson`.
pub(crate) fn cache() -> Result<PathBuf> {
    home("XDG_CACHE_HOME", ".cache", "XDG_CACHE_HOME")
}

/// boson's directory of one kind (XDG Base Directory Specification: relative values are ignored).
fn home(variable: &str, below_home: &str, instead: &str) -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    // As a login would set HOME.
    let of_user = || User::from_uid(geteuid()).ok().flatten().map(|user| user.dir).filter(|path| path.is_absolute());
    absolute(variable)
        .or_else(|| absolute("HOME").or_else(of_user).map(|home| home.join(below_home)))
        .map(|path| path.join("boson"))
        .ok_or_else(|| {
            let message = format!("neither {variable} nor HOME is set, and this user has no entry in /etc/passwd");
            Problem::usage(message).hint(format!("set {instead}")).into()
        })
}

/// The only deployment below `all`.
fn only(all: &Path) -> Result<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(all).map(|entries| entries.filter_map(|e| Some(e.ok()?.path())).collect()).unwrap_or_default();
    found.retain(|path| StateDir { path: path.clone() }.record().is_some());
    found.sort();
    match found.len() {
        0 => Err(Problem::input("there is no deployment on this machine")
            .code(code::DEPLOYMENT_UNKNOWN)
            .hint("boson up -m MANIFEST --release DIR starts one")
            .into()),
        1 => Ok(found.remove(0)),
        _ => {
            let names: Vec<_> = found.iter().filter_map(|p| Some(p.file_name()?.to_string_lossy())).collect();
            let message = format!("there are several deployments on this machine: {}", names.join(", "));
            Err(Problem::usage(message).code(code::DEPLOYMENT_UNKNOWN).hint("name one with --name").into())
        }
    }
}

/// A directory for its owner alone.
pub(crate) fn make_private(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).io("make", path)
}

/// A directory in memory where the machine has one that this user can write to, and nobody else can take away from there
/// what it makes: root may have been left with another user's `XDG_RUNTIME_DIR`.
pub(crate) fn in_memory() -> Option<PathBuf> {
    let candidates = [std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), Some(PathBuf::from("/dev/shm"))];
    candidates.into_iter().flatten().find(|path| {
        let memory =
            nix::sys::statfs::statfs(path).is_ok_and(|fs| fs.filesystem_type() == nix::sys::statfs::TMPFS_MAGIC);
        let safe = fs::metadata(path).is_ok_and(|meta| {
            meta.uid() == geteuid().as_raw() || (meta.uid() == 0 && meta.mode() & nix::libc::S_ISVTX != 0)
        });
        memory && safe && nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
    })
}

/// Which deployment a verb means.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Which {
    /// Name of the deployment [default: the only one on this machine]
    #[arg(long, short, env = "DEPLOYMENT_NAME", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Directory of the deployment's state [default: $XDG_STATE_HOME/boson/NAME]
    #[arg(long, env = "BOSON_STATE_DIR", value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

impl Which {
    /// Its directory, which must be there.
    pub(crate) fn find(&self) -> Result<StateDir> {
        // A variable that is set to nothing names nothing.
        let given = self.state_dir.as_deref().filter(|path| !path.as_os_str().is_empty());
        StateDir::find(given, self.name.as_deref().filter(|name| !name.is_empty()))
    }
}
