//! The flags.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use dialect_kubernetes_templates::{self as dialect, Document, UserValues};
use problem::{Class, Place, Problem, Problems, Result, code};

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
    /// Take values from a file as --values does; the first file wins, over --values
    #[arg(long, value_name = "FILE")]
    pub param_file: Vec<PathBuf>,
    /// Add a label to all objects; replaces an equal one of the template. Commas separate labels in the variable
    #[arg(long, short = 'l', visible_alias = "labels", env = "BOSON_LABEL", value_name = "KEY=VALUE")]
    pub label: Vec<String>,
    /// Ignore values for names that no parameter has
    #[arg(long, visible_alias = "ignore-unknown-parameters", env = "BOSON_IGNORE_UNKNOWN")]
    pub ignore_unknown: bool,
    /// Syntax of references: $(NAME) and $((NAME)), or OpenShift's ${NAME} and ${{NAME}} [default: of the template's annotation
    /// boson.cloudfoundry.org/template-syntax, else of its apiVersion: template.openshift.io/v1 is OpenShift's]
    #[arg(long, env = "BOSON_SYNTAX", value_name = "SYNTAX")]
    pub syntax: Option<Syntax>,
    /// Whether undeclared references and unknown fields are errors (strict) or stay (compat)
    #[arg(long, env = "BOSON_MODE", value_name = "MODE", default_value = "strict")]
    pub mode: Mode,
    /// Add labels to selectors and pod templates too [default: true; in OpenShift's syntax false]
    #[arg(long, env = "BOSON_LABEL_SELECTORS", value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    pub label_selectors: Option<bool>,
}

/// The syntax that a flag names, else that of the template.
///
/// # Errors
/// The template's annotation names no syntax.
pub fn syntax_of(flag: Option<Syntax>, document: &Document) -> Result<dialect::Syntax> {
    flag.map_or_else(|| document.syntax(), |syntax| Ok(syntax.into()))
}

/// What flags, files and variables give.
#[derive(Debug)]
pub struct Inputs {
    /// The labels of the user.
    pub labels: Vec<(String, String)>,
    /// The values: of variables, under those of files, under those of flags.
    pub given: UserValues,
    /// What is wrong with them, to be reported with what is wrong with the rest.
    pub problems: Vec<Problem>,
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
    /// How a template with this syntax is processed with these labels.
    pub fn processing(&self, syntax: dialect::Syntax, labels: Vec<(String, String)>) -> dialect::Options {
        dialect::Options {
            syntax,
            mode: match self.mode {
                Mode::Strict => dialect::Mode::Strict,
                Mode::Compat => dialect::Mode::Compat,
            },
            label_selectors: self.label_selectors.unwrap_or(syntax == dialect::Syntax::Kubernetes),
            labels,
            ignore_unknown: self.ignore_unknown,
            ..dialect::Options::default()
        }
    }

    /// The labels and values that flags, files and variables give. Messages are those of the syntax.
    ///
    /// # Errors
    /// A command line that is not understood, which is reported alone.
    pub fn inputs(&self, syntax: dialect::Syntax) -> Result<Inputs> {
        let is_openshift = syntax == dialect::Syntax::Openshift;
        let mut problems = Vec::new();
        let labels = self.labels(is_openshift, &mut problems);
        let params = self.params(is_openshift, &mut problems);
        if problems.iter().any(|problem| problem.class == Class::Usage) {
            Problems::check(std::mem::take(&mut problems))?;
        }
        let mut given = UserValues::default();
        let mut add = |(values, wrong)| {
            given.replace_with(values);
            problems.extend(wrong);
        };
        add(inputs::variables());
        let paths = inputs::paths(&self.values);
        // As with oc, the first one wins.
        for path in paths.iter().chain(self.param_file.iter().rev()) {
            let read = inputs::file(path);
            if is_openshift {
                warn_of_replaced(&read.0, &params, path);
            }
            add(read);
        }
        given.replace_with(params);
        Ok(Inputs { labels, given, problems })
    }

    fn labels(&self, is_openshift: bool, problems: &mut Vec<Problem>) -> Vec<(String, String)> {
        let mut labels = Vec::new();
        let texts = self.label.iter().flat_map(|text| text.split(',')).filter(|text| !text.is_empty());
        for text in texts {
            match text.split_once('=') {
                Some((key, value)) => labels.push((key.to_owned(), value.to_owned())),
                None => {
                    let flag = if is_openshift { "error parsing labels" } else { "--label" };
                    problems.push(Problem::usage(format!("{flag}: must be KEY=VALUE, not '{text}'")));
                }
            }
        }
        labels
    }

    /// The values of `--param`. With OpenShift's syntax, one that is given twice cannot be used.
    fn params(&self, is_openshift: bool, problems: &mut Vec<Problem>) -> UserValues {
        let mut given = UserValues::default();
        let mut repeated = BTreeSet::new();
        for text in &self.param {
            match text.to_str().map(|text| text.split_once('=')) {
                Some(Some((name, value))) if !name.is_empty() => {
                    let place = Place::file(format!("--param {name}"));
                    if is_openshift && given.has(name) {
                        repeated.insert(name);
                        given.set_unusable(name, place);
                    } else {
                        given.set(name, value, place);
                    }
                }
                // What it is may be a value.
                Some(_) if is_openshift => problems.push(Problem::usage("invalid parameter assignment in --param")),
                Some(_) => problems.push(Problem::usage("--param: must be NAME=VALUE")),
                None => problems.push(Problem::usage("--param: must be UTF-8")),
            }
        }
        if !repeated.is_empty() {
            let names = repeated.into_iter().collect::<Vec<_>>().join(", ");
            let message = format!("The following parameters were provided more than once: {names}");
            problems.push(Problem::input(message).code(code::PARAMETER_INVALID));
        }
        given
    }
}

/// oc's warning about values of a file that flags replace.
fn warn_of_replaced(values: &UserValues, flags: &UserValues, path: &Path) {
    let path = path.display();
    for (name, _) in values.iter().filter(|(name, _)| flags.has(name)) {
        let name = name.escape_debug();
        crate::print_warning(&format!(
            "warning: Template parameter \"{name}\" already defined, ignoring value from file \"{path}\""
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBERNETES: dialect::Syntax = dialect::Syntax::Kubernetes;
    const OPENSHIFT: dialect::Syntax = dialect::Syntax::Openshift;

    fn flags(params: &[&str], labels: &[&str]) -> TemplateFlags {
        TemplateFlags {
            param: params.iter().map(OsString::from).collect(),
            values: vec!["missing.env".into()],
            label: labels.iter().map(|label| (*label).to_owned()).collect(),
            ignore_unknown: false,
            syntax: None,
            param_file: Vec::new(),
            mode: Mode::Strict,
            label_selectors: None,
        }
    }

    #[test]
    fn a_command_line_that_is_not_understood_is_reported_alone_and_as_a_whole() {
        let error = flags(&["secret", "=secret", "A=a"], &["x", "y"]).inputs(KUBERNETES).unwrap_err();
        let messages: Vec<&str> = error.iter().map(|problem| problem.message.as_str()).collect();
        let label = |text| format!("--label: must be KEY=VALUE, not '{text}'");
        let param = "--param: must be NAME=VALUE";
        assert_eq!(messages, [&label("x"), &label("y"), param, param]);
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn a_parameter_that_is_given_twice_is_one_problem_of_several() {
        let params = ["A=secret", "A=a", "B=b", "A=c"];
        let Inputs { labels, given, problems } = flags(&params, &["x=y"]).inputs(OPENSHIFT).unwrap();
        assert_eq!(labels, [("x".to_owned(), "y".to_owned())]);
        assert_eq!((given.has("A"), given.get("A"), given.get("B")), (true, None, Some("b")));
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(
            messages,
            ["The following parameters were provided more than once: A", "cannot read the values missing.env"]
        );
        let inputs = flags(&params, &[]).inputs(KUBERNETES).unwrap();
        assert_eq!((inputs.given.get("A"), inputs.problems.len()), (Some("c"), 1));
    }
}
