//! `boson compile`: a release's packages, and with them what a release image contains.

mod count;
mod in_place;
mod output_directory;
mod sandboxed;
mod stemcells;
mod tree;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use problem::{Problem, Problems, Result, code};
use release::{CompiledPackage, Compiler, Progress as CompileProgress, Release, Runner};
use startup::Common;

pub use count::Count;
use in_place::InPlace;
use local_state::CacheLimit;
use local_state::Interrupt;
use local_state::Progress;
use local_state::Signals;
pub use sandboxed::Sandboxed;
pub use stemcells::{StemcellOption, Stemcells};

/// The arguments of `compile`.
#[derive(Debug, Args)]
#[command(
    long_about = "Compile the packages that the jobs of a release need, each after its dependencies, by their own packaging \
        scripts. Compiled packages are kept by their content: an unchanged package is not compiled again.\n\n\
        With --output, write what a release image has in /var/vcap: jobs-src/JOB/ (job.MF, monit, templates/) and \
        packages/PACKAGE/. Packages that are only needed to compile others are left out.\n\n\
        A script sees its dependencies in /var/vcap/packages and fills its own directory there, in a sandbox; nothing \
        outside is changed. Where sandboxes are not possible, as in the build of a container image, --in-place gives the \
        script the real /var/vcap.",
    after_long_help = "Examples:\n\
        \x20\x20boson compile --release ./nats-release\n\
        \x20\x20boson compile --release nats-1.2.tgz --output ./image/var/vcap\n\
        \x20\x20boson compile --release cf-cli.tgz --job cf-cli-8-linux\n\n\
        Exit codes: 0 compiled; 2 usage; 65 the release is wrong or a package does not compile; 70 internal or \
        environment error; 130 interrupted."
)]
pub struct Options {
    /// The release: its source directory (jobs/, packages/, src/), or an archive made by bosh
    #[arg(long, short, env = "BOSON_RELEASE", value_name = "PATH")]
    pub(crate) release: PathBuf,
    /// Compile only what this job needs, and write only this job; repeatable [default: all jobs of the release]
    #[arg(long = "job", value_name = "JOB")]
    pub(crate) jobs: Vec<String>,
    /// Directory for jobs-src/ and packages/; existing content is replaced
    #[arg(long, short, env = "BOSON_OUTPUT", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Root file system on which packages are compiled, instead of this machine's programs: a directory, an archive, an OCI
    /// image layout or a BOSH stemcell for Warden
    #[arg(long, env = "BOSON_STEMCELL", value_name = "PATH", conflicts_with = "in_place")]
    pub(crate) stemcell: Option<StemcellOption>,
    #[command(flatten)]
    pub(crate) limit: CacheLimit,
    /// Compile in this machine's /var/vcap, without a sandbox: as root, in the build of an image
    #[arg(long, env = "BOSON_IN_PLACE")]
    pub(crate) in_place: bool,
}

/// One line for `--help`.
pub const ABOUT: &str = "Compile a release's packages, for its image";

/// The exit code after an interrupt.
const INTERRUPTED: u8 = 130;

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let signals = Signals::block()?;
    // What scripts make is for everybody, as on a compilation VM.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    let started = SystemTime::now();
    let interrupt = Interrupt::default();
    let of_signals = interrupt.clone();
    signals.forward(move || of_signals.trigger())?;
    match compile(&options, &interrupt) {
        Err(_) if interrupt.is_asked() => Ok(INTERRUPTED),
        done => done.map(|()| {
            options.limit.apply(started);
            0
        }),
    }
}

/// Keeps these jobs of a release; all if none is named.
fn keep(release: &mut Release, jobs: &[String]) -> Result<()> {
    let problem = |job: &String| {
        let message = format!("release '{}' has no job '{job}'", release.name);
        let near = problem::did_you_mean(job, release.jobs.iter().map(|job| job.name.as_str()));
        let hint = near.map(|near| format!("did you mean '{near}'?"));
        hint.into_iter().fold(Problem::input(message).code(code::JOB_UNKNOWN), Problem::hint)
    };
    let unknown = jobs.iter().filter(|job| release.jobs.iter().all(|known| known.name != **job));
    Problems::check(unknown.map(problem).collect())?;
    release.jobs.retain(|job| jobs.is_empty() || jobs.contains(&job.name));
    Ok(())
}

fn compile(options: &Options, interrupt: &Interrupt) -> Result<()> {
    let cache = local_state::user_dirs::cache()?;
    let mut release = Release::open_any(&options.release, &cache, &|| interrupt.is_asked())?;
    keep(&mut release, &options.jobs)?;
    let stemcells = Stemcells::open(options.stemcell.as_slice(), &cache, &|| interrupt.is_asked())?;
    let alias = options.stemcell.as_ref().and_then(|option| option.alias.as_deref());
    let base = stemcells.of(alias);
    let wanted: BTreeSet<&str> = release.jobs.iter().flat_map(|job| &job.packages).map(String::as_str).collect();
    let output = options.output.as_deref().map(output_directory::check).transpose()?;
    let progress = Progress::on_stdout();
    let step = progress.step("compiling packages");
    let count = Count::default();
    let report = |event: CompileProgress| count.report(&step, &progress, event);
    let runner: Box<dyn Runner> = if options.in_place {
        Box::new(InPlace::new(&release, interrupt)?)
    } else {
        Box::new(Sandboxed::new(interrupt, base))
    };
    let all = Compiler::new(&cache, runner.as_ref(), &report)
        .on(base.map(|base| base.id.as_str()))
        .compile(&release, &Vec::from_iter(wanted.iter().copied()))?;
    step.done(&count.to_string());
    let (Some(output), Some(given)) = (output, &options.output) else { return Ok(()) };
    let step = progress.step("writing jobs and packages");
    let own: Vec<&CompiledPackage> = all.iter().filter(|package| wanted.contains(package.name.as_str())).collect();
    output_directory::write(&output, &release, &own, interrupt)?;
    step.done(&format!("wrote the jobs and packages of {} to {}", release.name, given.display()));
    Ok(())
}
