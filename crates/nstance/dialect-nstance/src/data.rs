//! The data of templates: structs and string maps, as Nstance's templates see them.

use std::sync::Arc;

use go_template::{Field, Map, Struct, StructType, Value};

/// A struct of the data: its name and its fields, all strings.
pub type Part = (&'static str, &'static [&'static str]);

/// The structs, in their order.
pub const PARTS: [Part; 4] = [
    ("Instance", &["ID", "Kind", "Arch", "Type", "Hostname", "FQDN", "IP4", "IP6"]),
    ("Cluster", &["ID", "Slug", "FQDN", "CACert"]),
    ("Server", &["Shard", "RegistrationAddr", "OperatorAddr", "AgentAddr"]),
    ("Provider", &["Kind", "Region", "Zone"]),
];

/// The maps that follow the structs; `Var` is another name of `Vars`.
pub const MAPS: [&str; 3] = ["Vars", "Var", "Image"];

/// The name of the string that comes last.
pub const NONCE: &str = "Nonce";

/// The root of the data: the structs with what `field` gives for each field, the maps with what `map` gives, and the nonce.
///
/// # Errors
/// Those of the two functions.
pub fn root<E>(
    mut field: impl FnMut(&'static str, &'static str) -> Result<Box<[u8]>, E>,
    mut map: impl FnMut(&'static str) -> Result<Value, E>,
    nonce: impl FnOnce() -> Result<Box<[u8]>, E>,
) -> Result<Value, E> {
    let mut values = Vec::new();
    for (name, fields) in PARTS {
        let texts = fields.iter().map(|key| field(name, key).map(Value::String)).collect::<Result<Vec<_>, E>>()?;
        let kind = StructType::new(format!("nstance.{name}"), fields.iter().map(|field| Field::new(*field)));
        values.push(structure(kind, texts));
    }
    for name in MAPS {
        values.push(map(name)?);
    }
    values.push(Value::String(nonce()?));
    let names = PARTS.iter().map(|part| part.0).chain(MAPS).chain([NONCE]);
    Ok(structure(StructType::new("nstance.Data", names.map(Field::new)), values))
}

/// A struct with a value for each field.
fn structure(kind: Arc<StructType>, values: Vec<Value>) -> Value {
    // `None` needs another number of values than of fields, or a nil.
    Struct::new(kind, values).map_or(Value::Nil, Value::Struct)
}

/// A map of strings.
pub fn strings<'s>(entries: impl IntoIterator<Item = (&'s str, &'s str)>) -> Value {
    let bytes = |text: &str| Box::from(text.as_bytes());
    Value::Map(Map::of_strings(entries.into_iter().map(|(key, text)| (bytes(key), bytes(text)))))
}
