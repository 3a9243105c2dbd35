//! Checks of a tree: first its names, then its types. The check of types inserts conversions and gives what can be evaluated.

use std::borrow::Cow;

use go_strconv::quote::quoted;

use crate::ast::{Literal, Node, NodeKind, Operator};
use crate::convert::Conversion;
use crate::error::{Error, Position};
use crate::functions::Function;
use crate::value::{Operand, Scope, Type, Value, Variable};

type Result<T> = std::result::Result<T, Error>;

/// A tree with conversions and the values of its variables.
pub(crate) enum Code<'v> {
    Constant(Operand<'v>),
    /// A variable whose value is not known: for checks alone.
    Unknown,
    Index(&'v str, &'v Value, Box<Code<'v>>),
    Call(Function, Vec<Code<'v>>),
    Convert(Conversion, Box<Code<'v>>),
    Chain(Box<Code<'v>>, Vec<Link<'v>>),
    Conditional(Box<[Code<'v>; 3]>),
    Output(Vec<Code<'v>>),
}

/// An operator and its right operand; the left one is what precedes in the chain.
pub(crate) struct Link<'v> {
    pub(crate) convert_left: Option<Conversion>,
    pub(crate) right: Code<'v>,
    pub(crate) operation: Operation,
}

/// An operator with the type of its operands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) operator: Operator,
    pub(crate) operands: Type,
}

/// Checks that every variable and function exists, and the numbers of arguments.
pub(crate) fn names(node: &Node, scope: &dyn Scope) -> Result<()> {
    let variable = |name: &str, position: Position| match scope.variable(name) {
        Some(_) => Ok(()),
        None => Err(Error::name(position, format_args!("unknown variable accessed: {name}"))),
    };
    match &node.kind {
        NodeKind::Literal(_) => Ok(()),
        NodeKind::Variable(name) => variable(name, node.position),
        NodeKind::Index(name, position, key) => {
            variable(name, *position)?;
            names(key, scope)
        }
        NodeKind::Call(name, arguments) => {
            arguments.iter().try_for_each(|argument| names(argument, scope))?;
            let Some(function) = Function::named(name) else {
                return Err(Error::name(node.position, format_args!("unknown function called: {name}")));
            };
            let expected = function.signature().0.len();
            if arguments.len() == expected {
                return Ok(());
            }
            let found = arguments.len();
            Err(Error::name(node.position, format_args!("{name}: expected {expected} arguments, got {found}")))
        }
        NodeKind::Chain(first, more) => {
            names(first, scope)?;
            more.iter().try_for_each(|(_, right)| names(right, scope))
        }
        NodeKind::Conditional(parts) => parts.iter().try_for_each(|part| names(part, scope)),
        NodeKind::Output(parts) => parts.iter().try_for_each(|part| names(part, scope)),
    }
}

/// Checks the types; the names have been checked.
pub(crate) fn types<'v>(node: &'v Node, scope: &'v dyn Scope) -> Result<(Code<'v>, Type)> {
    Ok(match &node.kind {
        NodeKind::Literal(literal) => constant(literal),
        NodeKind::Variable(name) => match scope.variable(name) {
            Some(Variable::Known(value)) => (Code::Constant(value.operand()), value.type_of()),
            _ => (Code::Unknown, Type::Unknown),
        },
        NodeKind::Index(name, _, key) => index(node, name, key, scope)?,
        NodeKind::Call(name, arguments) => call(node, name, arguments, scope)?,
        NodeKind::Chain(first, more) => {
            let (first, mut left) = types(first, scope)?;
            let mut links = Vec::with_capacity(more.len());
            for (operator, right) in more {
                let (right, right_type) = types(right, scope)?;
                let (link, result) =
                    link(*operator, left, right, right_type).map_err(|what| Error::types(node.position, what))?;
                left = result;
                links.push(link);
            }
            (Code::Chain(Box::new(first), links), left)
        }
        NodeKind::Conditional(parts) => conditional(node, parts, scope)?,
        NodeKind::Output(parts) => output(node, parts, scope)?,
    })
}

fn constant(literal: &Literal) -> (Code<'_>, Type) {
    let (operand, kind) = match literal {
        Literal::Bool(value) => (Operand::Bool(*value), Type::Bool),
        Literal::Int(value) => (Operand::Int(*value), Type::Int),
        Literal::Float(value) => (Operand::Float(*value), Type::Float),
        Literal::Text(text) => (Operand::Text(Cow::Borrowed(text)), Type::String),
    };
    (Code::Constant(operand), kind)
}

fn convert(code: Code<'_>, conversion: Option<Conversion>) -> Code<'_> {
    match conversion {
        Some(conversion) => Code::Convert(conversion, Box::new(code)),
        None => code,
    }
}

/// The conversion that a value needs; an error without one, `None` if it has the type already.
fn needed(from: Type, to: Type, error: impl FnOnce() -> String) -> std::result::Result<Option<Conversion>, String> {
    if from == to { Ok(None) } else { Conversion::between(from, to).map(Some).ok_or_else(error) }
}

fn link<'v>(
    operator: Operator,
    left: Type,
    right: Code<'v>,
    right_type: Type,
) -> std::result::Result<(Link<'v>, Type), String> {
    let types = [left, right_type];
    let numeric = if types.contains(&Type::Float) { Type::Float } else { Type::Int };
    let (operands, result) = match operator {
        _ if types.contains(&Type::Unknown) => {
            let operation = Operation { operator, operands: Type::Unknown };
            return Ok((Link { convert_left: None, right, operation }, Type::Unknown));
        }
        Operator::Or | Operator::And => (Type::Bool, Type::Bool),
        Operator::Equal
        | Operator::NotEqual
        | Operator::Greater
        | Operator::GreaterOrEqual
        | Operator::Less
        | Operator::LessOrEqual => {
            if !matches!(left, Type::Bool | Type::Float | Type::Int | Type::String) {
                return Err("comparison operators apply only to bool, float, int, and string".to_owned());
            }
            // The left operand decides.
            (if matches!(operator, Operator::Equal | Operator::NotEqual) { left } else { numeric }, Type::Bool)
        }
        _ => (numeric, numeric),
    };
    let is_logical = matches!(operator, Operator::Or | Operator::And);
    let conversion = |number: usize, found: Type| {
        needed(found, operands, || {
            if is_logical {
                format!("logical operators require boolean operands, not {found}")
            } else {
                format!("operand {number} should be {operands}, got {found}")
            }
        })
    };
    let convert_left = conversion(1, left)?;
    let right = convert(right, conversion(2, right_type)?);
    if operator == Operator::Modulo && operands == Type::Float {
        return Err("modulo cannot be used with floats".to_owned());
    }
    Ok((Link { convert_left, right, operation: Operation { operator, operands } }, result))
}

fn call<'v>(node: &Node, name: &str, arguments: &'v [Node], scope: &'v dyn Scope) -> Result<(Code<'v>, Type)> {
    let Some(function) = Function::named(name) else {
        return Err(Error::types(node.position, format_args!("unknown function called: {name}")));
    };
    let (expected, result) = function.signature();
    let checked: Vec<_> = arguments.iter().map(|argument| types(argument, scope)).collect::<Result<_>>()?;
    let mut codes = Vec::with_capacity(checked.len());
    for (number, ((code, found), &expected)) in checked.into_iter().zip(expected).enumerate() {
        if found == Type::Unknown && expected != Type::Any {
            return Ok((Code::Unknown, Type::Unknown));
        }
        let conversion = if expected == Type::Any {
            None
        } else {
            needed(found, expected, || {
                let (expected, found) = (expected.printable(), found.printable());
                format!("{name}: argument {} should be {expected}, got {found}", number + 1)
            })
            .map_err(|what| Error::types(node.position, what))?
        };
        codes.push(convert(code, conversion));
    }
    Ok((Code::Call(function, codes), result))
}

fn conditional<'v>(node: &Node, parts: &'v [Node; 3], scope: &'v dyn Scope) -> Result<(Code<'v>, Type)> {
    let fail = |what: String| Error::types(node.position, what);
    let (condition, condition_type) = types(&parts[0], scope)?;
    let (mut yes, mut yes_type) = types(&parts[1], scope)?;
    let (mut no, no_type) = types(&parts[2], scope)?;
    if condition_type == Type::Unknown {
        return Ok((Code::Unknown, Type::Unknown));
    }
    let wrong = || format!("condition must be type bool, not {}", condition_type.printable());
    let condition = convert(condition, needed(condition_type, Type::Bool, wrong).map_err(fail)?);
    if yes_type != Type::Unknown && no_type != Type::Unknown {
        let differ = || {
            let (yes, no) = (yes_type.printable(), no_type.printable());
            format!("true and false expression types must match; have {yes} and {no}")
        };
        // The result for false decides if the one for true is a text.
        if yes_type == Type::String {
            yes = convert(yes, needed(yes_type, no_type, differ).map_err(fail)?);
            yes_type = no_type;
        } else {
            no = convert(no, needed(no_type, yes_type, differ).map_err(fail)?);
        }
    }
    match yes_type {
        Type::List => return Err(fail("conditional operator cannot be used with list values".to_owned())),
        Type::Map => return Err(fail("conditional operator cannot be used with map values".to_owned())),
        _ => {}
    }
    let result = if yes_type == Type::Unknown { no_type } else { yes_type };
    Ok((Code::Conditional(Box::new([condition, yes, no])), result))
}

fn index<'v>(node: &Node, name: &'v str, key: &'v Node, scope: &'v dyn Scope) -> Result<(Code<'v>, Type)> {
    let fail = |what: String| Error::types(node.position, what);
    let (key, key_type) = types(key, scope)?;
    let Some(Variable::Known(target)) = scope.variable(name) else { return Ok((Code::Unknown, Type::Unknown)) };
    if key_type == Type::Unknown {
        return Ok((Code::Unknown, Type::Unknown));
    }
    let (key_needed, article, element) = match target {
        Value::Text(_) => {
            return Err(fail(format!("invalid index operation into non-indexable type: {}", target.type_of())));
        }
        Value::List(items) => (Type::Int, "an int", element_type("list", name, items.iter())),
        Value::Map(map) => (Type::String, "a string", element_type("map", name, map.values())),
    };
    let wrong = || format!("key of an index must be {article}, was {key_type}");
    let key = convert(key, needed(key_type, key_needed, wrong).map_err(fail)?);
    Ok((Code::Index(name, target, Box::new(key)), element.map_err(fail)?))
}

/// The type that all elements have.
fn element_type<'v>(
    kind: &str,
    name: &str,
    mut elements: impl Iterator<Item = &'v Value>,
) -> std::result::Result<Type, String> {
    let name = quoted(name);
    let Some(first) = elements.next().map(Value::type_of) else {
        return Err(format!("{kind} {name} does not have any elements so cannot determine type."));
    };
    match elements.map(Value::type_of).find(|other| *other != first) {
        Some(other) => Err(format!("{kind} {name} does not have homogenous types. found {first} and then {other}")),
        None => Ok(first),
    }
}

fn output<'v>(node: &Node, parts: &'v [Node], scope: &'v dyn Scope) -> Result<(Code<'v>, Type)> {
    let checked: Vec<_> = parts.iter().map(|part| types(part, scope)).collect::<Result<_>>()?;
    if checked.iter().any(|(_, found)| *found == Type::Unknown) {
        return Ok((Code::Unknown, Type::Unknown));
    }
    if let [(_, kind @ (Type::List | Type::Map))] = checked[..] {
        return Ok((Code::Output(checked.into_iter().map(|(code, _)| code).collect()), kind));
    }
    let mut codes = Vec::with_capacity(checked.len());
    for (number, (code, found)) in checked.into_iter().enumerate() {
        let wrong = || {
            let number = number + 1;
            format!("output of an HIL expression must be a string, or a single list (argument {number} is {found})")
        };
        let conversion = needed(found, Type::String, wrong).map_err(|what| Error::types(node.position, what))?;
        codes.push(convert(code, conversion));
    }
    Ok((Code::Output(codes), Type::String))
}
