//! `boson variables`: the variables of a store, without their values.

use std::path::PathBuf;

use clap::Args;
use manifest_inputs::{StoreFile, StorePaths};
use problem::{Problem, Problems, Result, code, did_you_mean};
use startup::Common;
use variable_generator::Expiry;
use variables::Store;

use local_state::output;
use local_state::{StateDir, Which};

/// The arguments of `variables`.
#[derive(Debug, Args)]
#[command(
    long_about = "List the variables of a variables store: names, types, and when certificates expire. Values are never shown; \
        `boson interpolate` puts them into a document.\n\n\
        `boson variables rotate` lets the next run that uses the store (`boson up`, `boson plan`, `boson interpolate`) \
        generate variables anew, if the manifest defines them. Until then their values stay. Certificates that a rotated \
        authority has signed keep their values, and are reported: rotate them, too.",
    after_long_help = "Examples:\n\
        \x20\x20boson variables --vars-store creds.yml\n\
        \x20\x20boson variables rotate nats_ca nats_tls --vars-store creds.yml\n\
        \x20\x20boson variables --name nats"
)]
pub struct Options {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// What is done with variables.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Lets the next run generate variables anew
    Rotate {
        /// The variables
        #[arg(value_name = "VARIABLE", required = true)]
        names: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
}

/// Where the store is.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The variables store [default: that of the deployment]
    #[arg(long, value_name = "FILE")]
    vars_store: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
}

impl Place {
    fn paths(self) -> Result<StorePaths> {
        match (self.vars_store, &self.which) {
            (Some(path), _) => Ok(StorePaths::from(path.as_path())),
            (None, Which { name: None, state_dir: None }) => Ok(self.which.find()?.variables()),
            // Also for a deployment that is down.
            (None, Which { name, state_dir }) => {
                Ok(StateDir::of(state_dir.as_deref(), name.as_deref().unwrap_or_default())?.variables())
            }
        }
    }

    /// Either place of the flags names the store.
    fn or(self, outer: Place) -> Place {
        let which = Which {
            name: self.which.name.or(outer.which.name),
            state_dir: self.which.state_dir.or(outer.which.state_dir),
        };
        Place { vars_store: self.vars_store.or(outer.vars_store), which }
    }
}

/// One line for `--help`.
pub const ABOUT: &str = "List generated variables, and rotate them";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    match options.verb {
        None => list(options.place.paths()?),
        Some(Verb::Rotate { names, place }) => rotate(place.or(options.place).paths()?, &names),
    }
}

fn list(paths: StorePaths) -> Result<u8> {
    existing(&paths)?;
    let store = StoreFile::read(paths)?.store;
    let certificates: Vec<(&str, &str)> = store
        .values()
        .iter()
        .filter_map(|(key, value)| Some((key.as_str()?, value.get("certificate")?.as_str()?)))
        .collect();
    let found: Vec<(&str, Option<Expiry>)> =
        certificates.iter().map(|(name, text)| (*name, variable_generator::expiry(text))).collect();
    for line in table(&store, &found) {
        output::line(&line);
    }
    Ok(0)
}

fn rotate(paths: StorePaths, names: &[String]) -> Result<u8> {
    existing(&paths)?;
    let mut file = StoreFile::lock(paths)?;
    let known: Vec<String> = file.store.values().iter().filter_map(|(key, _)| Some(key.as_str()?.to_owned())).collect();
    let unknown = names.iter().filter(|name| !known.contains(name)).map(|name| {
        let mut problem = Problem::input(format!("the variables store has no variable '{name}'"));
        problem.hint =
            did_you_mean(name, known.iter().map(String::as_str)).map(|name| format!("did you mean '{name}'?"));
        problem.code(code::INPUT_INVALID)
    });
    Problems::check(unknown.collect())?;
    names.iter().for_each(|name| file.store.mark(name));
    file.save()?;
    for name in names {
        output::line(&format!("{name}: the next run generates a new value"));
    }
    Ok(0)
}

/// A mistaken path is not an empty store here.
fn existing(paths: &StorePaths) -> Result<()> {
    if paths.own.exists() || paths.shared.as_ref().is_some_and(|path| path.exists()) {
        return Ok(());
    }
    let problem =
        Problem::input(format!("the variables store {} does not exist", paths.own.display())).code(code::INPUT_FILE);
    Err(problem.hint("`boson interpolate --vars-store` and `boson up` write one").into())
}

/// The table's lines, head included.
fn table(store: &Store, certificates: &[(&str, Option<Expiry>)]) -> Vec<String> {
    let head = ["NAME", "TYPE", "EXPIRES", "STATE"].map(str::to_owned);
    let mut rows: Vec<[String; 4]> = store
        .values()
        .iter()
        .map(|(key, _)| {
            let name = key.as_str().unwrap_or_default();
            let expiry = certificates.iter().find(|(known, _)| *known == name).and_then(|(_, expiry)| expiry.as_ref());
            let state = match expiry {
                _ if store.is_marked(name) => "to be rotated",
                Some(expiry) if expiry.seconds <= 0 => "expired",
                _ => "-",
            };
            let date = expiry.map_or("-", |expiry| expiry.date.as_str());
            [name, store.kind(name), date, state].map(str::to_owned)
        })
        .collect();
    rows.sort();
    rows.insert(0, head);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..4).map(width).collect();
    let line = |row: &[String; 4]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use go_yaml::Source;

    use super::*;

    #[test]
    fn the_table_shows_no_value() {
        let text = "b: s3cret\na: {certificate: s3cret, private_key: s3cret, ca: s3cret}\nc: {private_key: s3cret, public_key: s3cret}\n";
        let mut store = Store::parse(text.as_bytes(), Source::default()).unwrap();
        store.mark("c");
        let expiry = Expiry { date: "2026-01-02T03:04:05Z".to_owned(), seconds: -1 };
        let expected = [
            "NAME  TYPE         EXPIRES               STATE",
            "a     certificate  2026-01-02T03:04:05Z  expired",
            "b     password     -                     -",
            "c     rsa          -                     to be rotated",
        ];
        assert_eq!(table(&store, &[("a", Some(expiry))]), expected);
    }
}
