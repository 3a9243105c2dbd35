//! The data of a template: values with Go's types, on which output and messages depend.

use std::fmt;
use std::sync::Arc;

use crate::key_index::KeyIndex;

/// A value as Go would hold it in an `any`.
///
/// Strings are bytes; what they hold is never shown by `Debug`, because it may be secret.
pub enum Value {
    /// `nil`.
    Nil,
    /// `bool`.
    Bool(bool),
    /// `int`, 64 bits wide.
    Int(i64),
    /// `int64`.
    Int64(i64),
    /// `uint64`.
    Uint64(u64),
    /// `float64`.
    Float64(f64),
    /// `string`.
    String(Box<[u8]>),
    /// A slice.
    List(List),
    /// A map with strings as keys.
    Map(Map),
    /// A struct.
    Struct(Struct),
}

/// The type of the elements of a [`List`] or [`Map`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elements {
    /// `any`.
    Any,
    /// `string`.
    String,
}

/// A slice: `[]any` or `[]string`.
pub struct List {
    pub(crate) elements: Elements,
    pub(crate) items: Vec<Value>,
    pub(crate) capacity: usize,
    pub(crate) nil: bool,
}

/// A map: `map[string]any` or `map[string]string`.
pub struct Map {
    pub(crate) elements: Elements,
    /// In the order of the keys' bytes, as Go ranges over it and prints it.
    pub(crate) entries: Vec<(Box<[u8]>, Value)>,
    /// Where a key is among the entries, if there are many.
    index: KeyIndex,
    pub(crate) nil: bool,
}

/// A struct type: its name as Go writes it (`package.Name`) and its fields in their order.
#[derive(Debug, PartialEq, Eq)]
pub struct StructType {
    name: Box<str>,
    fields: Vec<Field>,
}

/// A field of a struct type; it is exported.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Is its type `any`? Else it is the type of its value.
    pub any: bool,
}

/// A value of a struct type.
pub struct Struct {
    pub(crate) kind: Arc<StructType>,
    pub(crate) fields: Vec<Value>,
}

impl Value {
    /// The name of its type, as `%T` prints it.
    pub fn type_name(&self) -> &str {
        match self {
            Value::Nil => "<nil>",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Int64(_) => "int64",
            Value::Uint64(_) => "uint64",
            Value::Float64(_) => "float64",
            Value::String(_) => "string",
            Value::List(list) => list.type_name(),
            Value::Map(map) => map.type_name(),
            Value::Struct(value) => value.kind.name(),
        }
    }

    fn has_children(&self) -> bool {
        match self {
            Value::List(list) => !list.items.is_empty(),
            Value::Map(map) => !map.entries.is_empty(),
            Value::Struct(value) => !value.fields.is_empty(),
            _ => false,
        }
    }
}

impl fmt::Debug for Value {
    /// Its type alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.type_name())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.as_bytes().into())
    }
}

impl List {
    /// A `[]any`.
    pub fn new(items: Vec<Value>) -> Self {
        let capacity = items.len();
        List { elements: Elements::Any, items, capacity, nil: false }
    }

    /// A `[]any` as Go's `encoding/json` makes it: its capacity grows in steps, and `slice` may reach that far.
    pub fn decoded(items: Vec<Value>) -> Self {
        // Go 1.26 with 64 bits; from the last one on a step is a quarter and a bit, in multiples of 512.
        const STEPS: [usize; 13] = [0, 1, 2, 4, 8, 16, 32, 71, 143, 303, 591, 1023, 1535];
        let mut capacity = STEPS.iter().copied().find(|step| *step >= items.len()).unwrap_or(1535);
        while capacity < items.len() {
            capacity = (capacity + (capacity + 768) / 4).next_multiple_of(512);
        }
        List::new(items).with_capacity(capacity)
    }

    /// A `[]string`.
    pub fn of_strings(items: impl IntoIterator<Item = Box<[u8]>>) -> Self {
        let items = items.into_iter().map(Value::String).collect();
        let mut list = List::new(items);
        list.elements = Elements::String;
        list
    }

    /// A nil slice.
    pub fn nil(elements: Elements) -> Self {
        List { elements, items: Vec::new(), capacity: 0, nil: true }
    }

    /// The same with room for `capacity` elements, at least its length: as far as `slice` may reach. What lies behind the
    /// length are zero values.
    #[must_use]
    pub fn with_capacity(mut self, capacity: usize) -> Self {
        self.capacity = capacity.max(self.items.len());
        self
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self.elements {
            Elements::Any => "[]interface {}",
            Elements::String => "[]string",
        }
    }
}

impl Map {
    /// A `map[string]any`; the last of two equal keys counts.
    pub fn new(entries: impl IntoIterator<Item = (Box<[u8]>, Value)>) -> Self {
        Map::of(Elements::Any, entries.into_iter().collect())
    }

    /// A `map[string]string`; the last of two equal keys counts.
    pub fn of_strings(entries: impl IntoIterator<Item = (Box<[u8]>, Box<[u8]>)>) -> Self {
        Map::of(Elements::String, entries.into_iter().map(|(key, value)| (key, Value::String(value))).collect())
    }

    fn of(elements: Elements, entries: Vec<(Box<[u8]>, Value)>) -> Self {
        let entries = sorted(entries);
        Map { elements, index: KeyIndex::of(&entries), entries, nil: false }
    }

    /// A nil map.
    pub fn nil(elements: Elements) -> Self {
        Map { elements, entries: Vec::new(), index: KeyIndex::default(), nil: true }
    }

    /// What is under a key.
    pub fn get(&self, key: &[u8]) -> Option<&Value> {
        if self.entries.len() <= KeyIndex::FEW {
            return self.entries.iter().find(|entry| *entry.0 == *key).map(|entry| &entry.1);
        }
        let place = match self.index.find(key, &self.entries) {
            Some(found) => found?,
            None => self.entries.binary_search_by(|entry| (*entry.0).cmp(key)).ok()?,
        };
        Some(&self.entries[place].1)
    }

    /// Its keys in their order, each with its value.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &Value)> {
        self.entries.iter().map(|entry| (&*entry.0, &entry.1))
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self.elements {
            Elements::Any => "map[string]interface {}",
            Elements::String => "map[string]string",
        }
    }
}

fn sorted(mut entries: Vec<(Box<[u8]>, Value)>) -> Vec<(Box<[u8]>, Value)> {
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    // Of equal keys `dedup_by` keeps the first: the last one's value is moved there.
    entries.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            std::mem::swap(&mut later.1, &mut earlier.1);
        }
        same
    });
    entries
}

impl StructType {
    /// A type of this name with these fields.
    pub fn new(name: impl Into<Box<str>>, fields: impl IntoIterator<Item = Field>) -> Arc<Self> {
        Arc::new(StructType { name: name.into(), fields: fields.into_iter().collect() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its fields, in their order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
}

impl Field {
    /// A field whose type is that of its value.
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Field { name: name.into(), any: false }
    }

    /// A field of type `any`.
    pub fn any(name: impl Into<Box<str>>) -> Self {
        Field { name: name.into(), any: true }
    }
}

impl Struct {
    /// A value of this type; `None` if there are not as many values as fields, or one is nil whose field is not `any`.
    pub fn new(kind: Arc<StructType>, fields: Vec<Value>) -> Option<Self> {
        let fits = |(field, value): (&Field, &Value)| field.any || !matches!(value, Value::Nil);
        let valid = kind.fields.len() == fields.len() && kind.fields.iter().zip(&fields).all(fits);
        valid.then_some(Struct { kind, fields })
    }

    /// A field's description and value.
    pub(crate) fn field(&self, name: &[u8]) -> Option<(&Field, &Value)> {
        let place = self.kind.fields.iter().position(|field| field.name.as_bytes() == name)?;
        Some((&self.kind.fields[place], &self.fields[place]))
    }
}

/// Drops values however deep they are nested, without recursion.
fn dismantle(values: impl Iterator<Item = Value>) {
    let mut left: Vec<Value> = values.filter(Value::has_children).collect();
    while let Some(mut value) = left.pop() {
        match &mut value {
            Value::List(list) => left.extend(list.items.drain(..).filter(Value::has_children)),
            Value::Map(map) => left.extend(map.entries.drain(..).map(|entry| entry.1).filter(Value::has_children)),
            Value::Struct(value) => left.extend(value.fields.drain(..).filter(Value::has_children)),
            _ => {}
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        dismantle(self.items.drain(..));
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        dismantle(self.entries.drain(..).map(|entry| entry.1));
    }
}

impl Drop for Struct {
    fn drop(&mut self) {
        dismantle(self.fields.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Box<[u8]> {
        text.as_bytes().into()
    }

    #[test]
    fn maps_are_sorted_and_the_last_of_equal_keys_counts() {
        let map = Map::new([(key("b"), Value::Int(1)), (key("a"), Value::Int(2)), (key("b"), Value::Int(3))]);
        let entries: Vec<(&[u8], i64)> = map
            .entries
            .iter()
            .map(|entry| (&*entry.0, if let Value::Int(value) = entry.1 { value } else { 0 }))
            .collect();
        assert_eq!(entries, [(&b"a"[..], 2), (&b"b"[..], 3)]);
    }

    #[test]
    fn finds_keys_in_small_and_large_maps() {
        for size in [3, 8, 9, 1000, 20_000] {
            let map = Map::new((0..size).map(|n| (key(&format!("k{n}")), Value::Int(n))));
            for n in 0..size {
                assert!(matches!(map.get(format!("k{n}").as_bytes()), Some(Value::Int(found)) if *found == n));
            }
            assert!(map.get(b"k").is_none());
        }
    }

    #[test]
    fn decoded_lists_have_room() {
        for (length, capacity) in [(0, 0), (3, 4), (33, 71), (304, 591), (1536, 2560), (2561, 3584), (5121, 6656)] {
            assert_eq!(List::decoded((0..length).map(Value::Int).collect()).capacity, capacity);
        }
    }

    #[test]
    fn deep_values_are_dropped() {
        let mut value = Value::Nil;
        for _ in 0..1_000_000 {
            value = Value::List(List::new(vec![value]));
        }
        drop(value);
    }

    #[test]
    fn structs_have_a_value_for_each_field() {
        let kind = StructType::new("x.T", [Field::new("A"), Field::any("B")]);
        assert!(Struct::new(kind.clone(), vec![Value::Int(1)]).is_none());
        assert!(Struct::new(kind.clone(), vec![Value::Nil, Value::Nil]).is_none());
        assert!(Struct::new(kind, vec![Value::Int(1), Value::Nil]).is_some());
    }

    #[test]
    fn debug_shows_types_only() {
        assert_eq!(format!("{:?}", Value::from("secret")), "<string>");
    }
}
