//! The flags.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use dialect_kubernetes_templates::{self as dialect, Given};
use problem::{Place, Problem, Problems, Result, code};

use crate::inputs;

/// The flags for parameters and labels.
#[derive(Debug, Args)]
pub struct TemplateFlags {
    /// Give a value; beats --values, which beats the variables BOSON_PARAM_<NAME>
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub param: Vec<OsString>,
    /// Take values from a file: .json, .yaml or .yml: a map of strings or a Parameters object; a directory: a mounted Secret or
    /// ConfigMap; else lines NAME=VALUE. The last wins; colons separate paths in the variable
    #[arg(long, env = "BOSON_VALUES", value_name = "PATH")]
    pub values: Vec<PathBuf>,
    /// Add a label to all objects; replaces an equal one of the template. Commas separate labels in the variable
    #[arg(long, env = "BOSON_LABEL", value_name = "KEY=VALUE")]
    pub label: Vec<String>,
    /// Ignore values for names that no parameter has
    #[arg(long, env = "BOSON_IGNORE_UNKNOWN")]
    pub ignore_unknown: bool,
    /// Syntax of references: $(NAME) and $((NAME)), or OpenShift's ${NAME} and ${{NAME}}
    #[arg(long, env = "BOSON_SYNTAX", value_name = "SYNTAX", default_value = "kubernetes")]
    pub syntax: Syntax,
    /// Whether undeclared references and unknown fields are errors (strict) or stay (compat)
    #[arg(long, env = "BOSON_MODE", value_name = "MODE", default_value = "strict")]
    pub mode: Mode,
    /// Add labels to selectors and pod templates too [default: true; with --syntax openshift false]
    #[arg(long, env = "BOSON_LABEL_SELECTORS", value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    pub label_selectors: Option<bool>,
}

/// How references are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Syntax {
    /// `$(NAME)` and `$((NAME))`
    Kubernetes,
    /// `${NAME}` and `${{NAME}}`
    Openshift,
}

impl From<Syntax> for dialect::Syntax {
    fn from(syntax: Syntax) -> dialect::Syntax {
        match syntax {
            Syntax::Kubernetes => dialect::Syntax::Kubernetes,
            Syntax::Openshift => dialect::Syntax::Openshift,
        }
    }
}

/// What is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Whatever is left open
    Strict,
    /// What other tools refuse too
    Compat,
}

impl TemplateFlags {
    /// Whether messages are those of OpenShift.
    pub fn is_openshift(&self) -> bool {
        self.syntax == Syntax::Openshift
    }

    /// How references are written.
    pub fn syntax(&self) -> dialect::Syntax {
        self.syntax.into()
    }

    /// How a template is processed with these labels.
    pub fn processing(&self, labels: Vec<(String, String)>) -> dialect::Options {
        dialect::Options {
            syntax: self.syntax.into(),
            mode: match self.mode {
                Mode::Strict => dialect::Mode::Strict,
                Mode::Compat => dialect::Mode::Compat,
            },
            label_selectors: self.label_selectors.unwrap_or(self.syntax == Syntax::Kubernetes),
            labels,
            ignore_unknown: self.ignore_unknown,
            ..dialect::Options::default()
        }
    }

    /// The labels given.
    ///
    /// # Errors
    /// Texts that are not `KEY=VALUE`.
    pub fn labels(&self) -> Result<Vec<(String, String)>> {
        let mut labels = Vec::new();
        let mut problems = Vec::new();
        let texts = self.label.iter().flat_map(|text| text.split(',')).filter(|text| !text.is_empty());
        for text in texts {
            match text.split_once('=') {
                Some((key, value)) => labels.push((key.to_owned(), value.to_owned())),
                None => {
                    let flag = if self.is_openshift() { "error parsing labels" } else { "--label" };
                    problems.push(Problem::usage(format!("{flag}: must be KEY=VALUE, not '{text}'")));
                }
            }
        }
        Problems::check(problems)?;
        Ok(labels)
    }

    /// The values of `--param`.
    ///
    /// # Errors
    /// Texts that are not `NAME=VALUE`; with OpenShift's syntax, names that are given twice.
    pub fn params(&self) -> Result<Given> {
        let mut given = Given::default();
        let mut problems = Vec::new();
        let mut repeated = BTreeSet::new();
        for text in &self.param {
            match text.to_str().map(|text| text.split_once('=')) {
                Some(Some((name, value))) if !name.is_empty() => {
                    if given.get(name).is_some() {
                        repeated.insert(name);
                    }
                    given.set(name, value, Place::file(format!("--param {name}")))
                }
                // What it is may be a value.
                Some(_) if self.is_openshift() => {
                    problems.push(Problem::usage("invalid parameter assignment in --param"))
                }
                Some(_) => problems.push(Problem::usage("--param: must be NAME=VALUE")),
                None => problems.push(Problem::usage("--param: must be UTF-8")),
            }
        }
        if self.is_openshift() && !repeated.is_empty() {
            let names = repeated.into_iter().collect::<Vec<_>>().join(", ");
            let message = format!("The following parameters were provided more than once: {names}");
            problems.push(Problem::input(message).code(code::PARAMETER_INVALID));
        }
        Problems::check(problems)?;
        Ok(given)
    }

    /// The values: of variables, under those of files, under `params`; and what cannot be read of them.
    pub fn given(&self, params: Given) -> (Given, Vec<Problem>) {
        let mut given = Given::default();
        let mut problems = Vec::new();
        let mut add = |values: Result<Given>| match values {
            Ok(values) => given.replace_with(values),
            Err(error) => problems.extend(error.into_vec()),
        };
        add(inputs::variables());
        for path in inputs::paths(&self.values) {
            let values = inputs::file(&path);
            if let (true, Ok(values)) = (self.is_openshift(), &values) {
                warn_of_replaced(values, &params, &path);
            }
            add(values);
        }
        add(Ok(params));
        (given, problems)
    }
}

/// oc's warning about values of a file that flags replace.
fn warn_of_replaced(values: &Given, flags: &Given, path: &Path) {
    let path = path.display();
    for (name, _) in values.iter().filter(|(name, _)| flags.get(name).is_some()) {
        let name = name.escape_debug();
        crate::print_warning(&format!(
            "warning: Template parameter \"{name}\" already defined, ignoring value from file \"{path}\""
        ));
    }
}
