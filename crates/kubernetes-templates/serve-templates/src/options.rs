//! The command line of `serve-templates`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dialect_kubernetes_templates as dialect;
use problem::{Problem, Problems, Result};
use startup::parse_size;

/// The options of `serve-templates`.
#[derive(Debug, Args)]
#[command(
    long_about = "Serve Kubernetes Templates as an API of Kubernetes, below /apis/template.openshift.io/v1/namespaces/NAMESPACE/:\n\n\
        processedtemplates: POST a Template, get it processed; nothing is stored.\n\
        templates: create, get, list, watch, update, patch, delete.\n\
        templates/NAME/processed: POST values ({kind: Parameters, apiVersion: v1, parameters: [{name, value}]}), get the stored \
        template processed.\n\n\
        Processing gives a Template, and with ?as=list a List of its objects. Errors are Status objects with the field of every \
        mistake; they contain no values.\n\n\
        It is a server behind the API server's aggregation layer: manifests/templates-api.yaml installs it, with two replicas. Users \
        are those that the API server names with its client certificate, or that a TokenReview finds; a SubjectAccessReview decides \
        what they may do. Templates are Secrets of the server's own namespace.\n\n\
        The first line on standard output is the address. SIGTERM ends the server with 0.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl apply -f manifests/templates-api.yaml\n\
        \x20\x20kubectl create -f web.yaml\n\
        \x20\x20kubectl get templates\n\n\
        Without a cluster:\n\
        \x20\x20serve-templates --insecure --listen 127.0.0.1:8080\n\
        \x20\x20kubectl --server http://127.0.0.1:8080 get templates\n\n\
        Exit codes: 0 ended by a signal; 2 usage; 65 the files of --tls-dir are wrong; 70 the environment failed."
)]
pub struct Options {
    /// Address to listen on; port 0 is a free one [default: 0.0.0.0:8443; with --insecure 127.0.0.1:8080]
    #[arg(long, env = "BOSON_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Directory with tls.crt and tls.key, read again when they change [default: a certificate by an authority of the server's own]
    #[arg(long, env = "BOSON_TLS_DIR", value_name = "DIR")]
    pub tls_dir: Option<PathBuf>,
    /// Service by which the API server finds this server; the APIService of the group names it, too
    #[arg(long, env = "BOSON_SERVICE", value_name = "NAME", default_value = "templates-api")]
    pub service: String,
    /// Serve plain HTTP without authentication; on a loopback address and with the store in memory only
    #[arg(long, env = "BOSON_INSECURE")]
    pub insecure: bool,
    /// Where templates are kept [default: secrets; with --insecure memory]
    #[arg(long, env = "BOSON_STORE", value_name = "STORE")]
    pub store: Option<Store>,
    /// API group of the templates, for clusters where template.openshift.io is taken
    #[arg(long, env = "BOSON_GROUP", value_name = "GROUP", default_value = "template.openshift.io")]
    pub group: String,
    /// Largest body of a request, in bytes or with a unit: 512K, 8M
    #[arg(long, env = "BOSON_MAX_BODY", value_name = "SIZE", default_value = "8M", value_parser = parse_size)]
    pub max_body: u64,
    /// Syntax of references in templates that do not name one in the annotation boson.cloudfoundry.org/template-syntax [default: of
    /// their apiVersion: template.openshift.io/v1 is OpenShift's]
    #[arg(long, env = "BOSON_SYNTAX", value_name = "SYNTAX")]
    pub syntax: Option<Syntax>,
    /// Whether undeclared references and unknown fields are errors (strict) or stay (compat)
    #[arg(long, env = "BOSON_MODE", value_name = "MODE", default_value = "strict")]
    pub mode: Mode,
    /// Ignore values for names that no parameter has
    #[arg(long, env = "BOSON_IGNORE_UNKNOWN")]
    pub ignore_unknown: bool,
    /// Add a label to all objects; replaces an equal one of the template. Commas separate labels in the variable
    #[arg(long, env = "BOSON_LABEL", value_name = "KEY=VALUE", value_delimiter = ',')]
    pub label: Vec<String>,
    /// Add labels to selectors and pod templates too [default: true; in OpenShift's syntax false]
    #[arg(long, env = "BOSON_LABEL_SELECTORS", value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    pub label_selectors: Option<bool>,
    /// The cluster
    #[command(flatten)]
    pub connection: cluster::Connection,
}

/// Where templates are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Store {
    /// In Secrets of the server's namespace
    Secrets,
    /// In the server's memory, until it ends
    Memory,
}

/// How references are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Syntax {
    /// `$(NAME)` and `$((NAME))`
    Kubernetes,
    /// `${NAME}` and `${{NAME}}`
    Openshift,
}

/// What is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Whatever is left open
    Strict,
    /// What other tools refuse too
    Compat,
}

impl Options {
    /// Flags that contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        let mut problems = Vec::new();
        if self.insecure && !self.listen().ip().is_loopback() {
            let message = format!("--listen: {} is not a loopback address, which --insecure needs", self.listen().ip());
            problems.push(Problem::usage(message));
        }
        if self.insecure && self.store() == Store::Secrets {
            problems.push(Problem::usage("--store: secrets cannot be served with --insecure: anybody could read them"));
        }
        if self.insecure && self.tls_dir.is_some() {
            problems.push(Problem::usage("--tls-dir and --insecure contradict each other"));
        }
        if !crate::template::is_name(&self.service) || self.service.contains('.') || self.service.len() > 63 {
            problems.push(Problem::usage("--service: must be the name of a Service"));
        }
        let is_group = crate::template::is_name(&self.group) && self.group.contains('.');
        if !is_group {
            problems.push(Problem::usage("--group: must be a DNS name with a dot, as in template.openshift.io"));
        }
        for label in self.label.iter().filter(|label| !label.contains('=')) {
            problems.push(Problem::usage(format!("--label: must be KEY=VALUE, not '{label}'")));
        }
        for (key, value) in self.labels() {
            let error = dialect::label_key_error(&key).or_else(|| dialect::label_value_error(&value));
            problems.extend(error.map(|error| Problem::usage(format!("--label: '{key}': {error}"))));
        }
        Problems::check(problems)
    }

    /// The address to listen on.
    pub fn listen(&self) -> SocketAddr {
        let default = match self.insecure {
            true => (Ipv4Addr::LOCALHOST, 8080),
            false => (Ipv4Addr::UNSPECIFIED, 8443),
        };
        self.listen.unwrap_or_else(|| default.into())
    }

    /// Where templates are kept.
    pub(crate) fn store(&self) -> Store {
        self.store.unwrap_or(if self.insecure { Store::Memory } else { Store::Secrets })
    }

    fn labels(&self) -> Vec<(String, String)> {
        let pairs = self.label.iter().filter_map(|label| label.split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// The syntax of templates that do not name one.
    pub(crate) fn syntax(&self) -> Option<dialect::Syntax> {
        self.syntax.map(|syntax| match syntax {
            Syntax::Kubernetes => dialect::Syntax::Kubernetes,
            Syntax::Openshift => dialect::Syntax::Openshift,
        })
    }

    /// How templates are processed.
    pub(crate) fn processing(&self) -> dialect::Options {
        dialect::Options {
            mode: match self.mode {
                Mode::Strict => dialect::Mode::Strict,
                Mode::Compat => dialect::Mode::Compat,
            },
            labels: self.labels(),
            ignore_unknown: self.ignore_unknown,
            // Several templates are processed at the same time.
            most_added: usize::try_from(self.max_body.saturating_mul(4)).unwrap_or(usize::MAX),
            ..dialect::Options::default()
        }
    }
}
