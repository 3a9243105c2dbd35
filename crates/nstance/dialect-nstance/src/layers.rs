//! Args or vars at several levels: their merge, and where a value comes from.

use crate::document::{Data, Node, Object, Position};
use crate::report::{Fields, Report};
use crate::vars;

/// An object of args or vars at one level.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Where it stands: `templates.default.vars`.
    pub name: String,
    /// The object.
    pub(crate) members: Object,
}

impl Layer {
    /// The member `key`, if it is an object.
    pub(crate) fn of(fields: &Fields<'_>, key: &str) -> Option<Layer> {
        let object = fields.object(key)?;
        Some(Layer { name: object.path, members: object.members.clone() })
    }

    /// The member `vars`, whose values are checked.
    pub(crate) fn vars(fields: &Fields<'_>, report: &mut Report) -> Option<Layer> {
        let layer = Layer::of(fields, "vars")?;
        vars::check(&layer.members, &layer.name, report);
        Some(layer)
    }
}

/// The layers merged, the lowest first. The order of keys is that of their first occurrence.
pub fn merged(layers: &[&Layer]) -> Object {
    let mut merged = Object::new();
    layers.iter().for_each(|layer| merge(&mut merged, &layer.members));
    merged
}

/// Puts `high` over `low`: objects are merged, member by member, and any other value replaces the one below.
fn merge(low: &mut Object, high: &Object) {
    for (key, node) in high {
        if let Data::Object(members) = &node.data
            && let Some(Node { data: Data::Object(below), .. }) = low.get_mut(key)
        {
            merge(below, members);
        } else {
            low.insert(key.clone(), node.clone());
        }
    }
}

/// Where a value comes from.
#[derive(Debug, PartialEq, Eq)]
pub struct Origin {
    /// The levels that the value consists of, the highest first: one, or those of which an object is merged.
    pub set: Vec<(String, Position)>,
    /// The lower levels that do not count, the highest first.
    pub shadowed: Vec<(String, Position)>,
}

/// Where the value at a path comes from; `None` if the merged layers have none.
pub fn origin(layers: &[&Layer], path: &[String]) -> Option<Origin> {
    let mut origin = Origin { set: Vec::new(), shadowed: Vec::new() };
    // Whether a level above has replaced everything below.
    let mut replaced = false;
    for layer in layers.iter().rev() {
        match find(&layer.members, path) {
            Found::Value(node) => {
                let place = (layer.name.clone(), node.position.clone());
                let is_object = node.as_object().is_some();
                if replaced || !(origin.set.is_empty() || is_object) {
                    replaced = true;
                    origin.shadowed.push(place);
                } else {
                    replaced = !is_object;
                    origin.set.push(place);
                }
            }
            Found::Replaced => replaced = true,
            Found::Nothing => {}
        }
    }
    (!origin.set.is_empty()).then_some(origin)
}

enum Found<'n> {
    Value(&'n Node),
    /// Something on the way to it is not an object: it replaces the objects of the levels below.
    Replaced,
    Nothing,
}

fn find<'n>(members: &'n Object, path: &[String]) -> Found<'n> {
    let Some((key, rest)) = path.split_first() else { return Found::Nothing };
    match members.get(key) {
        None => Found::Nothing,
        Some(node) if rest.is_empty() => Found::Value(node),
        Some(node) => node.as_object().map_or(Found::Replaced, |members| find(members, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::json;

    fn layers(texts: &[&str]) -> Vec<Layer> {
        let layer = |(index, text): (usize, &&str)| {
            let file = format!("{index}.json");
            let node = parse("document", &file, text.as_bytes()).unwrap();
            Layer { name: format!("level{index}"), members: node.as_object().unwrap().clone() }
        };
        texts.iter().enumerate().map(layer).collect()
    }

    fn merged_text(texts: &[&str]) -> String {
        let layers = layers(texts);
        json::compact(&merged(&layers.iter().collect::<Vec<_>>()))
    }

    #[test]
    fn objects_are_merged_and_other_values_replaced() {
        let low = r#"{"a": 1, "b": {"hello": "world", "always": "here"}, "c": {"goodbye": "world"}}"#;
        let high = r#"{"a": "2", "b": {"hello": "there", "location": "world"}, "c": 3}"#;
        assert_eq!(
            merged_text(&[low, high]),
            r#"{"a":"2","b":{"hello":"there","always":"here","location":"world"},"c":3}"#
        );
        assert_eq!(merged_text(&[r#"{"a":[1,2],"b":{"x":1}}"#, r#"{"a":[3],"b":null}"#]), r#"{"a":[3],"b":null}"#);
        assert_eq!(merged_text(&[r#"{"a":"s"}"#, r#"{"a":{"x":1.50}}"#]), r#"{"a":{"x":1.50}}"#);
        assert_eq!(merged_text(&[r#"{"b":1,"a":1}"#, r#"{"c":1,"a":2}"#, "{}"]), r#"{"b":1,"a":2,"c":1}"#);
        let three = [r#"{"o":{"a":{"x":1}}}"#, r#"{"o":{"a":{"y":2}}}"#, r#"{"o":{"a":{"x":3}}}"#];
        assert_eq!(merged_text(&three), r#"{"o":{"a":{"x":3,"y":2}}}"#);
    }

    #[test]
    fn a_merge_does_not_change_its_layers() {
        let layers = layers(&[r#"{"o":{"a":1}}"#, r#"{"o":{"a":2,"b":3}}"#]);
        let all: Vec<&Layer> = layers.iter().collect();
        let first = json::compact(&merged(&all));
        assert_eq!(json::compact(&layers[0].members), r#"{"o":{"a":1}}"#);
        assert_eq!(json::compact(&merged(&all[..1])), r#"{"o":{"a":1}}"#);
        assert_eq!(json::compact(&merged(&all)), first);
    }

    fn explained(texts: &[&str], path: &str) -> Option<(String, String)> {
        let layers = layers(texts);
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        let origin = origin(&layers.iter().collect::<Vec<_>>(), &path)?;
        let names = |places: &[(String, Position)]| {
            places.iter().map(|(_, position)| position.to_string()).collect::<Vec<_>>().join(" ")
        };
        Some((names(&origin.set), names(&origin.shadowed)))
    }

    #[test]
    fn a_value_has_an_origin_and_shadows_others() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        let texts = [r#"{"x": 1}"#, "{}", r#"{"x": 2}"#, r#"{"y": 1, "x": 3}"#];
        assert_eq!(explained(&texts, "x"), pair("3.json:1:15", "2.json:1:7 0.json:1:7"));
        assert_eq!(explained(&texts, "z"), None);
        let objects = [r#"{"o": {"a": 1}}"#, r#"{"o": 1}"#, r#"{"o": {"a": 2}}"#, r#"{"o": {"b": 2}}"#];
        assert_eq!(explained(&objects, "o"), pair("3.json:1:7 2.json:1:7", "1.json:1:7 0.json:1:7"));
        assert_eq!(explained(&objects, "o.a"), pair("2.json:1:13", "0.json:1:13"));
        assert_eq!(explained(&objects[..2], "o.a"), None);
    }
}
