//! A deployment on this machine, from its input to its end: `boson up` without its command line.
//!
//! [`up`] plans and compiles, then holds the deployment: it makes a sandbox for each instance, runs its stages and processes, and answers
//! the requests of other verbs until it is to stop.

mod addresses;
mod backoff;
mod certificates;
mod changes;
mod clients;
mod deploy;
mod deployment;
mod dns_health;
mod documents;
mod drain_reports;
mod errand_runs;
mod errand_selection;
mod errands;
mod executable;
mod failure;
mod handover;
mod host;
mod identities;
mod input;
mod instance;
mod log_excerpt;
mod name_server;
mod operations;
mod packages;
mod parallel;
mod prepare;
mod preview;
mod privileged;
mod publish;
mod release_patch;
mod releases;
mod report;
mod resurrection;
mod running;
mod sandbox_spec;
mod server;
mod stages;
mod start;
mod start_policy;
mod state_files;
mod status_table;
mod stop;
mod supervised;
mod time_limits;
mod workspace;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use manifest_inputs::Documents;
use problem::{IoContext, Problem, Result, code};
use sandbox::{Ids, Network, ProcessId, Subnet};

use addresses::Addresses;
use deployment::Deployment;
pub use dns_health::serve as serve_dns_health;
pub use documents::read_documents;
pub use executable::{DIES_WITH_PARENT, INSTANCE_VERBS};
use failure::{Failure, cannot_sandbox};
use host::Host;
use input::Input;
pub use input::{Config, check_name, join, missing_releases};
use local_state::Connection;
use local_state::Interrupt;
use local_state::Progress;
use local_state::Signals;
use local_state::control::Replace;
use local_state::output;
use local_state::{Lock, Record, StateDir};
pub use preview::Preview;
pub use privileged::AllowPrivileged;
pub use publish::Publish;
use publish::Published;
pub use release_patch::ReleasePatch;
use running::RunningDeployment;
pub use time_limits::STOP_LIMIT;
use workspace::Workspace;
pub use workspace::sweep;

/// How the start went; the deployment is held in both cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// Everything runs.
    Up,
    /// Something does not; the exit code.
    Failed(u8),
}

/// Is called when the start is over; returns whether the deployment goes on.
pub type AfterStart<'a> = &'a mut dyn FnMut(Started, &StateDir, &Progress) -> Result<()>;

/// How long a boson that is being killed may hold a deployment.
const DYING: Duration = Duration::from_secs(30);

/// How often a deployment is claimed that another boson holds.
const INTERVAL: Duration = Duration::from_millis(20);

/// Brings the deployment of these documents up and holds it until it is to stop, or hands it to the boson that holds it already;
/// returns the exit code.
pub fn up(
    config: Config,
    documents: Documents,
    signals: Signals,
    preview: Preview,
    after_start: AfterStart,
) -> Result<u8> {
    let interrupt = Interrupt::default();
    let of_signals = interrupt.clone();
    signals.forward(move || of_signals.trigger())?;
    let input = Input::read(config, documents)?;
    // A port that is taken is better known before the work than after it, unless an earlier version has it.
    let mut published = Published::default();
    if let Err(problems) = published.add(&input.publish)
        && !local_state::any_is_up()
    {
        return Err(problems);
    }
    let progress = Progress::on_stdout();
    let workspace = Workspace::new()?;
    let prepared = prepare(preview, &input, &published, &workspace, &progress, &interrupt).unwrap_or_else(|failure| {
        let (text, code) = failure.report();
        output::error(&text);
        Prepared::Ended(code)
    });
    let deployment = match prepared {
        Prepared::Ended(code) => return Ok(code),
        Prepared::Ready(deployment) => *deployment,
    };
    let dir = input.dir(&deployment.name)?;
    let start = Instant::now();
    loop {
        let claim = claim(&dir, start)?;
        identities::keep(&dir, &deployment.identities)?;
        let connection = match claim {
            Claim::Free(lock) => {
                published.add(&input.publish)?;
                let holder = Holder { input, dir, lock, progress, interrupt };
                return holder.run(workspace, deployment, published, after_start);
            }
            Claim::Up(connection) => connection,
        };
        published = Published::default();
        let options = handover::Options::new(&input);
        let publish = &input.publish;
        let asked = handover::ask(&connection, workspace.path(), &deployment, publish, options, &progress, &interrupt)?;
        if let Some(code) = asked {
            return Ok(code);
        }
        // It has ended before it took the request: the deployment is free as soon as it has disappeared.
        std::thread::sleep(INTERVAL);
    }
}

/// A version before it is brought up.
enum Prepared {
    /// It was not to be brought up, or could not be prepared; the exit code.
    Ended(u8),
    /// It is planned and compiled.
    Ready(Box<Deployment>),
}

/// Plans a version, shows what it changes if that is wanted, and compiles it.
fn prepare(
    preview: Preview,
    input: &Input,
    published: &Published,
    workspace: &Workspace,
    progress: &Progress,
    interrupt: &Interrupt,
) -> std::result::Result<Prepared, Failure> {
    let mut plan = prepare::plan(input, workspace, progress, interrupt)?;
    // Its name is known by now, and so is whether an earlier version of it may have the ports.
    if Connection::open(&input.dir(&plan.deployment.name)?).is_none() {
        published.add(&input.publish)?;
    }
    if let Some(code) = preview::show(preview, input, workspace, &mut plan, progress, interrupt)? {
        return Ok(Prepared::Ended(code));
    }
    Ok(Prepared::Ready(Box::new(plan.compile(input, progress, interrupt)?)))
}

/// Who holds a deployment.
enum Claim {
    /// This process does from now on.
    Free(Lock),
    /// Another boson, which takes requests.
    Up(Connection),
}

/// Waits at most [`DYING`] from `start` on.
fn claim(dir: &StateDir, start: Instant) -> Result<Claim> {
    loop {
        if let Some(lock) = dir.lock()? {
            return Ok(Claim::Free(lock));
        }
        if let Some(connection) = Connection::open(dir).filter(|_| start.elapsed() <= DYING) {
            return Ok(Claim::Up(connection));
        }
        // It is about to listen, or it has been killed and is about to disappear.
        if start.elapsed() > DYING {
            let message = format!("another boson holds {} and does not answer", dir.path().display());
            return Err(Problem::internal(message).code(code::ALREADY_RUNNING).hint("boson down stops it").into());
        }
        std::thread::sleep(INTERVAL);
    }
}

/// What the process that holds a deployment has from the start on.
struct Holder {
    input: Input,
    dir: StateDir,
    lock: Lock,
    progress: Progress,
    interrupt: Interrupt,
}

impl Holder {
    /// Starts everything, holds it until it is to stop, stops it.
    fn run(self, workspace: Workspace, deployment: Deployment, published: Published, after: AfterStart) -> Result<u8> {
        let Holder { input, dir, lock, progress, interrupt } = self;
        let running = match make(&dir, workspace.path(), deployment, published, progress, interrupt) {
            Ok(running) => Arc::new(running),
            Err(problems) => {
                dir.remove(lock)?;
                return Err(problems);
            }
        };
        // What is secret in it is in memory from now on.
        drop(workspace);
        let host = &running.host;
        let result = server::listen(&running)
            .and_then(|()| name_server::start(&running))
            .map_err(Failure::from)
            .and_then(|()| {
                let _changing = running.change()?;
                deploy::apply(&running, Replace::Changed)
            });
        let (text, code) = result.as_ref().err().map_or((String::new(), 0), Failure::report);
        output::error(&text);
        let is_held = match (code, input.roll_back) {
            (0, _) => {
                let name = &running.deployment().name;
                host.progress.line(&format!("{name} is up; Ctrl-C or `boson down` stops it"));
                after(Started::Up, &dir, &host.progress)?;
                true
            }
            (130, _) | (_, true) => false,
            (code, false) => {
                output::error(
                    "boson: the instances stay as they are: see `boson status`, `boson logs`, `boson exec`; \
                     `boson up` tries again, `boson down` removes them",
                );
                after(Started::Failed(code), &dir, &host.progress)?;
                true
            }
        };
        if is_held {
            resurrection::watch(&running)?;
            host.interrupt.wait();
        }
        let killed = stop::stop(&running);
        let disks = dir.remove(lock)?;
        if !disks.is_empty() {
            host.progress.line(&format!("{} persistent disks stay: see `boson disks`", disks.len()));
        }
        host.stopping.done();
        Ok(if killed && code == 0 { 130 } else { code })
    }
}

/// Makes everything that the instances need; none of them exists afterwards.
fn make(
    dir: &StateDir,
    workspace: &Path,
    mut deployment: Deployment,
    published: Published,
    progress: Progress,
    interrupt: Interrupt,
) -> Result<RunningDeployment> {
    let mut addresses = Addresses::default();
    if let Some(record) = dir.record()? {
        if record.boson.is_some() {
            progress.line("removed what an earlier boson left, except persistent disks");
        }
        addresses = Addresses::new(record.addresses);
        dir.clean()?;
    }
    let mut record = Record { deployment: deployment.name.clone(), boson: ProcessId::own(), ..Record::default() };
    dir.write(&record)?;
    dir.populate()?;
    deployment.generation = handover::install(dir, workspace)?;
    let network = start_network(dir)?;
    record.network = network.process();
    dir.write(&record)?;
    if network.ids() == Ids::Single {
        progress.line(
            "note: every process runs as one user: this user has no subordinate ids (see newuidmap(1) and subuid(5))",
        );
    }
    let host = Host::new(dir.clone(), network, progress, interrupt);
    RunningDeployment::new(host, deployment, addresses, published)
}

/// A network for the instances. It ends with the thread that makes it.
fn start_network(dir: &StateDir) -> Result<Network> {
    let log = dir.sandbox_log();
    let log = File::options().create(true).append(true).open(&log).io("write", &log)?;
    Ok(Network::start(Subnet::default(), Some(&log), Some(dir.path())).map_err(|e| cannot_sandbox(&e))?)
}
