//! The verb `generate-parameters`: makes the values that a template leaves to generators, once.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use dialect_kubernetes_templates::{Format, Map, Node, UserValues, Value, write};
use problem::{IoContext, Problem, Problems, Result};
use startup::Common;
use template_flags::{ReadValues, Syntax, is_generated, syntax_of, with_generated};
use vcap::lock::{LONGEST_WAIT, Lock};

/// The verb's line in `--help`.
pub const ABOUT: &str = "Generate a template's parameters once, into a file";

/// The mode of the store.
const MODE: u32 = 0o600;

/// The options of `generate-parameters`.
#[derive(Debug, Args)]
#[command(
    long_about = "Generate a value for each parameter with `generate: expression` that has neither a default nor a value in the \
        store, and add it to the store. Values in the store are never replaced, so that a restart keeps passwords; of two \
        runs at the same time, one waits for the other. The store is a file for `process-template --values`, with mode 0600: \
        a map if its name ends in .json, .yaml or .yml, else lines NAME=VALUE, whose comments and empty lines stay.\n\n\
        An expression is text with classes of characters and their lengths, 1 to 255: `admin-[a-z0-9]{8}`. Ranges contain both \
        ends; \\w is letters, digits and _, \\d digits, \\a letters and digits, \\A punctuation.",
    after_long_help = "Examples:\n\
        \x20\x20generate-parameters --template web.yaml --store /var/lib/web/values.env\n\
        \x20\x20process-template --template web.yaml --values /var/lib/web/values.env\n\n\
        Exit codes: 0 done; 2 usage; 65 the store or the template does not exist or cannot be read; 66 the template is wrong; \
        70 the environment failed."
)]
pub struct Options {
    /// The template: JSON if the name ends in .json, else YAML; `-` is standard input
    #[arg(long, env = "BOSON_TEMPLATE", value_name = "FILE")]
    template: PathBuf,
    /// The file with the generated values; created if it does not exist
    #[arg(long, env = "BOSON_STORE", value_name = "FILE")]
    store: PathBuf,
    /// Syntax of the template [default: of its annotation or apiVersion, as in process-template]
    #[arg(long, env = "BOSON_SYNTAX", value_name = "SYNTAX")]
    syntax: Option<Syntax>,
}

/// Runs the verb and returns its exit code.
///
/// # Errors
/// The template, the store, and I/O.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let document = template_flags::template(&options.template);
    let parameters = document.and_then(|document| document.parameters(syntax_of(options.syntax, &document)?));
    let (values, mut problems) = stored(&options.store);
    let parameters = parameters.map_err(|error| problems.extend(error.into_vec())).unwrap_or_default();
    Problems::check(problems)?;
    let is_complete = parameters.iter().all(|one| !is_generated(one) || values.has(&one.name));
    // A store that nothing is generated for exists nevertheless: it is read next.
    if is_complete && options.store.exists() {
        narrow(&options.store);
        return Ok(0);
    }
    // From reading to writing, lest two runs generate different values.
    let _lock = Lock::acquire(&options.store, "the store", LONGEST_WAIT, &|| {
        tracing::warn!("waiting for another process that uses the store {}", options.store.display());
    })?;
    let (stored, problems) = stored(&options.store);
    Problems::check(problems)?;
    let values = with_generated(&parameters, &stored, &options.template.display().to_string())?;
    let text = text(&values, &stored, &options.store)?;
    narrow(&options.store);
    if values.iter().count() > stored.iter().count() || !options.store.exists() {
        vcap::atomic::write_file(&options.store, &text, MODE)?;
    }
    Ok(0)
}

/// The values in the store, and the problems; a file that does not exist has none.
fn stored(store: &Path) -> ReadValues {
    match fs::symlink_metadata(store) {
        Err(e) if e.kind() == ErrorKind::NotFound => ReadValues::default(),
        _ => template_flags::file(store),
    }
}

/// Takes a store away from other users who may read or write it: it may have been made by another program.
fn narrow(store: &Path) {
    let Some(metadata) = fs::metadata(store).ok().filter(fs::Metadata::is_file) else { return };
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & !MODE == 0 {
        return;
    }
    // A store of another user or of a read-only volume may be complete: that is no reason to fail.
    let done = match fs::set_permissions(store, fs::Permissions::from_mode(MODE)) {
        Ok(()) => format!("it is {MODE:04o} now"),
        Err(e) => format!("it could not be changed to {MODE:04o}: {e}"),
    };
    template_flags::print_warning(&format!("warning: the store {} had mode {mode:04o}: {done}", store.display()));
}

/// The store's text with these values. Lines that `stored` was read from stay as they are, comments too.
fn text(values: &UserValues, stored: &UserValues, store: &Path) -> Result<Vec<u8>> {
    if template_flags::is_document(store) {
        let map: Map = values.iter().map(|(name, value)| (name, Node::string(value))).collect();
        return Ok(write(&Node::new(Value::Map(map)), Format::of(&store.to_string_lossy())).into_bytes());
    }
    let mut text = if store.exists() { fs::read(store).io("read", store)? } else { Vec::new() };
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for (name, value) in values.iter().filter(|(name, _)| !stored.has(name)) {
        if value.contains(['\n', '\r']) {
            let message = format!("the value of '{name}' has several lines, which a store of lines cannot hold");
            return Err(Problem::input(message).hint("use a store whose name ends in .yaml").into());
        }
        text.extend(format!("{name}={value}\n").bytes());
    }
    Ok(text)
}
