//! `boson start`, `stop`, `restart` and `recreate`: groups, instances, or a job of an instance.

use clap::Args;
use problem::{Problem, Problems, Result, code};

use local_state::Connection;
use local_state::Which;
use local_state::control::{Action, Request};
use local_state::output;

/// What is started or stopped.
#[derive(Debug, Args)]
pub(crate) struct Subject {
    /// Instance groups, instances as `boson status` names them, or the processes of one job of an instance
    #[arg(value_name = "GROUP[/INDEX[/JOB]]", required_unless_present = "all")]
    pub(crate) subjects: Vec<String>,
    /// All instances
    #[arg(long, conflicts_with = "subjects")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// An instance, and a job of it.
type Part = (String, Option<String>);

fn request(subject: &Subject, action: Action, skip_drain: bool) -> Result<u8> {
    let dir = subject.which.find()?;
    let instances = instances(&Connection::expect(&dir)?)?;
    let chosen = if subject.all {
        instances.into_iter().map(|instance| (instance, None)).collect()
    } else {
        chosen(&subject.subjects, &instances)?
    };
    for (instance, job) in chosen {
        let connection = Connection::expect(&dir)?;
        connection.ask(&Request::Change { action, instance, job, skip_drain }, &[])?;
        let code = connection.follow_with(output::line)?;
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}

/// The instances of a deployment, in its order.
fn instances(connection: &Connection) -> Result<Vec<String>> {
    let mut names: Vec<String> = connection.status()?.into_iter().map(|row| row.instance).collect();
    // An instance has a row for each process.
    names.dedup();
    Ok(names)
}

/// What the arguments name; each once. All of them are checked first.
fn chosen(subjects: &[String], instances: &[String]) -> Result<Vec<Part>> {
    let (mut chosen, mut problems) = (Vec::<Part>::new(), Vec::new());
    for subject in subjects {
        let mut parts = subject.splitn(3, '/');
        let (group, index, job) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let name = index.map(|index| format!("{group}/{index}"));
        let is_wanted = |instance: &&String| match &name {
            Some(name) => *instance == name,
            None => instance.rsplit_once('/').is_some_and(|(of, _)| of == group),
        };
        let found: Vec<Part> =
            instances.iter().filter(is_wanted).map(|instance| (instance.clone(), job.map(str::to_owned))).collect();
        if found.is_empty() {
            let what = if index.is_some() { "instance" } else { "instance group" };
            let name = name.unwrap_or_else(|| group.to_owned());
            let known = format!("the instances are: {}", instances.join(", "));
            let problem = Problem::input(format!("unknown {what} '{name}'")).code(code::INSTANCE_UNKNOWN);
            problems.push(problem.hint(known));
        }
        chosen.extend(found.into_iter().filter(|part| !chosen.contains(part)).collect::<Vec<_>>());
    }
    Problems::check(problems)?;
    Ok(chosen)
}

macro_rules! verb {
    ($name:ident, $action:expr, $about:literal, $long:literal $(, $skip_drain:ident)?) => {
        #[doc = $about]
        pub mod $name {
            use clap::Args;
            use problem::Result;
            use startup::Common;

            use super::Subject;
            use local_state::control::Action;

            /// The arguments of the verb.
            #[derive(Debug, Args)]
            #[command(
                long_about = $long,
                after_long_help = concat!(
                    "Examples:\n\x20\x20boson ", stringify!($name), " nats/0\n\x20\x20boson ", stringify!($name), " nats smoke-tests/0\n\x20\x20boson ", stringify!($name), " --all"
                )
            )]
            pub struct Options {
                #[command(flatten)]
                pub(crate) subject: Subject,
                $(/// Leave out pre-stop and drain scripts
                #[arg(long)]
                pub(crate) $skip_drain: bool,)?
            }

            /// One line for `--help`.
            pub const ABOUT: &str = $about;

            /// Runs the verb; returns the exit code.
            pub fn run(options: Options, _common: &Common) -> Result<u8> {
                let skip_drain = false $(|| options.$skip_drain)?;
                super::request(&options.subject, $action, skip_drain)
            }
        }
    };
}

verb!(
    start,
    Action::Start,
    "Start instances or a job that was stopped",
    "Start what `boson stop` or `bpm stop` has stopped, and wait until it runs. An instance starts as in BOSH: pre-start, \
     the processes, post-start. The processes of a job start without scripts."
);
verb!(
    stop,
    Action::Stop,
    "Stop instances or a job",
    "Stop the processes of an instance, or of one of its jobs, until `boson start`. An instance stays stopped through updates; a job \
     starts with an instance that `boson up` replaces. An instance stops as in BOSH: pre-stop, drain, the processes, post-stop. The \
     processes of a job stop without scripts. The instance's files stay.\n\n\
     Scripts take the time that they need: a drain may last for minutes. Ctrl-C of `boson up` and `boson down` give \
     them 60 seconds in all.",
    skip_drain
);
verb!(
    restart,
    Action::Restart,
    "Restart instances or a job",
    "Stop the processes of an instance, or of one of its jobs, start them again, and wait until they run. The instance's \
     files stay. Scripts take the time that they need, as with `boson stop`.",
    skip_drain
);
verb!(
    recreate,
    Action::Recreate,
    "Make instances anew",
    "Stop instances, remove their sandboxes, and make them anew, one after the other, as `boson up` replaces them: persistent disks \
     and addresses stay, all other files do not.",
    skip_drain
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_instances_and_jobs_are_chosen_once() {
        let instances = ["web/0", "web/1", "db/0"].map(str::to_owned);
        let names = |subjects: &[&str]| -> Result<Vec<String>> {
            let subjects: Vec<String> = subjects.iter().map(|&subject| subject.to_owned()).collect();
            let text = |(instance, job): Part| job.map_or(instance.clone(), |job| format!("{instance}:{job}"));
            Ok(chosen(&subjects, &instances)?.into_iter().map(text).collect())
        };
        assert_eq!(names(&["db", "web/1", "web"]).unwrap(), ["db/0", "web/1", "web/0"]);
        assert_eq!(names(&["web/0/nginx"]).unwrap(), ["web/0:nginx"]);
        let message = names(&["wbe", "web/7", "db"]).unwrap_err().to_string();
        assert!(message.contains("instance group 'wbe'") && message.contains("instance 'web/7'"), "{message}");
    }
}
