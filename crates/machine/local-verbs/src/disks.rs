//! `boson disks`: the persistent disks of deployments on this machine.

use clap::Args;
use problem::{Problem, Result, code};
use startup::Common;

use local_state::output;
use local_state::{Disk, StateDir, Which};
use table::{Table, TableOptions};

/// The arguments of `disks`.
#[derive(Debug, Args)]
#[command(
    long_about = "List the persistent disks of a deployment, with the sizes of their files. Disks outlive Ctrl-C, `boson down` and \
        the removal of their instances: the next `boson up` with an instance of the same name uses them again.\n\n\
        `boson disks delete` removes disks that no instance uses, with their data.",
    after_long_help = "Examples:\n\
        \x20\x20boson disks\n\
        \x20\x20boson disks delete postgres/0\n\
        \x20\x20boson disks delete --all"
)]
pub struct Options {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    #[command(flatten)]
    pub(crate) table: TableOptions,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// What is done with disks.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Removes disks that no instance uses, with their data
    Delete {
        /// Instances whose disks are removed
        #[arg(value_name = "GROUP/INDEX", required_unless_present = "all")]
        instances: Vec<String>,
        /// All disks that no instance uses
        #[arg(long, conflicts_with = "instances")]
        all: bool,
        #[command(flatten)]
        which: Which,
    },
}

/// One line for `--help`.
pub const ABOUT: &str = "List and remove persistent disks";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    match options.verb {
        None => list(&options.which.find()?, &options.table),
        Some(Verb::Delete { instances, all, which }) => {
            // Either place of the flags names the deployment.
            let Which { name, state_dir } = which;
            let which = Which { name: name.or(options.which.name), state_dir: state_dir.or(options.which.state_dir) };
            delete(&which.find()?, &instances, all)
        }
    }
}

fn list(dir: &StateDir, options: &TableOptions) -> Result<u8> {
    let used = used(dir)?;
    let mut table = Table::new("disks", &["Instance", "Size", "State", "Path"]);
    for disk in dir.disks()? {
        let (size, complete) = disk.size();
        let at_least = if complete { "" } else { ">" };
        let state = if used.contains(&disk.instance) { "attached" } else { "orphaned" };
        table.push([
            disk.instance.clone(),
            format!("{at_least}{}", output::size(size)),
            state.to_owned(),
            disk.path.display().to_string(),
        ]);
    }
    table.print(options)?;
    Ok(0)
}

fn delete(dir: &StateDir, instances: &[String], all: bool) -> Result<u8> {
    let (disks, used) = (dir.disks()?, used(dir)?);
    let is_wanted =
        |disk: &&Disk| if all { !used.contains(&disk.instance) } else { instances.contains(&disk.instance) };
    let wanted: Vec<&Disk> = disks.iter().filter(is_wanted).collect();
    let known: Vec<&str> = disks.iter().map(|disk| disk.instance.as_str()).collect();
    for instance in instances {
        if !known.contains(&instance.as_str()) {
            let problem = Problem::input(format!("'{instance}' has no persistent disk")).code(code::INSTANCE_UNKNOWN);
            return Err(problem.hint(format!("instances with disks: {}", known.join(", "))).into());
        }
        if used.contains(instance) {
            let problem =
                Problem::input(format!("the persistent disk of {instance} is in use")).code(code::ALREADY_RUNNING);
            return Err(problem
                .hint("boson down stops the deployment, and with --delete-disks removes its disks")
                .into());
        }
    }
    for disk in wanted {
        disk.delete()?;
        output::line(&format!("removed the persistent disk of {}", disk.instance));
    }
    // What had nothing else is gone with its last disk.
    if let Some(lock) = dir.lock()? {
        dir.remove(lock)?;
    }
    Ok(0)
}

/// The instances that use their disks.
fn used(dir: &StateDir) -> Result<Vec<String>> {
    let record = dir.record()?.filter(|record| record.boson.is_some_and(sandbox::ProcessId::is_alive));
    Ok(record.map(|record| record.addresses.into_keys().collect()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_largest_unit() {
        for (bytes, text) in [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (5 << 20, "5 MiB"), (3 << 40, "3 TiB")] {
            assert_eq!(output::size(bytes), text);
        }
    }
}
