//! The flags of `apply-template`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cluster::Connection;
use problem::{Problem, Problems, Result};
use startup::parse_duration;
use template_flags::TemplateFlags;

/// The longest name of an instance: it is the value of a label.
const LONGEST_NAME: usize = 63;

/// The options of `apply-template`.
#[derive(Debug, Args)]
#[command(
    long_about = "Process a Kubernetes Template and apply its objects as an instance: server-side, namespaces, definitions and \
        configuration first. The API server tries all objects before any is applied; objects that the instance did not \
        create are refused. Objects that are no longer in the template are deleted. A second run changes nothing.\n\n\
        The Secret template.INSTANCE is the parent of the instance's ApplySet: it names the kinds that the instance has, \
        and holds generated values, which are made once and never replaced. The label applyset.kubernetes.io/part-of \
        marks the objects.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson apply-template --name shop --template web.yaml --param NAME=shop\n\
        \x20\x20kubectl boson apply-template --name shop --stored web --values shop.env --diff\n\
        \x20\x20kubectl boson apply-template --name shop --template web.yaml --param NAME=shop --rbac | kubectl apply -f -\n\
        \x20\x20kubectl boson apply-template --name shop --delete\n\n\
        Exit codes: 0 done; 1 --diff has found a difference; 2 usage; 65 a given value or label is wrong, a value is missing, a \
        file or stored template does not exist, or an object belongs to others; 66 the template is wrong; 70 the cluster failed or \
        refused an object."
)]
pub struct Options {
    /// The instance
    #[arg(long, env = "BOSON_NAME", value_name = "INSTANCE")]
    pub name: String,
    /// The template: JSON if the name ends in .json, else YAML; `-` is standard input
    #[arg(long, env = "BOSON_TEMPLATE", value_name = "FILE")]
    pub template: Option<PathBuf>,
    /// The template of this name that is stored in the namespace
    #[arg(long, env = "BOSON_STORED", value_name = "NAME")]
    pub stored: Option<String>,
    /// API group of stored templates
    #[arg(long, env = "BOSON_GROUP", value_name = "GROUP", default_value = "template.openshift.io")]
    pub group: String,
    /// Parameters and labels
    #[command(flatten)]
    pub flags: TemplateFlags,
    /// Delete the instance: its objects, those that they own, and its Secret with the generated values
    #[arg(long, env = "BOSON_DELETE")]
    pub delete: bool,
    /// Let the API server try the objects, show what would change, and change nothing
    #[arg(long, env = "BOSON_DRY_RUN")]
    pub dry_run: bool,
    /// Show what would change as a unified diff without secret values; exit with 1 if anything would
    #[arg(long, env = "BOSON_DIFF")]
    pub diff: bool,
    /// Print the Role, and the ClusterRole if needed, that applying and deleting the instance needs
    #[arg(long, env = "BOSON_RBAC")]
    pub rbac: bool,
    /// Take over objects and fields that belong to others; the objects are then deleted with the instance
    #[arg(long, env = "BOSON_FORCE_CONFLICTS")]
    pub force_conflicts: bool,
    /// How long definitions of kinds may take until they are served, and deleted objects until they are gone; 0: do not wait for
    /// deleted objects
    #[arg(long, env = "BOSON_TIMEOUT", value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    pub timeout: Duration,
    /// The cluster
    #[command(flatten)]
    pub connection: Connection,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Apply,
    Diff,
    Rbac,
    Delete,
}

/// Where the template is.
#[derive(Debug)]
pub(crate) enum Source {
    File(PathBuf),
    Stored(String),
}

/// The options, checked.
pub(crate) struct Request {
    pub(crate) name: String,
    /// Unused with [`Action::Delete`].
    pub(crate) source: Source,
    pub(crate) group: String,
    pub(crate) flags: TemplateFlags,
    pub(crate) action: Action,
    pub(crate) dry_run: bool,
    pub(crate) force_conflicts: bool,
    pub(crate) timeout: Duration,
    pub(crate) connection: Connection,
}

impl Options {
    pub(crate) fn check(self) -> Result<Request> {
        let mut problems = Vec::new();
        let mut wrong = |message: &str| problems.push(Problem::usage(message));
        if !is_label(&self.name) || self.name.len() > LONGEST_NAME {
            wrong(
                "--name: must have lower-case letters, digits and '-' only, begin and end with a letter or digit, and have 63 characters at most",
            );
        }
        let actions = [(self.diff, Action::Diff), (self.rbac, Action::Rbac), (self.delete, Action::Delete)];
        let mut actions = actions.into_iter().filter_map(|(is_given, action)| is_given.then_some(action));
        let action = actions.next().unwrap_or(Action::Apply);
        if actions.next().is_some() {
            wrong("--diff, --rbac and --delete exclude each other");
        }
        let source = match (self.template, self.stored) {
            (Some(file), None) => Source::File(file),
            (None, Some(name)) => Source::Stored(name),
            (None, None) if action == Action::Delete => Source::Stored(String::new()),
            (None, None) => {
                wrong("apply-template needs --template FILE or --stored NAME");
                Source::Stored(String::new())
            }
            (Some(_), Some(_)) => {
                wrong("--template and --stored exclude each other");
                Source::Stored(String::new())
            }
        };
        Problems::check(problems)?;
        Ok(Request {
            name: self.name,
            source,
            group: self.group,
            flags: self.flags,
            action,
            dry_run: self.dry_run,
            force_conflicts: self.force_conflicts,
            timeout: self.timeout,
            connection: self.connection,
        })
    }
}

/// Whether a text is a label of a DNS name.
fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}
