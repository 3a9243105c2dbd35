//! Evaluation. Every part is evaluated, from left to right: both results of a condition, both sides of `&&` and `||`.

use std::borrow::Cow;

use go_strconv::quote::quoted;

use crate::ast::Operator;
use crate::check::{Code, Operation};
use crate::error::Error;
use crate::functions::Host;
use crate::value::{Operand, Type, Value};

type Result<T> = std::result::Result<T, Error>;

/// The value of a checked tree.
pub(crate) fn evaluate<'v>(code: &Code<'v>, host: &mut dyn Host) -> Result<Operand<'v>> {
    Ok(match code {
        Code::Constant(operand) => operand.clone(),
        Code::Unknown => return Err(Error::evaluation("the value of a variable is not known")),
        Code::Convert(conversion, inner) => conversion.apply(evaluate(inner, host)?)?,
        Code::Call(function, arguments) => {
            let values: Vec<_> = arguments.iter().map(|code| evaluate(code, host)).collect::<Result<_>>()?;
            let failed = |message| Error::evaluation(format!("{}: {message}", function.name()));
            function.call(values, host).map_err(failed)?
        }
        Code::Chain(first, links) => {
            let mut left = evaluate(first, host)?;
            for link in links {
                if let Some(conversion) = link.convert_left {
                    left = conversion.apply(left)?;
                }
                let right = evaluate(&link.right, host)?;
                left = operate(link.operation, left, right)?;
            }
            left
        }
        Code::Conditional(parts) => {
            let condition = evaluate(&parts[0], host)?;
            let (yes, no) = (evaluate(&parts[1], host)?, evaluate(&parts[2], host)?);
            if matches!(condition, Operand::Bool(true)) { yes } else { no }
        }
        Code::Index(name, target, key) => element(name, target, &evaluate(key, host)?)?,
        Code::Output(parts) => {
            let mut text = String::new();
            for part in parts {
                match evaluate(part, host)? {
                    Operand::Text(part) => text.push_str(&part),
                    // A list or a map, which stands alone.
                    other => return Ok(other),
                }
            }
            Operand::Text(Cow::Owned(text))
        }
    })
}

fn element<'v>(name: &str, target: &'v Value, key: &Operand<'_>) -> Result<Operand<'v>> {
    let missing = |message: String| Err(Error::evaluation(message));
    match (target, key) {
        (Value::List(items), Operand::Int(key)) => match usize::try_from(*key).ok().and_then(|key| items.get(key)) {
            Some(item) => Ok(item.operand()),
            None => missing(format!("index {key} out of range for list {name} (max {})", items.len())),
        },
        (Value::Map(map), Operand::Text(key)) => match map.get(&**key) {
            Some(item) => Ok(item.operand()),
            None => missing(format!("key {} does not exist in map {name}", quoted(key))),
        },
        _ => missing(format!("target {} for indexing must be ast.TypeList or ast.TypeMap", quoted(name))),
    }
}

fn operate<'v>(operation: Operation, left: Operand<'v>, right: Operand<'v>) -> Result<Operand<'v>> {
    let Operation { operator, operands } = operation;
    match (left, right) {
        (Operand::Bool(left), Operand::Bool(right)) => Ok(Operand::Bool(match operator {
            Operator::Or => left || right,
            Operator::And => left && right,
            Operator::NotEqual => left != right,
            _ => left == right,
        })),
        (Operand::Text(left), Operand::Text(right)) => {
            Ok(Operand::Bool(if operator == Operator::NotEqual { left != right } else { left == right }))
        }
        (Operand::Int(left), Operand::Int(right)) => integers(operator, left, right)
            .map_err(|message| Error::evaluation(format!("__builtin_IntMath: {message}"))),
        (Operand::Float(left), Operand::Float(right)) => Ok(floats(operator, left, right)),
        _ => {
            debug_assert_eq!(operands, Type::Unknown, "operands have been converted");
            Err(Error::evaluation("the value of a variable is not known"))
        }
    }
}

fn compare<T: PartialOrd>(operator: Operator, left: &T, right: &T) -> Option<bool> {
    Some(match operator {
        Operator::Equal => left == right,
        Operator::NotEqual => left != right,
        Operator::Less => left < right,
        Operator::LessOrEqual => left <= right,
        Operator::Greater => left > right,
        Operator::GreaterOrEqual => left >= right,
        _ => return None,
    })
}

fn integers<'v>(operator: Operator, left: i64, right: i64) -> std::result::Result<Operand<'v>, &'static str> {
    if let Some(result) = compare(operator, &left, &right) {
        return Ok(Operand::Bool(result));
    }
    if right == 0 && matches!(operator, Operator::Divide | Operator::Modulo) {
        return Err("divide by zero");
    }
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => left.checked_div(right),
        _ => Some(left.wrapping_rem(right)),
    };
    result.map(Operand::Int).ok_or("integer overflow")
}

fn floats<'v>(operator: Operator, left: f64, right: f64) -> Operand<'v> {
    if let Some(result) = compare(operator, &left, &right) {
        return Operand::Bool(result);
    }
    Operand::Float(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        _ => left / right,
    })
}
