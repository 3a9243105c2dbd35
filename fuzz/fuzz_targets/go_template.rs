//! Go templates: parsed and executed with a bit of data, within bounds.
#![no_main]

use std::cell::Cell;

use go_template::{Bounds, Delimiters, List, Map, MissingKey, Options, Template, Value};
use libfuzzer_sys::fuzz_target;

fn data() -> Value {
    let key = |name: &str| Box::from(name.as_bytes());
    let list = vec![Value::Int(1), Value::from("two"), Value::Float64(3.5), Value::Nil, Value::Bool(true)];
    Value::Map(Map::new([
        (key("a"), Value::from("<text>")),
        (key("b"), Value::Uint64(u64::MAX)),
        (key("l"), Value::List(List::decoded(list))),
        (key("m"), Value::Map(Map::of_strings([(key("x"), key("y"))]))),
    ]))
}

fuzz_target!(|input: &[u8]| {
    let (choice, text) = input.split_first().unwrap_or((&0, &[]));
    let delimiters = if choice & 4 == 0 { Delimiters::default() } else { Delimiters::new("[", "]") };
    let Ok(template) = Template::parse("fuzz", text, &delimiters) else { return };
    let missing_key = [MissingKey::Invalid, MissingKey::Zero, MissingKey::Error][usize::from(choice & 3) % 3];
    let looks = Cell::new(0);
    let expired = || {
        looks.set(looks.get() + 1);
        looks.get() > 50
    };
    let bounds = Bounds { output: 1 << 16, memory: 1 << 20, expired: Some(&expired) };
    if let Err(error) = template.execute(&data(), &Options { missing_key, bounds }) {
        assert!(error.quoted.iter().all(|part| part.start < part.end && part.end <= error.text.len()));
    }
});
