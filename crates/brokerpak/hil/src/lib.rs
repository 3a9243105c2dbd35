//! HIL, HashiCorp's interpolation language, as brokerpaks use it: texts with `${...}`, implicit conversions, and the eleven
//! functions of the cloud service broker. Grammar, conversions, messages and positions are those of `hashicorp/hil`.
//!
//! It differs where HIL loses or guesses: an integer that overflows is an error, and no text has a meaning of its own.
//! Functions of the machine (time, random numbers, environment, configuration) are the caller's ([`Host`]).

mod ast;
mod check;
mod convert;
mod error;
mod eval;
mod functions;
mod json;
mod parser;
mod scanner;
mod value;

use std::collections::BTreeMap;

pub use convert::{bool_message, parse_bool};
pub use error::{Error, Position};
pub use functions::{Host, function_names};
pub use json::{json_text, string as json_string};
pub use value::{Scope, Type, Value, Variable, decimal};

use ast::{Literal, Node, NodeKind};
use value::Operand;

/// A parsed text.
#[derive(Debug, Clone)]
pub struct Expression {
    root: Node,
}

impl Expression {
    /// Parses a text; all of it outside of `${...}` stands for itself, but `$$` for `$`.
    ///
    /// # Errors
    /// Mistakes of syntax, and expressions nested deeper than 250 levels.
    pub fn parse(text: &str) -> Result<Expression, Error> {
        parser::parse(text).map(|root| Expression { root })
    }

    /// Checks names and types; gives the type of the result. With [`Variable::Unknown`] variables it finds what is wrong
    /// whatever their values are.
    ///
    /// # Errors
    /// The first unknown name or wrong type, in HIL's order.
    pub fn check(&self, scope: &dyn Scope) -> Result<Type, Error> {
        check::names(&self.root, scope)?;
        check::types(&self.root, scope).map(|(_, kind)| kind)
    }

    /// Evaluates it.
    ///
    /// # Errors
    /// As [`Expression::check`]; and what fails during evaluation.
    pub fn evaluate(&self, scope: &dyn Scope, host: &mut dyn Host) -> Result<Value, Error> {
        check::names(&self.root, scope)?;
        let (code, _) = check::types(&self.root, scope)?;
        Ok(match eval::evaluate(&code, host)? {
            Operand::Text(text) => Value::Text(text.into_owned()),
            Operand::List(items) => Value::List(items.to_vec()),
            Operand::Map(map) => Value::Map(map.clone()),
            Operand::Bool(_) | Operand::Int(_) | Operand::Float(_) => {
                return Err(Error::evaluation("the result is neither a text nor a list nor a map"));
            }
        })
    }
}

/// Whether evaluating a text does anything: a text that does not parse, or that stands for itself, is not an expression.
pub fn is_expression(text: &str) -> bool {
    let Ok(expression) = Expression::parse(text) else { return false };
    if let NodeKind::Literal(Literal::Text(literal)) = &expression.root.kind {
        return literal != text;
    }
    let nothing: BTreeMap<String, Value> = BTreeMap::new();
    match expression.evaluate(&nothing, &mut NoHost) {
        Ok(value) => value != Value::Text(text.to_owned()),
        Err(_) => true,
    }
}

/// A host for texts that are evaluated without one.
struct NoHost;

impl Host for NoHost {
    fn time_nano(&mut self) -> i128 {
        0
    }

    fn random(&mut self, _count: usize) -> Result<Vec<u8>, String> {
        Err("random numbers are not available".to_owned())
    }

    fn counter_next(&mut self) -> i64 {
        1
    }

    fn env(&mut self, _name: &str) -> Option<String> {
        None
    }

    fn config(&mut self, _key: &str) -> Option<String> {
        None
    }
}
