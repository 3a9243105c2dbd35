//! Commands of terraform in a workspace.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use brokerpak_model::state::State;
use problem::{IoContext, Problem, Result, code};
use terraform_runner::{Command, End, Masks, Outcome};

use super::binaries::REGISTRIES;
use super::store::{STATE, Unit, make};
use super::{Runs, problems_of};

/// What terraform works with.
pub(crate) struct Work<'w> {
    pub(crate) runs: &'w Runs,
    /// Called before each command.
    pub(crate) started: &'w (dyn Fn() + Sync),
    pub(crate) lock: &'w File,
    /// The files of the workspace.
    pub(crate) files: BTreeMap<String, String>,
    /// Variables of the environment: required ones and parameters.
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) masks: Masks,
}

/// The end of a run of terraform.
#[derive(Debug)]
pub(crate) enum Finished {
    Succeeded,
    /// terraform's own failure, or its interruption.
    Failed {
        message: String,
        errors: Vec<String>,
    },
}

impl Finished {
    /// The problem of a failure.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let Finished::Failed { message, errors } = self else { return None };
        Some(errors.iter().fold(Problem::template(message.clone()), |problem, error| problem.because(error)))
    }
}

/// What is done in a workspace.
pub(crate) struct Session<'s> {
    pub(crate) work: &'s Work<'s>,
    /// The directory of everything.
    pub(crate) directory: PathBuf,
    pub(crate) executable: PathBuf,
    pub(crate) name: &'s str,
    /// The state that has been copied last: its time and size.
    pub(crate) copied: Option<(i64, i64, u64)>,
    /// What the last command has printed.
    pub(crate) stdout: RefCell<Option<File>>,
}

impl Session<'_> {
    pub(crate) fn plugins(&self) -> String {
        format!("-plugin-dir={}", self.work.runs.binaries.directory().display())
    }

    /// What the last command has printed, where that is kept.
    ///
    /// # Errors
    /// Nothing was kept.
    pub(crate) fn printed(&self) -> Result<File> {
        let printed = self.stdout.borrow_mut().take();
        Ok(printed.ok_or_else(|| Problem::internal("the output of a command was not kept"))?)
    }

    /// Replaces providers in the state, initialises, and runs a command that changes something.
    pub(crate) fn change(&mut self, unit: &mut Unit, command: &[&str]) -> Result<Finished> {
        let finished = self.replace_providers(unit)?;
        if !matches!(finished, Finished::Succeeded) {
            return Ok(finished);
        }
        let finished = self.terraform(&["init", &self.plugins(), "-no-color", "-input=false"], None)?;
        match finished {
            Finished::Succeeded => self.run_and_copy(unit, command),
            failed => Ok(failed),
        }
    }

    /// Gives the resources of the state the new addresses of their providers. In a directory without templates: with them, tofu
    /// wants to be initialised, for which it would need the old providers.
    fn replace_providers(&self, unit: &mut Unit) -> Result<Finished> {
        let manifest = &self.work.runs.pak.manifest;
        let resources = unit.state.as_ref().map(|state| state.resources.clone()).unwrap_or_default();
        let directory = self.directory.join("providers");
        let (path, alone) = (self.directory.join("workspace").join(STATE), directory.join(STATE));
        for (old, new) in &manifest.provider_replacements {
            let (known, new) = (addresses(old), &addresses(new)[usize::from(self.name == "tofu")]);
            let found = resources.iter().map(|resource| &resource.provider).find(|provider| known.contains(provider));
            let Some(found) = found.filter(|found| *found != new) else { continue };
            make(&directory)?;
            fs::copy(&path, &alone).io("copy", &path)?;
            let arguments = ["state", "replace-provider", "-auto-approve", "-no-color", found, new];
            let finished = self.run_in(&directory, &arguments, None, &mut || ())?;
            if !matches!(finished, Finished::Succeeded) {
                return Ok(finished);
            }
            fs::rename(&alone, &path).io("replace", &path)?;
            copy_state(&path, unit, true)?;
        }
        Ok(Finished::Succeeded)
    }

    /// Runs a command, and copies each state that it writes.
    pub(crate) fn run_and_copy(&mut self, unit: &mut Unit, arguments: &[&str]) -> Result<Finished> {
        let mut copied = self.copied;
        let path = self.directory.join("workspace").join(STATE);
        let outcome = self.run(arguments, None, &mut || {
            let found = fs::metadata(&path).map(|meta| (meta.mtime(), meta.mtime_nsec(), meta.len())).ok();
            if found != copied {
                copied = found;
                // What cannot be copied now is copied at the end.
                let _ = copy_state(&path, unit, false);
            }
        });
        self.copied = copied;
        outcome
    }

    pub(crate) fn terraform(&self, arguments: &[&str], keep_stdout: Option<u64>) -> Result<Finished> {
        self.run(arguments, keep_stdout, &mut || ())
    }

    fn run(&self, arguments: &[&str], keep_stdout: Option<u64>, tick: &mut dyn FnMut()) -> Result<Finished> {
        self.run_in(&self.directory.join("workspace"), arguments, keep_stdout, tick)
    }

    fn run_in(
        &self,
        directory: &Path,
        arguments: &[&str],
        keep_stdout: Option<u64>,
        tick: &mut dyn FnMut(),
    ) -> Result<Finished> {
        let (runs, name) = (self.work.runs, self.name);
        let what = format!("{name} {}", arguments.first().unwrap_or(&""));
        if runs.interruption.is_raised() {
            return Ok(Finished::Failed {
                message: format!("{what} was not started: the run was interrupted"),
                errors: Vec::new(),
            });
        }
        let home = self.directory.join("home");
        let environment =
            terraform_runner::environment(&runs.environment, &home, runs.binaries.directory(), &self.work.environment);
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let command = Command {
            executable: &self.executable,
            arguments: &arguments,
            directory,
            environment: &environment,
            keep_stdout,
            lock: self.work.lock,
            masks: &self.work.masks,
        };
        tracing::debug!("running {what}");
        (self.work.started)();
        let outcome = command.run(runs.limits, &runs.interruption, tick).map_err(|error| {
            Problem::internal(format!("cannot run {}", self.executable.display()))
                .because(error)
                .code(code::PROCESS_NOT_STARTED)
        })?;
        let finished = finished(&what, &outcome);
        *self.stdout.borrow_mut() = outcome.stdout;
        Ok(finished)
    }

    /// Copies the state at the end; it must be one.
    pub(crate) fn keep_state(&self, unit: &mut Unit) -> Result<()> {
        let workspace = self.directory.join("workspace");
        // Where terraform could not write the state, it tries this file.
        let errored = workspace.join("errored.tfstate");
        if errored.exists() && copy_state(&errored, unit, true).is_ok() {
            return Ok(());
        }
        let path = workspace.join(STATE);
        if path.exists() { copy_state(&path, unit, true) } else { Ok(()) }
    }
}

fn finished(what: &str, outcome: &Outcome) -> Finished {
    if outcome.is_success() {
        return Finished::Succeeded;
    }
    let message = match outcome.end {
        End::Exited => format!("{what} failed: {}", outcome.reason()),
        _ => format!("{what} did not finish: {}", outcome.reason()),
    };
    Finished::Failed { message, errors: outcome.errors() }
}

/// An address as states have it, in the registries of terraform and of tofu, which stand for each other.
fn addresses(address: &str) -> [String; 2] {
    let rest = REGISTRIES.iter().find_map(|registry| address.strip_prefix(registry)?.strip_prefix('/'));
    let rest = match (rest, address.matches('/').count()) {
        (Some(rest), _) => rest.to_owned(),
        (None, 0) => format!("hashicorp/{address}"),
        (None, 1) => address.to_owned(),
        (None, _) => return [address.to_owned(), address.to_owned()],
    };
    REGISTRIES.map(|registry| format!("{registry}/{rest}"))
}

/// Copies a complete state into the state directory. Copies of a run are not flushed to the disk, the last one is.
fn copy_state(path: &Path, unit: &mut Unit, is_last: bool) -> Result<()> {
    let text = fs::read(path).io("read", path)?;
    let state = State::parse(&text).map_err(|why| {
        let what = format!("terraform has left a state of the {} that cannot be read: {why}", unit.what);
        problems_of(Problem::internal(what))
    })?;
    if is_last { unit.save_state(&text, state) } else { unit.copy_state(&text, state) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_registries_are_the_same() {
        let [terraform, tofu] = ["registry.terraform.io/hashicorp/google", "registry.opentofu.org/hashicorp/google"];
        for address in ["google", "hashicorp/google", terraform, tofu] {
            assert_eq!(addresses(address), [terraform, tofu], "{address}");
        }
        assert_eq!(addresses("registry.terraform.io/-/google")[0], "registry.terraform.io/-/google");
        assert_eq!(addresses("example.com/a/b"), ["example.com/a/b"; 2]);
    }
}
