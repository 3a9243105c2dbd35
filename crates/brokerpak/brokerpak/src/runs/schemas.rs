//! The schemas of some types of resources, from a document that has those of whole clouds.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufReader, Read};

use brokerpak_model::import::Schemas;
use problem::{Problem, Result};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

/// Reads the blocks of these types from what `providers schema -json` prints; the rest is not kept.
///
/// # Errors
/// Another document.
pub(crate) fn read(printed: impl Read, kinds: BTreeSet<String>) -> Result<Schemas> {
    let mut schemas = Schemas::new();
    let mut deserializer = serde_json::Deserializer::from_reader(BufReader::new(printed));
    let reader = Reader { kinds: &kinds, schemas: &mut schemas, level: 0 };
    reader.deserialize(&mut deserializer).map_err(|error| {
        Problem::internal(format!(
            "the schemas of the providers cannot be read (line {}, column {})",
            error.line(),
            error.column()
        ))
    })?;
    Ok(schemas)
}

/// A map on the way `provider_schemas` > provider > `resource_schemas` > type > `block`.
struct Reader<'r> {
    kinds: &'r BTreeSet<String>,
    schemas: &'r mut Schemas,
    level: usize,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let is_on_the_way = match self.level {
                0 => key == "provider_schemas",
                2 => key == "resource_schemas",
                3 => self.kinds.contains(&key),
                _ => true,
            };
            if !is_on_the_way {
                map.next_value::<IgnoredAny>()?;
            } else if self.level == 3 {
                let mut schema: Json = map.next_value()?;
                self.schemas.insert(key, schema["block"].take());
            } else {
                let inner = Reader { kinds: self.kinds, schemas: &mut *self.schemas, level: self.level + 1 };
                map.next_value_seed(inner)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_types_in_question_are_kept() {
        let text = r#"{"format_version": "1.0", "provider_schemas": {"p": {"provider": {"version": 0},
            "resource_schemas": {"a": {"version": 0, "block": {"attributes": {}}}, "b": {"block": {"x": 1}}},
            "data_source_schemas": {"a": {"block": {"no": 1}}}}, "q": {}}}"#;
        let schemas = read(text.as_bytes(), BTreeSet::from(["a".to_owned()])).unwrap();
        assert_eq!(schemas.len(), 1);
        assert_eq!(schemas["a"], serde_json::json!({ "attributes": {} }));
        assert_eq!(read("[]".as_bytes(), BTreeSet::new()).unwrap_err().exit_code(), 70);
    }
}
