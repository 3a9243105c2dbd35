//! What is rendered: the configuration, the instance, and the bounds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use dialect_nstance::document::{Node, Object, Position};
use dialect_nstance::{Configuration, Instance, Settings};
use problem::{IoContext, Place, Problem, Problems, Result, code};
use startup::{Common, parse_duration, parse_size};

use crate::downloads;
use crate::facts::Facts;
use crate::files::{kept, read, unreadable};
use crate::image_flags::ImageFlags;

const CONFIG: &str = "/etc/nstance/config.json";
const INSTANCE: &str = "/etc/nstance/instance.json";
/// Inflated, userdata may be so many times larger than its download.
const INFLATION: u64 = 8;

/// The flags of the inputs.
#[derive(Debug, Args)]
pub(crate) struct Inputs {
    /// The configuration [default: /etc/nstance/config.json]
    #[arg(long, env = "CONFIG_PATH", value_name = "FILE")]
    config_path: Option<PathBuf>,
    /// The instance document; the default may be missing [default: /etc/nstance/instance.json]
    #[arg(long, env = "INSTANCE_PATH", value_name = "FILE")]
    instance_path: Option<PathBuf>,
    /// The tenant of the instance's group, where groups have tenants
    #[arg(long, env = "TENANT", value_name = "NAME")]
    tenant: Option<String>,
    /// The instance's group
    #[arg(long, env = "GROUP", value_name = "NAME")]
    group: Option<String>,
    /// A file with the nonce; a newline at its end does not count
    #[arg(long, env = "NONCE_PATH", value_name = "FILE")]
    nonce_path: Option<PathBuf>,
    /// A directory with a file for each var of the highest level, such as a mounted Secret
    #[arg(long, env = "VARS_DIR", value_name = "DIR")]
    vars_dir: Option<PathBuf>,
    #[command(flatten)]
    facts: Facts,
    /// What a var or an image is that does not exist: an error, or empty
    #[arg(long, env = "MISSINGKEY", value_name = "WHAT", default_value = "error")]
    missingkey: MissingKey,
    /// Time limit of each template: 500ms, 45s, 5m; 0 means no limit
    #[arg(long, env = "TEMPLATE_TIMEOUT", value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    template_timeout: Duration,
    /// The largest output of a template, in bytes; K, M or G multiply by 1,024
    #[arg(long, env = "OUTPUT_LIMIT", value_name = "SIZE", default_value = "16M", value_parser = parse_size)]
    output_limit: u64,
    #[command(flatten)]
    pub(crate) downloads: downloads::Flags,
    #[command(flatten)]
    pub(crate) images: ImageFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MissingKey {
    /// An error
    Error,
    /// Empty
    Zero,
}

/// The inputs in memory.
pub(crate) struct Loaded {
    pub(crate) configuration: Configuration,
    pub(crate) instance: Instance,
}

impl Inputs {
    /// Reads all files; warnings are logged.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub(crate) fn load(&self, common: &Common) -> Result<Loaded> {
        let mut problems = Vec::new();
        let config_path = common.path(self.config_path.as_deref(), CONFIG);
        let configuration = read("the configuration", &config_path)
            .and_then(|text| Configuration::read(&config_path.display().to_string(), &text));
        let instance = self.instance_document(common);
        if let Ok((configuration, _)) = &configuration {
            kept(self.images.interval(configuration), &mut problems);
        }
        let nonce = self.nonce_path.as_deref().map(nonce).transpose();
        let vars = self.vars_dir.as_deref().map(vars).transpose();
        let configuration = kept(configuration, &mut problems);
        let instance = kept(instance, &mut problems);
        let nonce = kept(nonce, &mut problems).flatten();
        let vars = kept(vars, &mut problems).flatten();
        Problems::check(problems)?;
        let (Some((configuration, mut warnings)), Some((mut instance, more))) = (configuration, instance) else {
            return Err(Problem::internal("the inputs were not read").into());
        };
        warnings.extend(more);
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        self.complete(&mut instance, nonce, vars);
        Ok(Loaded { configuration, instance })
    }

    fn instance_document(&self, common: &Common) -> Result<(Instance, Vec<dialect_nstance::Warning>)> {
        let path = common.path(self.instance_path.as_deref(), INSTANCE);
        if self.instance_path.is_none() && matches!(path.try_exists(), Ok(false)) {
            return Ok((Instance::default(), Vec::new()));
        }
        Instance::read(&path.display().to_string(), &read("the instance document", &path)?)
    }

    /// Adds what flags, variables and secrets set.
    fn complete(&self, instance: &mut Instance, nonce: Option<Node>, vars: Option<Object>) {
        let named = |variable: &str, text: &Option<String>| {
            let text = text.as_deref().filter(|text| !text.is_empty())?;
            Some(Node::string(Position::file(variable), text))
        };
        instance.tenant = named("TENANT", &self.tenant).or(instance.tenant.take());
        instance.group = named("GROUP", &self.group).or(instance.group.take());
        instance.nonce = nonce.or(instance.nonce.take());
        if let (Some(vars), Some(dir)) = (vars, &self.vars_dir) {
            instance.set_vars(&dir.display().to_string(), vars);
        }
        self.facts.apply(instance);
    }

    /// The directories in which a change of an input shows.
    pub(crate) fn directories(&self, common: &Common) -> Vec<PathBuf> {
        let config = common.path(self.config_path.as_deref(), CONFIG);
        let instance = common.path(self.instance_path.as_deref(), INSTANCE);
        // The default document is optional, and so is its directory.
        let has_instance = self.instance_path.is_some() || instance.parent().is_some_and(Path::exists);
        let instance = has_instance.then_some(instance.as_path());
        let files = [Some(config.as_path()), instance, self.nonce_path.as_deref()];
        let parent = |path: &Path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let parents = files.into_iter().flatten().map(parent);
        parents.chain(self.vars_dir.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// How templates are executed.
    pub(crate) fn settings(&self) -> Settings {
        let bytes = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        Settings {
            missing_is_error: self.missingkey == MissingKey::Error,
            timeout: self.template_timeout,
            output_limit: bytes(self.output_limit),
            inflated_limit: bytes(self.downloads.userdata_limit.saturating_mul(INFLATION)),
        }
    }
}

/// The text of a secret's file.
fn text(what: &str, path: &Path) -> Result<String> {
    String::from_utf8(read(what, path)?).map_err(|_| {
        let place = Place::file(path.display().to_string());
        Problem::input(format!("{what} is not UTF-8")).code(code::INPUT_FILE).at(place).into()
    })
}

fn nonce(path: &Path) -> Result<Node> {
    let text = text("the nonce", path)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    Ok(Node::string(Position::file(&path.display().to_string()), line))
}

/// The vars of a directory, sorted by name: each file is one, its content as it is. Hidden files do not count: the
/// directories behind a mounted Secret are hidden.
fn vars(dir: &Path) -> Result<Object> {
    let entries = std::fs::read_dir(dir).map_err(|error| unreadable("the directory of vars", dir, &error))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.io("read", dir)?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    names.sort();
    let mut problems = Vec::new();
    let mut vars = Object::new();
    for name in names {
        let path = dir.join(&name);
        let Some(name) = name.to_str() else {
            let message = "the name of a var is not UTF-8";
            problems.push(Problem::input(message).code(code::INPUT_FILE).at(Place::file(path.display().to_string())));
            continue;
        };
        if let Some(value) = kept(text("a var", &path), &mut problems) {
            vars.insert(name.to_owned(), Node::string(Position::file(&path.display().to_string()), value));
        }
    }
    Problems::check(problems)?;
    Ok(vars)
}
