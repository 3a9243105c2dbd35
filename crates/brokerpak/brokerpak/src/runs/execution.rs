//! Runs of terraform: the files of a workspace, and what becomes of the state.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brokerpak_model::import::Schemas;
use brokerpak_model::state::State;
use problem::{IoContext, Problem, Result, code};
use serde_json::Value as Json;
use terraform_runner::Masks;

use super::schemas;
use super::session::{Finished, Session, Work};
use super::store::{STATE, Unit, make};

/// The largest output of `show` that is read.
const LARGEST_PLAN: u64 = 256 << 20;

/// The largest document of schemas: all of Azure's have some 50 MB.
const LARGEST_SCHEMAS: u64 = 1 << 30;

/// Resources that were imported.
pub(crate) struct Imported {
    /// The file of the state.
    pub(crate) text: Vec<u8>,
    pub(crate) state: State,
    pub(crate) schemas: Schemas,
}

impl Work<'_> {
    /// Runs `apply` with a version of terraform.
    ///
    /// # Errors
    /// terraform cannot start; files cannot be written.
    pub(crate) fn apply(&self, unit: &mut Unit, version: Option<&str>) -> Result<Finished> {
        self.change(unit, version, &["apply", "-auto-approve", "-no-color", "-input=false"])
    }

    /// Runs `destroy`.
    ///
    /// # Errors
    /// As [`Work::apply`].
    pub(crate) fn destroy(&self, unit: &mut Unit) -> Result<Finished> {
        self.change(unit, None, &["destroy", "-auto-approve", "-no-color", "-input=false"])
    }

    /// Hides the outputs of a state in logs and messages.
    pub(crate) fn hide(&mut self, state: Option<&State>) {
        let secrets: Vec<String> = state.iter().flat_map(|state| state.secrets()).collect();
        self.masks.extend(secrets.iter().map(String::as_str));
    }

    fn change(&self, unit: &mut Unit, version: Option<&str>, command: &[&str]) -> Result<Finished> {
        unit.clear()?;
        let mut session = self.session(unit, unit.run_directory(), version, &self.files)?;
        let finished = session.change(unit, command);
        self.end(&session, unit, finished)
    }

    /// Keeps the state of a session, whatever its end was.
    fn end(&self, session: &Session<'_>, unit: &mut Unit, finished: Result<Finished>) -> Result<Finished> {
        let kept = session.keep_state(unit);
        let finished = self.without_new_secrets(finished?, unit);
        match (&finished, kept) {
            (Finished::Failed { .. }, Err(problems)) if problems.iter().all(|problem| problem.code != code::IO) => {
                // terraform was killed while it wrote the file: every state before was copied.
                tracing::warn!("the {} keeps its last complete state: {problems}", unit.what);
            }
            (_, kept) => kept?,
        }
        unit.clear()?;
        Ok(finished)
    }

    /// Imports resources, and gives the state and the schemas of their types. The state directory keeps nothing of it.
    ///
    /// # Errors
    /// As [`Work::apply`].
    pub(crate) fn import(
        &self,
        unit: &Unit,
        imports: &[(String, String)],
    ) -> Result<std::result::Result<Imported, Finished>> {
        let session = self.session(unit, unit.directory.join("import"), None, &self.files)?;
        let mut finished = session.terraform(&["init", &session.plugins(), "-no-color", "-input=false"], None)?;
        for (address, id) in imports {
            if matches!(finished, Finished::Succeeded) {
                finished = session.terraform(&["import", "-no-color", "-input=false", address, id], None)?;
            }
        }
        if matches!(finished, Finished::Succeeded) {
            finished = session.terraform(&["providers", "schema", "-json"], Some(LARGEST_SCHEMAS))?;
        }
        if !matches!(finished, Finished::Succeeded) {
            return Ok(Err(finished));
        }
        let path = session.directory.join("workspace").join(STATE);
        let text = fs::read(&path).io("read", &path)?;
        let state = State::parse(&text)
            .map_err(|what| Problem::internal(format!("the imported state cannot be read: {what}")))?;
        let kinds = state.resources.iter().map(|resource| resource.kind.clone()).collect();
        let schemas = schemas::read(session.printed()?, kinds)?;
        Ok(Ok(Imported { text, state, schemas }))
    }

    /// Plans what an import makes of the resources, and applies exactly that unless it destroys one.
    ///
    /// # Errors
    /// As [`Work::apply`].
    pub(crate) fn apply_import(
        &self,
        unit: &mut Unit,
        text: &[u8],
        started: &mut dyn FnMut(&mut Unit) -> Result<()>,
    ) -> Result<Finished> {
        unit.clear()?;
        let mut session = self.session(unit, unit.directory.join("import"), None, &self.files)?;
        let path = session.directory.join("workspace").join(STATE);
        write_private(&path, text)?;
        for (arguments, keep) in [
            (vec!["init".to_owned(), session.plugins(), "-no-color".to_owned(), "-input=false".to_owned()], None),
            (["plan", "-no-color", "-input=false", "-out=import.plan"].map(str::to_owned).to_vec(), None),
            (["show", "-json", "import.plan"].map(str::to_owned).to_vec(), Some(LARGEST_PLAN)),
        ] {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let finished = session.terraform(&arguments, keep)?;
            if !matches!(finished, Finished::Succeeded) {
                return Ok(finished);
            }
        }
        let mut shown = Vec::new();
        session
            .printed()?
            .read_to_end(&mut shown)
            .map_err(|error| Problem::internal("cannot read the plan").because(error))?;
        let destroyed = brokerpak_model::import::destroyed(&shown);
        let destroyed = destroyed.map_err(|what| Problem::internal(format!("the plan cannot be read: {what}")))?;
        if !destroyed.is_empty() {
            let message = format!("{} plan shows that resources would be destroyed - cancelling subsume", session.name);
            return Ok(Finished::Failed { message, errors: vec![destroyed.join(", ")] });
        }
        // From here on the resources are the instance's.
        started(unit)?;
        let state = State::parse(text)
            .map_err(|what| Problem::internal(format!("the imported state cannot be read: {what}")))?;
        unit.save_state(text, state)?;
        fs::rename(&session.directory, unit.run_directory()).io("rename", &session.directory)?;
        session.directory = unit.run_directory();
        let finished = session.run_and_copy(unit, &["apply", "-no-color", "-input=false", "import.plan"]);
        self.end(&session, unit, finished)
    }

    /// Errors without secrets that the state has since then.
    fn without_new_secrets(&self, finished: Finished, unit: &Unit) -> Finished {
        let Finished::Failed { message, errors } = finished else { return finished };
        let secrets: Vec<String> = unit.state.iter().flat_map(State::secrets).collect();
        let masks = Masks::new(secrets.iter().map(String::as_str));
        Finished::Failed { message, errors: errors.iter().map(|error| masks.hide(error)).collect() }
    }

    /// Writes a workspace.
    fn session<'s>(
        &'s self,
        unit: &Unit,
        directory: PathBuf,
        version: Option<&str>,
        files: &BTreeMap<String, String>,
    ) -> Result<Session<'s>> {
        let (name, executable) = self.runs.binaries.terraform(version)?;
        let workspace = directory.join("workspace");
        for directory in [&workspace, &directory.join("home")] {
            make(directory)?;
        }
        for (path, text) in files {
            let path = workspace.join(path);
            make(path.parent().unwrap_or(&workspace))?;
            write_private(&path, text.as_bytes())?;
        }
        self.runs.keep(files)?;
        if unit.state.is_some() {
            let (from, to) = (unit.directory.join(STATE), workspace.join(STATE));
            write_private(&to, &fs::read(&from).io("read", &from)?)?;
        }
        Ok(Session { work: self, directory, executable, name, copied: None, stdout: RefCell::default() })
    }
}

/// Writes a file for its owner alone.
fn write_private(path: &Path, text: &[u8]) -> Result<()> {
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    opened.and_then(|mut file| file.write_all(text)).io("write", path)
}

/// Copies the files of a workspace for people, into a directory of its own.
pub(crate) fn copy_files(directory: &Path, files: &BTreeMap<String, String>) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error).io("remove", directory),
        _ => {}
    }
    for (path, text) in files {
        let path = directory.join(path);
        let parent = path.parent().unwrap_or(directory);
        DirBuilder::new().recursive(true).mode(0o700).create(parent).io("create", parent)?;
        write_private(&path, text.as_bytes())?;
    }
    Ok(())
}

/// A configuration's value as terraform's environment has it.
pub(crate) fn as_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}
