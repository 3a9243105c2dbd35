//! The command line of `process-template`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use dialect_kubernetes_templates as dialect;
use problem::{Problem, Problems, Result};
use startup::parse_duration;
use template_flags::TemplateFlags;

use crate::output::Output;

/// The options of `process-template`.
#[derive(Debug, Args)]
#[command(
    long_about = "Process a Kubernetes Template: replace $(NAME) and $((NAME)) in its objects by the values of its parameters, \
        add its labels, and print the objects as a List. Needs no cluster.\n\n\
        A value is given by --param, by a file or directory of --values, or by a variable BOSON_PARAM_<NAME>, in this order of \
        precedence; otherwise the template's default is used. All problems are reported in one run, at line and column and \
        with the path of the field; no message contains a value.",
    after_long_help = "Examples:\n\
        \x20\x20process-template --template web.yaml --param NAME=web --param REPLICAS=3 | kubectl apply -f -\n\
        \x20\x20process-template --template web.yaml --values /etc/parameters --as files --output-dir /work/config\n\
        \x20\x20process-template --template web.yaml --check\n\
        \x20\x20process-template --template /t/web.yaml --values /etc/parameters --as files --output-dir /work/config \
        --watch --check-command 'nginx -t -c {}/nginx.conf' --notify HUP:nginx\n\n\
        Exit codes: 0 done; 2 usage; 65 a given value or label is wrong, a value is missing, or a file does not exist; \
        66 the template is wrong; 70 the environment failed."
)]
pub struct Options {
    /// The template: JSON if the name ends in .json, else YAML; `-` is standard input
    #[arg(long, short = 'f', visible_alias = "filename", env = "BOSON_TEMPLATE", value_name = "FILE")]
    pub template: PathBuf,
    /// Give values, as --param does
    #[arg(value_name = "NAME=VALUE")]
    pub assignments: Vec<OsString>,
    /// Parameters and labels
    #[command(flatten)]
    pub flags: TemplateFlags,
    /// Print a List, the Template with the values used, or write the entries of ConfigMaps and Secrets as files
    #[arg(long = "as", env = "BOSON_AS", value_name = "FORM", default_value = "list")]
    pub form: Form,
    /// Format of the output [default: yaml; of --describe json]
    #[arg(long, short = 'o', env = "BOSON_FORMAT", value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Write to a file with mode 0640 instead of standard output
    #[arg(long, env = "BOSON_OUTPUT", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write files with mode 0640 into this directory, which is replaced as a whole: entries with --as files, else one object
    /// each
    #[arg(long, env = "BOSON_OUTPUT_DIR", value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Check the template and the values given, and print nothing
    #[arg(long, env = "BOSON_CHECK")]
    pub check: bool,
    /// Print the parameters as a JSON Schema
    #[arg(long, env = "BOSON_DESCRIBE")]
    pub describe: bool,
    /// Print the parameters as a table: name, description, generator, and default value or expression
    #[arg(long)]
    pub parameters: bool,
    /// Has no effect: the template is never sent to a server. For command lines of `oc process`
    #[arg(long)]
    pub local: bool,
    /// Ask on the terminal for required values that are missing
    #[arg(long, env = "BOSON_ASK")]
    pub ask: bool,
    /// Run on, and process the template again when it or its values have changed
    #[arg(long, env = "BOSON_WATCH")]
    pub watch: bool,
    /// Pause between two looks at the files with --watch: 500ms, 2s, 1m
    #[arg(long, env = "BOSON_WATCH_INTERVAL", value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    pub watch_interval: Duration,
    /// Run a command before the output is replaced; `{}` is the path of the new one. If it fails, the last output stays
    #[arg(long, env = "BOSON_CHECK_COMMAND", value_name = "COMMAND")]
    pub check_command: Option<String>,
    /// With --watch, notify after the output was replaced: SIGNAL:PIDFILE, SIGNAL:NAME of a process, or an http:// URL to POST
    /// to. Commas separate them
    #[arg(long, env = "BOSON_NOTIFY", value_name = "NOTICE", value_delimiter = ',')]
    pub notify: Vec<String>,
}

/// The form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// A List of the objects
    List,
    /// The Template with the values used
    Template,
    /// The entries of ConfigMaps and Secrets, as mounted
    Files,
}

/// The format of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// YAML
    Yaml,
    /// JSON
    Json,
}

impl From<Format> for dialect::Format {
    fn from(format: Format) -> dialect::Format {
        match format {
            Format::Yaml => dialect::Format::Yaml,
            Format::Json => dialect::Format::Json,
        }
    }
}

impl Options {
    /// Flags that contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        let has_output = self.output.is_some() || self.output_dir.is_some();
        let mut problems = Vec::new();
        let mut wrong = |message: &str| problems.push(Problem::usage(message));
        if self.output.is_some() && self.output_dir.is_some() {
            wrong("--output and --output-dir exclude each other");
        }
        if self.form == Form::Files && self.output_dir.is_none() && !self.check && !self.describe {
            wrong("--as files needs --output-dir");
        }
        if self.check && self.describe {
            wrong("--check and --describe exclude each other");
        }
        if self.parameters && (self.check || self.describe || self.ask || self.watch || has_output) {
            wrong("--parameters excludes --check, --describe, --ask, --watch, --output and --output-dir");
        }
        if self.ask && self.template.as_os_str() == "-" {
            wrong("--ask reads answers from standard input, so --template cannot be '-'");
        }
        if self.watch && !has_output {
            wrong("--watch needs --output or --output-dir");
        }
        if self.check_command.is_some() && !has_output {
            wrong("--check-command needs --output or --output-dir");
        }
        if self.watch && (self.check || self.describe || self.ask || self.template.as_os_str() == "-") {
            wrong("--watch excludes --check, --describe, --ask and a template on standard input");
        }
        if !self.notify.is_empty() && !self.watch {
            wrong("--notify needs --watch");
        }
        Problems::check(problems)
    }

    /// Makes values of `--param` of the assignments.
    pub(crate) fn take_assignments(&mut self) -> Result<()> {
        let has_no_value = |text: &&OsString| !text.as_encoded_bytes().contains(&b'=');
        let wrong = |_| {
            // The text may be a value.
            Problem::usage("an argument is not NAME=VALUE")
                .hint("process-template reads a template from a file: -f FILE; boson-templates apply-template --stored NAME uses one of the cluster")
        };
        Problems::check(self.assignments.iter().find(has_no_value).map(wrong).into_iter().collect())?;
        self.flags.param.append(&mut self.assignments);
        Ok(())
    }

    /// How a template with this syntax is processed with these labels.
    pub(crate) fn processing(&self, syntax: dialect::Syntax, labels: Vec<(String, String)>) -> dialect::Options {
        dialect::Options { check_only: self.check, ..self.flags.processing(syntax, labels) }
    }

    pub(crate) fn output(&self) -> Output<'_> {
        match (&self.output, &self.output_dir) {
            (Some(file), _) => Output::File(file),
            (None, Some(dir)) => Output::Dir(dir),
            (None, None) => Output::Stdout,
        }
    }
}
