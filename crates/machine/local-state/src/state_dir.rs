//! Where a deployment on this machine lives: one directory, readable by its owner only.

mod disks;
mod record;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use manifest_inputs::StorePaths;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::Signal;
use problem::{IoContext, Problem, Result, code};
use sandbox::ProcessId;

pub use disks::Disk;
pub use record::Record;

use crate::user_dirs::{self, make_private};

/// Everything that boson itself puts into the directory, except persistent disks and the record.
const CONTENT: [&str; 7] =
    ["instances", "generations", "hosts", "control.sock", "sandbox.log", "boson.log", record::NEW_FILE];

/// The variables store.
const VARIABLES: &str = "variables.yml";

/// Who the instances are, also in the next version, as long as disks of theirs exist.
const IDENTITIES: &str = "identities.json";

/// How long the kernel may take to end killed processes.
const END_LIMIT: Duration = Duration::from_secs(30);
/// How often they are polled: they are not children of this process.
const INTERVAL: Duration = Duration::from_millis(10);

/// The directory of one deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
}

/// Whether a directory with this file can become a deployment's.
fn is_allowed(name: &OsStr) -> bool {
    let of_store = vcap::lock::lock_file(Path::new(VARIABLES));
    ["lock", record::NEW_FILE, VARIABLES, IDENTITIES].iter().any(|allowed| name == *allowed) || name == of_store
}

/// Held as long as the deployment is up; the kernel releases it however its holder ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "held, not read")] Flock<File>);

impl StateDir {
    /// The directory given, else the one that belongs to the deployment's name.
    pub fn of(given: Option<&Path>, deployment: &str) -> Result<StateDir> {
        match given {
            Some(path) => Ok(StateDir { path: std::path::absolute(path).io("find", path)? }),
            None => match deployment {
                // The last one is the store of all deployments.
                "" | "." | ".." | VARIABLES => {
                    Err(Problem::input(format!("a deployment cannot be called \"{deployment}\""))
                        .hint("give another name, in the manifest or with --name")
                        .into())
                }
                _ => Ok(StateDir { path: user_dirs::all()?.join(deployment.replace('/', "-")) }),
            },
        }
    }

    /// The directories of all deployments of this user, by path.
    ///
    /// # Errors
    /// This user has no home.
    pub fn all() -> Result<Vec<StateDir>> {
        let entries = fs::read_dir(user_dirs::all()?).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        paths.sort();
        Ok(paths.into_iter().map(|path| StateDir { path }).collect())
    }

    /// The directory given, else that of the deployment named, else that of the only deployment.
    pub fn find(given: Option<&Path>, name: Option<&str>) -> Result<StateDir> {
        let dir = match (given, name) {
            (Some(_), _) | (None, Some(_)) => StateDir::of(given, name.unwrap_or_default())?,
            (None, None) => StateDir { path: only(&user_dirs::all()?)? },
        };
        if dir.record()?.is_none() {
            let message = format!("there is no deployment at {}", dir.path.display());
            return Err(Problem::input(message)
                .code(code::DEPLOYMENT_UNKNOWN)
                .hint("boson up -m MANIFEST --release DIR starts one")
                .into());
        }
        Ok(dir)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The socket on which the process that holds the deployment takes requests.
    pub fn control(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    /// The job sources of each plan that was applied, one directory for each.
    pub fn generations(&self) -> PathBuf {
        self.path.join("generations")
    }

    /// `/etc/hosts` of all instances.
    pub fn hosts(&self) -> PathBuf {
        self.path.join("hosts")
    }

    /// What the process that holds the network printed.
    pub fn sandbox_log(&self) -> PathBuf {
        self.path.join("sandbox.log")
    }

    /// What the process that holds the deployment prints when it has left the terminal.
    pub fn own_log(&self) -> PathBuf {
        self.path.join("boson.log")
    }

    /// The variables store, which outlives the deployment, and the one of absolute names for all deployments of this user.
    /// One for both if this user has no home.
    pub fn variables(&self) -> StorePaths {
        StorePaths { own: self.path.join(VARIABLES), shared: user_dirs::all().ok().map(|all| all.join(VARIABLES)) }
    }

    /// The file with the identities of the instances.
    pub fn identities(&self) -> PathBuf {
        self.path.join(IDENTITIES)
    }

    /// Removes the deployment's own variables store, and the directory if nothing else is in it; returns whether there was one.
    ///
    /// # Errors
    /// A deployment that is up uses it; it cannot be removed.
    pub fn forget(&self) -> Result<bool> {
        let store = self.variables().own;
        if !store.exists() {
            return Ok(false);
        }
        let Some(lock) = self.lock()? else {
            return Err(Problem::input(format!("the deployment at {} is up", self.path.display()))
                .code(code::ALREADY_RUNNING)
                .into());
        };
        fs::remove_file(&store).io("remove", &store)?;
        let _ = fs::remove_file(vcap::lock::lock_file(&store));
        self.remove(lock)?;
        Ok(true)
    }

    /// The directories of all instances.
    pub fn instances(&self) -> PathBuf {
        self.path.join("instances")
    }

    /// The directory of instance `group/index`.
    pub fn instance(&self, name: &str) -> InstanceDir {
        InstanceDir(self.instances().join(name.replace('/', "-")))
    }

    /// Checks that the directory is a deployment's, or can become one's.
    ///
    /// # Errors
    /// A directory with other content, a record that cannot be read.
    pub fn check(&self) -> Result<()> {
        if self.path.exists()
            && self.record()?.is_none()
            && fs::read_dir(&self.path).io("read", &self.path)?.any(|e| e.is_ok_and(|e| !is_allowed(&e.file_name())))
        {
            let message = format!("{} is not empty and not a deployment's", self.path.display());
            return Err(Problem::input(message)
                .code(code::OUTPUT_CONFLICT)
                .hint("give an empty or a new directory with --state-dir")
                .into());
        }
        Ok(())
    }

    /// Makes the directory and takes it; nothing if another process holds it.
    pub fn lock(&self) -> Result<Option<Lock>> {
        self.check()?;
        make_private(&self.path)?;
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
    ///
    /// # Errors
    /// A record of another version, or one that is damaged.
    pub fn record(&self) -> Result<Option<Record>> {
        record::read(&self.path)
    }

    /// Records.
    pub fn write(&self, record: &Record) -> Result<()> {
        record::write(&self.path, record)
    }

    /// Makes the directories that an empty deployment has.
    pub fn populate(&self) -> Result<()> {
        for path in [self.instances(), self.generations()] {
            make_private(&path)?;
        }
        Ok(())
    }

    /// Ends what an earlier boson left running, and removes all that boson has put there, except the record and persistent
    /// disks.
    pub fn clean(&self) -> Result<()> {
        if let Some(record) = self.record()? {
            end(record.network)?;
            // The network does it itself unless it was killed, too.
            sandbox::release(&self.path);
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

    /// As [`StateDir::clean`], and gives the directory up: what stays are persistent disks that have data. Returns them.
    pub fn remove(&self, lock: Lock) -> Result<Vec<Disk>> {
        self.clean()?;
        let kept = self.remove_empty_disks()?;
        match self.record()? {
            Some(record) if !kept.is_empty() => {
                self.write(&Record { deployment: record.deployment, ..Record::default() })?;
            }
            Some(_) => {
                let path = self.path.join(record::FILE);
                fs::remove_file(&path).io("remove", &path)?;
            }
            None => {}
        }
        if kept.is_empty() && self.identities().exists() {
            let path = self.identities();
            fs::remove_file(&path).io("remove", &path)?;
        }
        // The lock's file goes while the lock is held; what is not boson's own stays, and with it the directory.
        let _ = fs::remove_file(self.path.join("lock"));
        let _ = fs::remove_dir(&self.path);
        drop(lock);
        Ok(kept)
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
            return Err(Problem::internal(format!("process {} does not exit", network.pid)).into());
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}

/// What one instance has on the host.
#[derive(Debug, Clone)]
pub struct InstanceDir(PathBuf);

impl InstanceDir {
    /// Its `/var/vcap`.
    pub fn vcap(&self) -> PathBuf {
        self.0.join("vcap")
    }

    /// Where its root file system is mounted, in its own view only.
    pub fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    /// What a stage or a process of it printed.
    pub fn log(&self, of: &str) -> PathBuf {
        self.0.join("log").join(format!("{of}.log"))
    }

    /// Makes it anew.
    pub fn make(&self) -> Result<()> {
        sandbox::remove_tree(&self.0).io("remove", &self.0)?;
        for path in [self.vcap(), self.root(), self.0.join("log")] {
            fs::create_dir_all(&path).io("make", &path)?;
        }
        Ok(())
    }
}

/// The only deployment below `all`.
fn only(all: &Path) -> Result<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(all).map(|entries| entries.filter_map(|e| Some(e.ok()?.path())).collect()).unwrap_or_default();
    // One whose record cannot be read counts: the verb reports why.
    let is_one = |path: &PathBuf, wanted: fn(&Record) -> bool| match (StateDir { path: path.clone() }).record() {
        Ok(record) => record.is_some_and(|record| wanted(&record)),
        Err(_) => true,
    };
    found.retain(|path| is_one(path, |_| true));
    // Those that are down have disks only; they are meant where no other is up.
    if found.iter().any(|path| is_one(path, |record| record.boson.is_some())) {
        found.retain(|path| is_one(path, |record| record.boson.is_some()));
    }
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

/// Whether a deployment of this user may be up on this machine.
pub fn any_is_up() -> bool {
    let all = StateDir::all().unwrap_or_default();
    let mut records = all.iter().filter_map(|dir| dir.record().ok().flatten());
    records.any(|record| record.boson.is_some_and(ProcessId::is_alive))
}

/// Which deployment a verb means.
#[derive(Debug, Clone, clap::Args)]
pub struct Which {
    /// Name of the deployment [default: the only one on this machine]
    #[arg(
        long = "deployment",
        short = 'd',
        visible_aliases = ["name", "deployment-name"],
        env = "BOSH_DEPLOYMENT",
        value_name = "NAME"
    )]
    pub name: Option<String>,
    /// Directory of the deployment's state [default: $XDG_STATE_HOME/boson/NAME]
    #[arg(long, env = "BOSON_STATE_DIR", value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
}

impl Which {
    /// Its directory, which must exist.
    pub fn find(&self) -> Result<StateDir> {
        // A variable that is set to nothing names nothing.
        let given = self.state_dir.as_deref().filter(|path| !path.as_os_str().is_empty());
        StateDir::find(given, self.name().as_deref())
    }

    /// The name given: by the flag or BOSH_DEPLOYMENT, else by DEPLOYMENT_NAME, which pods and `boson up` know.
    pub fn name(&self) -> Option<String> {
        let variable = || std::env::var("DEPLOYMENT_NAME").ok();
        self.name.clone().filter(|name| !name.is_empty()).or_else(variable).filter(|name| !name.is_empty())
    }
}
