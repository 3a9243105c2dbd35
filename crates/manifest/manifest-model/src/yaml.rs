//! Documents for tests, from YAML.

use value::Value;

/// The value of a YAML text of maps, lists, strings, booleans and integers.
pub(crate) fn yaml(text: &str) -> Value {
    fn value(yaml: serde_yaml::Value) -> Value {
        match yaml {
            serde_yaml::Value::Bool(b) => Value::Bool(b),
            serde_yaml::Value::Number(number) => Value::Int(number.as_i64().unwrap()),
            serde_yaml::Value::String(text) => Value::str(text),
            serde_yaml::Value::Sequence(items) => Value::array(items.into_iter().map(value)),
            serde_yaml::Value::Mapping(map) => {
                let pairs: Vec<(Value, Value)> =
                    map.into_iter().map(|(key, inner)| (value(key), value(inner))).collect();
                Value::Map(std::rc::Rc::new(pairs.into_iter().collect()))
            }
            _ => Value::Nil,
        }
    }
    value(serde_yaml::from_str(text).unwrap())
}
