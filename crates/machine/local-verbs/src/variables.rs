//! `boson variables`: the variables of a store, without their values.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use go_yaml::{Node, Value};
use manifest_inputs::{StoreFile, StorePaths};
use problem::{Problem, Problems, Result, code, did_you_mean, hint_for_unknown};
use startup::Common;
use variable_generator::Expiry;
use variables::{Refusal, Rotation, Step, Store};

use local_state::output;
use local_state::{StateDir, Which};
use startup::confirmation;
use table::{Table, TableOptions};

/// The arguments of `variables`.
#[derive(Debug, Args)]
#[command(
    long_about = "List the variables of a variables store: names, types, and when certificates expire. The list shows no values.\n\n\
        `boson variables get NAME` prints the value of a variable, `get NAME.KEY` a part of it. At a terminal, it asks before \
        it prints a secret (--non-interactive: not).\n\n\
        `boson variables rotate` lets the next run that uses the store (`boson up`, `boson plan`, `boson interpolate`) \
        generate variables anew, if the manifest defines them. Until then their values stay. Certificates that a rotated \
        authority has signed keep their values, and are reported: rotate them, too.\n\n\
        `boson variables rotate-authority NAME` replaces a certificate authority in three steps, between which all \
        certificates are trusted.",
    after_long_help = "Examples:\n\
        \x20\x20boson variables --vars-store creds.yml\n\
        \x20\x20boson variables rotate nats_ca nats_tls --vars-store creds.yml\n\
        \x20\x20boson variables rotate-authority nats_ca -d nats\n\
        \x20\x20boson variables -d nats --expiring 30d\n\
        \x20\x20boson variables get nats_tls.certificate -d nats"
)]
pub struct Options {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    /// List only certificates that expire within this time, such as 30d, or have expired
    #[arg(long, value_name = "TIME", value_parser = startup::parse_duration)]
    expiring: Option<Duration>,
    #[command(flatten)]
    pub(crate) table: TableOptions,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// What is done with variables.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Print the value of a variable
    Get {
        /// The variable, or a part of it: tls.certificate
        #[arg(value_name = "NAME[.KEY]")]
        variable: String,
        /// Print a secret without asking; never asked without a terminal
        #[arg(long, short = 'n', env = "BOSH_NON_INTERACTIVE")]
        non_interactive: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Do the next of the three steps that replace a certificate authority
    #[command(
        long_about = "Replace a certificate authority in three steps, so that all certificates are trusted at every time. Each call \
            does the next step; after each, run `boson up` of every deployment that uses the authority.\n\n\
            1. A new authority is generated. Both are trusted, and the present one goes on signing.\n\
            2. The new authority signs: its certificates are generated anew. Both are trusted.\n\
            3. The authority before is forgotten.\n\n\
            Between the steps, `certificate` of the authority and `ca` of its certificates hold both certificates, that of the \
            authority that signs first. Authorities that it has signed are rotated in the same way, before its third step.",
        after_long_help = "Example:\n\
            \x20\x20boson variables rotate-authority nats_ca && boson up -m nats.yml -r ./nats-release\n\n\
            Exit codes: 0 the step is done; 65 the step before needs a run first, or the variable is not an authority."
    )]
    RotateAuthority {
        /// The certificate authority
        #[arg(value_name = "VARIABLE")]
        variable: String,
        #[command(flatten)]
        place: Place,
    },
    /// Let the next run generate variables anew
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
        match (self.vars_store, self.which.name(), &self.which.state_dir) {
            (Some(path), ..) => Ok(StorePaths::from(path.as_path())),
            (None, None, None) => Ok(self.which.find()?.variables()),
            // Also for a deployment that is down.
            (None, name, state_dir) => {
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
pub const ABOUT: &str = "List, show and rotate generated variables";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    match options.verb {
        None => list(options.place, options.expiring, &options.table),
        Some(Verb::Get { variable, non_interactive, place }) => {
            get(place.or(options.place).paths()?, &variable, !non_interactive && confirmation::is_possible())
        }
        Some(Verb::RotateAuthority { variable, place }) => {
            rotate_authority(place.or(options.place).paths()?, &variable)
        }
        Some(Verb::Rotate { names, place }) => rotate(place.or(options.place).paths()?, &names),
    }
}

fn list(place: Place, expiring: Option<Duration>, options: &TableOptions) -> Result<u8> {
    let is_named = place.vars_store.is_some();
    let paths = place.paths()?;
    // A deployment without generated variables has no store, but a mistaken path is not an empty one.
    if is_named {
        existing(&paths)?;
    }
    let store = StoreFile::read(paths)?.store;
    let certificates: Vec<(&str, &str)> = store
        .values()
        .iter()
        .filter_map(|(key, value)| Some((key.as_str()?, value.get("certificate")?.as_str()?)))
        .collect();
    let found: Vec<(&str, Option<Expiry>)> =
        certificates.iter().map(|(name, text)| (*name, variable_generator::expiry(text))).collect();
    table(&store, &found, expiring).print(options)?;
    Ok(0)
}

/// The keys of values that hold no secret.
const PUBLIC: [&str; 4] = ["ca", "certificate", "public_key", "public_key_fingerprint"];

/// Prints a value or a part of one; asks before it prints a secret if `asks`.
fn get(paths: StorePaths, name: &str, asks: bool) -> Result<u8> {
    existing(&paths)?;
    let store = StoreFile::read(paths)?.store;
    let value = find(&store, name)?;
    let is_public = name.rsplit_once('.').is_some_and(|(_, key)| store.get(name).is_none() && PUBLIC.contains(&key));
    if asks && !is_public {
        output::line(&format!("This prints the secret '{name}'."));
        if !confirmation::is_confirmed() {
            return Ok(1);
        }
    }
    let text =
        value.as_str().map_or_else(|| go_yaml::write(value), |text| format!("{}\n", text.trim_end_matches('\n')));
    startup::write_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(0)
}

/// The value of a variable, or what its keys lead to.
fn find<'s>(store: &'s Store, path: &str) -> Result<&'s Node> {
    if let Some(value) = store.get(path) {
        return Ok(value);
    }
    let (name, keys) = path.split_once('.').map_or((path, None), |(name, keys)| (name, Some(keys)));
    let mut value = store.get(name).ok_or_else(|| unknown(store, name))?;
    for key in keys.iter().flat_map(|keys| keys.split('.')) {
        value = value.get(key).ok_or_else(|| {
            let problem = Problem::input(format!("the variable '{name}' has no '{key}'")).code(code::INPUT_INVALID);
            let known: Vec<&str> = match &value.value {
                Value::Map(map) => map.iter().filter_map(|(key, _)| key.as_str()).collect(),
                _ => Vec::new(),
            };
            problem.hint(hint_for_unknown(key, known.iter().copied(), || match known.as_slice() {
                [] => "its value has no parts".to_owned(),
                known => format!("it has: {}", known.join(", ")),
            }))
        })?;
    }
    Ok(value)
}

fn unknown(store: &Store, name: &str) -> Problem {
    let mut problem = Problem::input(format!("the variables store has no variable '{name}'")).code(code::INPUT_INVALID);
    let known = store.values().iter().filter_map(|(key, _)| key.as_str());
    problem.hint = did_you_mean(name, known).map(|name| format!("did you mean '{name}'?"));
    problem
}

fn rotate(paths: StorePaths, names: &[String]) -> Result<u8> {
    existing(&paths)?;
    let mut file = StoreFile::lock(paths)?;
    let unknown = names.iter().filter(|name| file.store.get(name).is_none()).map(|name| unknown(&file.store, name));
    Problems::check(unknown.collect())?;
    names.iter().for_each(|name| file.store.mark(name));
    file.save()?;
    for name in names {
        output::line(&format!("{name}: the next run generates a new value"));
    }
    Ok(0)
}

/// Does the next step of an authority's rotation, and says what comes after it.
fn rotate_authority(paths: StorePaths, name: &str) -> Result<u8> {
    existing(&paths)?;
    let mut file = StoreFile::lock(paths)?;
    if file.store.get(name).is_none() {
        return Err(unknown(&file.store, name).into());
    }
    let step = file.store.rotate_authority(name).map_err(|refusal| refused(name, &refusal))?;
    file.save()?;
    output::line(&match step {
        Step::Trust => format!("{name}, step 1 of 3: the next run generates a new authority, and lets all trust both"),
        Step::Sign => format!("{name}, step 2 of 3: the next run generates certificates that the new authority signs"),
        Step::Forget => format!("{name}, step 3 of 3: the next run lets all trust the new authority alone"),
    });
    output::line("  run `boson up` of every deployment that uses it");
    if step != Step::Forget {
        output::line(&format!("  then `boson variables rotate-authority {name}` again"));
    }
    Ok(0)
}

/// Why a step of a rotation cannot be done.
fn refused(name: &str, refusal: &Refusal) -> Problem {
    let (message, hint) = match refusal {
        Refusal::NotACertificate => (
            format!("the variable '{name}' is not a certificate authority"),
            "`boson variables rotate` replaces other variables".to_owned(),
        ),
        Refusal::NotGenerated => (
            format!("the new authority of '{name}' has not been generated yet"),
            "`boson up` generates it, if the manifest defines the variable".to_owned(),
        ),
        Refusal::StillUsed(users) => (
            format!("'{name}': the authority before has signed {}", users.join(", ")),
            "`boson up` generates certificates anew; `boson variables rotate-authority` replaces authorities that it has signed"
                .to_owned(),
        ),
    };
    Problem::input(message).code(code::INPUT_INVALID).hint(hint)
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

/// The table of variables, by name; with `expiring` only of certificates that have no more time.
fn table(store: &Store, certificates: &[(&str, Option<Expiry>)], expiring: Option<Duration>) -> Table {
    let is_listed = |expiry: Option<&Expiry>| {
        expiring.is_none_or(|time| {
            expiry.is_some_and(|expiry| u64::try_from(expiry.seconds).unwrap_or_default() <= time.as_secs())
        })
    };
    let mut table = Table::new("variables", &["Name", "Type", "Expires", "State"]);
    for (key, _) in store.values().iter() {
        let name = key.as_str().unwrap_or_default();
        let expiry = certificates.iter().find(|(known, _)| *known == name).and_then(|(_, expiry)| expiry.as_ref());
        if !is_listed(expiry) {
            continue;
        }
        let state = match expiry {
            _ if store.is_marked(name) => "to be rotated",
            _ if store.rotation(name) == Some(&Rotation::Wanted) => "rotation: generated by the next run",
            _ if store.rotation(name) == Some(&Rotation::Signing) => "rotation: new authority signs",
            _ if store.rotation(name).is_some() => "rotation: both are trusted",
            Some(expiry) if expiry.seconds <= 0 => "expired",
            _ => "",
        };
        let date = expiry.map_or("", |expiry| expiry.date.as_str());
        table.push([name, store.kind(name), date, state].map(str::to_owned));
    }
    table.sort();
    table
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
        let text = table(&store, &[("a", Some(expiry))], None).text(&TableOptions::default()).unwrap();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_table_may_have_only_certificates_that_expire() {
        let text = "a: {certificate: x}\nb: {certificate: x}\nc: {certificate: x}\nd: x\n";
        let store = Store::parse(text.as_bytes(), Source::default()).unwrap();
        let expiry = |seconds| Some(Expiry { date: "2026-01-02T03:04:05Z".to_owned(), seconds });
        let certificates = [("a", expiry(-1)), ("b", expiry(60)), ("c", expiry(61))];
        let text = table(&store, &certificates, Some(Duration::from_secs(60))).text(&TableOptions::default()).unwrap();
        let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names, ["NAME", "a", "b"]);
    }

    #[test]
    fn a_value_is_found_by_its_name_and_keys() {
        let text = "a: s3cret\na.b: dotted\ntls: {certificate: c, private_key: s3cret}\n";
        let store = Store::parse(text.as_bytes(), Source::default()).unwrap();
        for (path, value) in [("a", "s3cret"), ("a.b", "dotted"), ("tls.certificate", "c")] {
            assert_eq!(find(&store, path).unwrap().as_str(), Some(value));
        }
        for (path, message) in [
            ("tsl.ca", "error: the variables store has no variable 'tsl'"),
            ("tls.certificat", "error: the variable 'tls' has no 'certificat'\n  hint: did you mean 'certificate'?"),
            ("tls.x", "error: the variable 'tls' has no 'x'\n  hint: it has: certificate, private_key"),
            ("a.c", "error: the variable 'a' has no 'c'\n  hint: its value has no parts"),
        ] {
            assert_eq!(find(&store, path).unwrap_err().to_string(), message);
        }
    }
}
