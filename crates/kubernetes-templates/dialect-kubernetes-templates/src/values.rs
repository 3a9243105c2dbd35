//! The values of parameters: given, default or generated.

use problem::{Class, Place, Problem, code};

use crate::node::Position;
use crate::parameter::{Declaration, Declarations, Type};
use crate::path::Path;
use crate::report::Report;
use crate::user_values::UserValues;
use crate::{Options, Syntax, generate};

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user.
    Given,
    /// The template.
    Default,
    /// A generator.
    Generated,
    /// Nowhere: the parameter is optional, and the value empty.
    Absent,
    /// Nowhere, although the parameter is required: what depends on it cannot be checked.
    Missing,
}

/// The value of a parameter.
pub(crate) struct Resolved<'d> {
    pub(crate) declaration: &'d Declaration,
    pub(crate) value: String,
    pub(crate) origin: Origin,
    /// Whether it has the type that is declared; an empty one has each.
    pub(crate) is_valid: bool,
}

impl Resolved<'_> {
    /// Whose mistake an unsuitable value is.
    pub(crate) fn class(&self) -> Class {
        if self.origin == Origin::Given { Class::Input } else { Class::Template }
    }

    pub(crate) fn kind(&self) -> Option<Type> {
        self.declaration.kind
    }
}

/// The values of all parameters, in the order of the declarations; reports what is wrong with them.
pub(crate) fn resolve<'d>(
    declarations: &'d Declarations,
    given: &UserValues,
    options: &Options,
    random: generate::Random<'_>,
    report: &mut Report,
) -> Vec<Resolved<'d>> {
    for (name, place) in given.places() {
        if declarations.find(name).is_none() && !options.ignore_unknown {
            let message = match options.syntax {
                Syntax::Kubernetes => {
                    format!("a value is given for '{}', which is not a parameter", name.escape_debug())
                }
                Syntax::Openshift => format!("unknown parameter name \"{}\"", name.escape_debug()),
            };
            let mut problem = Problem::input(message).code(code::PARAMETER_INVALID).at(place.clone());
            problem.hint = declarations.hint(name);
            report.push(problem);
        }
    }
    declarations.list.iter().map(|declaration| one(declaration, given, options, random, report)).collect()
}

fn one<'d>(
    declaration: &'d Declaration,
    given: &UserValues,
    options: &Options,
    random: generate::Random<'_>,
    report: &mut Report,
) -> Resolved<'d> {
    let parameters = Path::Root.key("parameters");
    let path = parameters.index(declaration.index);
    let name = &declaration.name;
    let position = declaration.position;
    let from_user = given.with_place(name);
    let (mut value, mut origin) = match (from_user, &declaration.default) {
        (Some((Some(value), _)), _) => (value.to_owned(), Origin::Given),
        (Some((None, _)), _) => (String::new(), Origin::Missing),
        (None, Some(value)) => (value.clone(), Origin::Default),
        (None, None) => (String::new(), Origin::Absent),
    };
    let is_generated = options.syntax == Syntax::Openshift && value.is_empty() && from_user.is_none();
    if let Some(generated) = is_generated.then(|| generate::generated(declaration, options.mode, random)).flatten() {
        origin = Origin::Missing;
        match generated {
            Ok(generated) => (value, origin) = (generated, Origin::Generated),
            Err(message) => {
                let generator = declaration.generate.as_deref().unwrap_or_default().escape_debug();
                // library-go's spelling.
                let message = message.replacen("malformed expression", "malformed expresion", 1);
                let message = format!("template.{path}: Invalid value: \"{generator}\": {message}");
                report.add_as_is(Class::Template, code::PARAMETER_INVALID, &path, position, message);
            }
        }
        return Resolved { declaration, value, origin, is_valid: true };
    }
    // What could not be read has been reported, and may have been the value.
    let is_lost = origin == Origin::Missing || (value.is_empty() && from_user.is_none() && given.is_partial());
    if is_lost || declaration.needs_value(given.get(name), options.syntax) {
        if !is_lost && (from_user.is_some() || !options.check_only) {
            let message = match options.syntax {
                Syntax::Kubernetes => format!("the parameter '{name}' is required, but its value is empty"),
                Syntax::Openshift => {
                    let at = format!("template.{path}");
                    format!("{at}: Required value: {at}: parameter {name} is required and must be specified")
                }
            };
            let message = match options.syntax {
                Syntax::Kubernetes => format!("{path}: {message}"),
                Syntax::Openshift => message,
            };
            let problem = report.add_as_is(Class::Input, code::PARAMETER_MISSING, &path, position, message);
            problem.hint = Some(format!("give it with --param {name}=VALUE"));
            if let Some((_, place)) = from_user {
                problem.place = Some(place.clone());
            }
        }
        return Resolved { declaration, value, origin: Origin::Missing, is_valid: true };
    }
    let mut resolved = Resolved { declaration, value, origin, is_valid: true };
    if let Some(kind) = declaration.kind
        && !resolved.value.is_empty()
        && !kind.accepts(&resolved.value)
    {
        resolved.is_valid = false;
        wrong_type(&resolved, kind, from_user.map(|(_, place)| place), position, &path, report);
    }
    resolved
}

fn wrong_type(
    resolved: &Resolved<'_>,
    kind: Type,
    given: Option<&Place>,
    position: Position,
    path: &Path,
    report: &mut Report,
) {
    let name = &resolved.declaration.name;
    let what = if given.is_some() { "the value given" } else { "the default" };
    let message = format!("{what} for the parameter '{name}' has the wrong type: must be {}", kind.description());
    let problem = report.add(resolved.class(), code::PARAMETER_INVALID, path, position, message);
    if let Some(place) = given {
        problem.place = Some(place.clone());
    }
}
