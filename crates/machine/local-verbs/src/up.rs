//! `boson up`: a deployment on this machine.

mod background;
mod command_line;

use std::path::{Path, PathBuf};

use clap::Args;
use manifest_inputs::{Configs, Inputs};
use problem::{Problem, Problems, Result, code};
use startup::Common;

use compile_release::StemcellOption;
use local_deployment::{AllowPrivileged, Config, Publish, ReleasePatch};
use local_state::CacheLimit;
use local_state::Signals;
use local_state::control::Replace;

/// The arguments of `up`.
#[derive(Debug, Clone, Args)]
#[command(
    long_about = "Bring a deployment up on this machine, from its manifest and its releases as they are: resolve properties and \
        links, render all templates once to find mistakes, compile the packages, and make a sandbox for every instance, \
        in which the templates are rendered and the processes run as in a pod. A process that exits is started again.\n\n\
        If the deployment is already up, update it: replace only the instances whose rendered files, packages or \
        processes have changed, in the order of the manifest's `update` block, and add and remove instances. The boson \
        that holds the deployment does this; the new one shows its progress and exits.\n\n\
        With ops files or variables, the manifest is what `boson interpolate` prints with the same flags; variables \
        without a value are errors.\n\n\
        At a terminal, an update is shown as `boson diff` does and asked for (--non-interactive: not). --dry-run only shows \
        it.\n\n\
        boson stays in the foreground and shows what changes, until Ctrl-C stops everything; a second Ctrl-C kills what \
        does not stop. With --detach, it returns when all processes run. If the start fails, it returns and leaves the \
        instances as they are, until the next `boson up` or `boson down`.\n\n\
        Works as root and as an ordinary user. The host is not changed. Instances reach each other, and no other \
        network; other machines reach an instance only through a published port.",
    after_long_help = "Examples:\n\
        \x20\x20boson up -m nats.yml -r ./nats-release\n\
        \x20\x20boson up -m nats.yml -o scale.yml -l vars.yml -v port=4222 -r ./nats-release\n\
        \x20\x20boson up -m nats.yml -r ./nats-release -p 4222:nats/0:4222 --detach\n\
        \x20\x20boson up -m nats.yml -o scale.yml -r ./nats-release --dry-run\n\n\
        Exit codes: 0 stopped on request, detached, or updated, with --dry-run: nothing would change; 1 with --dry-run: \
        something would change, else: the update was not wanted; 2 usage; 65 the manifest, a job spec or a \
        release is wrong; 66 a template failed; 70 internal or environment error, or an instance did not run in \
        time; 130 interrupted before everything ran, or asked twice to stop."
)]
pub struct Options {
    /// The deployment manifest, as with --manifest, which it takes precedence over
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest_argument: Option<PathBuf>,
    /// The deployment manifest; `-` is standard input
    #[arg(long, short, env = "BOSH_MANIFEST_PATH", value_name = "FILE", required_unless_present = "manifest_argument")]
    pub(crate) manifest: Option<PathBuf>,
    /// A release: its source directory (jobs/, packages/, src/), or an archive made by bosh; once for each that the manifest
    /// gives no `url` of, and instead of what is there
    #[arg(long = "release", short, env = "BOSON_RELEASE", value_name = "[NAME=]PATH")]
    pub(crate) releases: Vec<String>,
    /// Take releases that the manifest gives by `url` from the cache only
    #[arg(long, env = "BOSON_OFFLINE")]
    pub(crate) offline: bool,
    /// Make warnings errors: properties that no job declares, keys that occur twice, keys that BPM ignores, certificates that expire
    /// within 30 days
    #[arg(long)]
    pub(crate) strict: bool,
    /// Apply a unified diff (git diff, diff -u) to the job sources of a release; repeatable, in order
    #[arg(long = "patch", value_name = "RELEASE=FILE")]
    pub(crate) patches: Vec<ReleasePatch>,
    /// Name of the deployment: a manifest with another name is refused, one without a name gets it
    #[arg(long, short = 'd', env = "BOSH_DEPLOYMENT", value_name = "NAME")]
    pub(crate) deployment: Option<String>,
    /// Bring the deployment up under another name than the manifest's
    #[arg(long, visible_alias = "deployment-name", env = "DEPLOYMENT_NAME", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Directory of the deployment's state [default: $XDG_STATE_HOME/boson/NAME]
    #[arg(long, env = "BOSON_STATE_DIR", value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Publish a port of an instance on 127.0.0.1
    #[arg(long, short, env = "BOSON_PUBLISH", value_name = "HOSTPORT:GROUP/INDEX:PORT", value_delimiter = ',')]
    pub(crate) publish: Vec<Publish>,
    /// Root file system on which packages are compiled and instances run, instead of this machine's programs: a directory, an
    /// archive, an OCI image layout or a BOSH stemcell for Warden; with ALIAS for the manifest's stemcell of that alias
    #[arg(long = "stemcell", env = "BOSON_STEMCELL", value_name = "[ALIAS=]PATH", value_delimiter = ',')]
    pub(crate) stemcells: Vec<StemcellOption>,
    #[command(flatten)]
    pub(crate) limit: CacheLimit,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) configs: Configs,
    /// Let a job be privileged, or all jobs of an instance group: its root can then mount file systems, make devices and cgroups, and
    /// change this machine; repeatable; @FILE reads one per line
    #[arg(long, env = "BOSON_ALLOW_PRIVILEGED", value_name = "GROUP[/JOB]", value_delimiter = ',')]
    pub(crate) allow_privileged: Vec<AllowPrivileged>,
    /// Use certificates of variables that have expired, which are an error otherwise
    #[arg(long, env = "BOSON_ALLOW_EXPIRED")]
    pub(crate) allow_expired: bool,
    /// Return when all processes run
    #[arg(long, env = "BOSON_DETACH")]
    pub(crate) detach: bool,
    /// If the start or the update fails, restore the state before: of a deployment that is not up, nothing stays
    #[arg(long, env = "BOSON_ROLLBACK")]
    pub(crate) rollback: bool,
    /// Leave out pre-stop and drain scripts of instances that the update replaces or removes
    #[arg(long, env = "BOSON_SKIP_DRAIN")]
    pub(crate) skip_drain: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Update without showing what changes and asking; never asked without a terminal
    #[arg(long, short = 'n', env = "BOSH_NON_INTERACTIVE")]
    pub(crate) non_interactive: bool,
    /// Replace all instances, also those that do not change
    #[arg(long)]
    pub(crate) recreate: bool,
    /// Also replace instances that are failing
    #[arg(long)]
    pub(crate) fix: bool,
    /// A release that the process which the user started has downloaded
    #[arg(long, hide = true)]
    pub(crate) downloaded: Vec<PathBuf>,
    /// Ask the process that the user started before an update
    #[arg(long, hide = true)]
    pub(crate) ask: bool,
    /// Hold the deployment, for the process that the user started
    #[arg(long, hide = true)]
    pub(crate) background: bool,
}

impl Options {
    /// Returns the path of the manifest; clap refuses a command line without one.
    fn manifest(&self) -> &Path {
        self.manifest_argument.as_deref().or(self.manifest.as_deref()).unwrap_or(Path::new(""))
    }
}

/// The paths of releases.
fn releases(values: &[String]) -> Vec<PathBuf> {
    let arguments = release::release_arguments(values);
    arguments.iter().map(|argument| release::parse_release_argument(argument).1.to_path_buf()).collect()
}

/// Checks that each release that is given with a name has it. What cannot be read is reported where it is used.
fn check_names(values: &[String]) -> Result<()> {
    let cache = local_state::user_dirs::cache()?;
    let mut problems = Vec::new();
    for argument in release::release_arguments(values) {
        let (Some(name), path) = release::parse_release_argument(&argument) else { continue };
        let Ok(release) = release::Release::open_any(path, &cache, &|| false) else { continue };
        if release.name != name {
            let message = format!("--release: the release at {} is '{}', not '{name}'", path.display(), release.name);
            let hint = format!("-r {0}={1}, or -r {1}", release.name, path.display());
            problems.push(Problem::input(message).code(code::INPUT_INVALID).hint(hint));
        }
    }
    Problems::check(problems)
}

impl From<Options> for Config {
    fn from(options: Options) -> Config {
        Config {
            manifest: options.manifest().to_owned(),
            inputs: Inputs { strict: options.strict, ..options.inputs },
            configs: options.configs,
            releases: [releases(&options.releases), options.downloaded].concat(),
            offline: options.offline,
            patches: options.patches,
            stemcells: options.stemcells,
            cache_limit: options.limit,
            name: options.name,
            expected_name: options.deployment,
            state_dir: options.state_dir,
            publish: options.publish,
            roll_back: options.rollback,
            allow_privileged: options.allow_privileged,
            allow_expired: options.allow_expired,
            skip_drain: options.skip_drain,
            replace: match (options.recreate, options.fix) {
                (true, _) => Replace::All,
                (false, true) => Replace::Failing,
                (false, false) => Replace::Changed,
            },
        }
    }
}

/// One line for `--help`.
pub const ABOUT: &str = "Bring a deployment up on this machine, or update it";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let signals = Signals::block()?;
    if !options.background {
        check_names(&options.releases)?;
    }
    // Instances see some of what is made: a user that is stricter would keep vcap out of its own /var/vcap. What is not
    // for others lies in directories that are not.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    if options.background { background::stay(options, signals) } else { background::start(&options, signals) }
}
