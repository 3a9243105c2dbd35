//! Expressions of brokerpaks: whatever the text is, it is evaluated or has an error.
#![no_main]

use std::collections::BTreeMap;

use hil::{Expression, Host, Value, Variable};
use libfuzzer_sys::fuzz_target;

struct Nothing;

impl Host for Nothing {
    fn time_nano(&mut self) -> i128 {
        0
    }

    fn random(&mut self, count: usize) -> Result<Vec<u8>, String> {
        Ok(vec![0; count])
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

/// Knows every name, and no value.
struct Anything;

impl hil::Scope for Anything {
    fn variable(&self, _name: &str) -> Option<Variable<'_>> {
        Some(Variable::Unknown)
    }
}

fuzz_target!(|text: &str| {
    let _ = hil::is_expression(text);
    let Ok(expression) = Expression::parse(text) else { return };
    let checked = expression.check(&Anything);
    let list = Value::List(vec![Value::Text(text.to_owned())]);
    let map = Value::Map([("k".to_owned(), list.clone())].into());
    let variables: BTreeMap<String, Value> =
        [("s".to_owned(), Value::Text(text.to_owned())), ("l".to_owned(), list), ("m".to_owned(), map)].into();
    if expression.evaluate(&variables, &mut Nothing).is_ok() {
        assert!(checked.is_ok(), "what can be evaluated passes the check of its types");
    }
});
