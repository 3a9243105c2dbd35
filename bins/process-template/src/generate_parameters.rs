//! The verb `generate-parameters`: makes the values that a template leaves to generators, once.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use dialect_kubernetes_templates::{Format, Given, Map, Node, Value, write};
use problem::{Problem, Problems, Result};
use startup::Common;
use template_flags::{ReadValues, Syntax, is_generated, with_generated};
use vcap::lock::{LONGEST_WAIT, Lock};

/// The verb's line in `--help`.
pub const ABOUT: &str = "Generate the values of a template's parameters once, and keep them in a file";

/// The mode of the store.
const MODE: u32 = 0o600;

/// The options of `generate-parameters`.
#[derive(Debug, Args)]
#[command(
    long_about = "Generate a value for each parameter with `generate: expression` that has neither a default nor a value in the \
        store, and add it to the store. Values in the store are never replaced, so that a restart keeps passwords; of two \
        runs at the same time, one waits for the other. The store is a file for `process-template --values`, with mode 0600: \
        a map if its name ends in .json, .yaml or .yml, else lines NAME=VALUE.\n\n\
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
    /// Syntax of the template: kubernetes or openshift
    #[arg(long, env = "BOSON_SYNTAX", value_name = "SYNTAX", default_value = "kubernetes")]
    syntax: Syntax,
}

/// Runs the verb and returns its exit code.
///
/// # Errors
/// The template, the store, and I/O.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let document = template_flags::template(&options.template);
    let parameters = document.and_then(|document| document.parameters(options.syntax.into()));
    let (values, mut problems) = stored(&options.store);
    let parameters = parameters.map_err(|error| problems.extend(error.into_vec())).unwrap_or_default();
    Problems::check(problems)?;
    let is_complete = parameters.iter().all(|one| !is_generated(one) || values.has(&one.name));
    // A store that nothing is generated for exists nevertheless: it is read next.
    if is_complete && options.store.exists() {
        return Ok(0);
    }
    // From reading to writing, lest two runs generate different values.
    let _lock = Lock::acquire(&options.store, "the store", LONGEST_WAIT, &|| {
        tracing::warn!("waiting for another process that uses the store {}", options.store.display());
    })?;
    let (stored, problems) = stored(&options.store);
    Problems::check(problems)?;
    let values = with_generated(&parameters, &stored, &options.template.display().to_string())?;
    if values.iter().count() > stored.iter().count() || !options.store.exists() {
        vcap::atomic::write_file(&options.store, &text(&values, &options.store)?, MODE)?;
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

/// The store's text.
fn text(values: &Given, store: &Path) -> Result<Vec<u8>> {
    if template_flags::is_document(store) {
        let map: Map = values.iter().map(|(name, value)| (name, Node::string(value))).collect();
        return Ok(write(&Node::new(Value::Map(map)), Format::of(&store.to_string_lossy())).into_bytes());
    }
    let mut text = String::new();
    for (name, value) in values.iter() {
        if value.contains(['\n', '\r']) {
            let message = format!("the value of '{name}' has several lines, which a store of lines cannot hold");
            return Err(Problem::input(message).hint("use a store whose name ends in .yaml").into());
        }
        text.push_str(&format!("{name}={value}\n"));
    }
    Ok(text.into_bytes())
}
