//! Contexts as workers get them. The instances of a group differ in a few facts about themselves; a job's properties and
//! links are the same objects for all of them, and go to a worker once.

use std::rc::Rc;

use value::{Encoding, Text};
use value::{Map, Value};

/// The keys of a context whose values several contexts share.
const COMMON: [&str; 2] = ["properties", "links"];

/// The contexts of a run.
pub(crate) struct Contexts {
    commons: Vec<Common>,
    contexts: Vec<Context>,
}

struct Common {
    identity: Option<Identity>,
    /// The values of [`COMMON`], together: an object that is in both stays one.
    values: Value,
    odd: bool,
}

/// By which what is common is recognised: the address of the properties, and names and addresses of the links (each context
/// has a Hash of links of its own).
#[derive(PartialEq)]
struct Identity {
    properties: *const Map,
    links: Vec<(Value, *const Map)>,
}

impl Identity {
    fn of(context: &Value) -> Option<Identity> {
        let address = |value: &Value| match value {
            Value::Map(map) => Some(Rc::as_ptr(map)),
            _ => None,
        };
        let links = context.get("links")?.as_map()?.iter();
        Some(Identity {
            properties: address(context.get("properties")?)?,
            links: links.map(|(name, link)| Some((name.clone(), address(link)?))).collect::<Option<_>>()?,
        })
    }
}

struct Context {
    common: usize,
    /// The context, with `nil` in the places of [`COMMON`].
    own: Value,
    odd: bool,
}

impl Contexts {
    /// Takes contexts apart.
    pub(crate) fn new(contexts: &[Value]) -> Contexts {
        let mut all = Contexts { commons: Vec::new(), contexts: Vec::with_capacity(contexts.len()) };
        for context in contexts {
            let identity = Identity::of(context);
            if identity.is_none() || all.commons.last().is_none_or(|common| common.identity != identity) {
                let values = Value::array(COMMON.iter().map(|key| context.get(key).cloned().unwrap_or(Value::Nil)));
                all.commons.push(Common { identity, odd: has_odd_keys(&values), values });
            }
            let own = own(context);
            all.contexts.push(Context { common: all.commons.len() - 1, odd: has_odd_keys(&own), own });
        }
        all
    }

    /// Whether OpenStruct cannot hold a context.
    pub(crate) fn has_odd_keys(&self, context: usize) -> bool {
        let context = &self.contexts[context];
        context.odd || self.commons[context.common].odd
    }

    /// Which properties and links a context has: the same number, the same ones.
    pub(crate) fn common(&self, context: usize) -> usize {
        self.contexts[context].common
    }

    /// Some contexts as the driver wants them: dumps of what is common, and for each context which of them is its, and
    /// a dump of its own.
    pub(crate) fn request(&self, contexts: &[usize]) -> (Value, Value) {
        let mut commons: Vec<usize> = Vec::new();
        let contexts = contexts.iter().map(|context| {
            let context = &self.contexts[*context];
            let known = commons.iter().rposition(|common| *common == context.common);
            let common = known.unwrap_or_else(|| {
                commons.push(context.common);
                commons.len() - 1
            });
            Value::array([Value::Int(common as i64), dump(&context.own)])
        });
        let contexts = Value::array(contexts.collect::<Vec<_>>());
        (Value::array(commons.into_iter().map(|common| dump(&self.commons[common].values))), contexts)
    }
}

fn own(context: &Value) -> Value {
    let Some(map) = context.as_map() else { return context.clone() };
    let is_common = |key: &Value| key.as_str().is_some_and(|key| COMMON.contains(&key));
    let pairs = map.iter().map(|(key, value)| (key.clone(), if is_common(key) { Value::Nil } else { value.clone() }));
    Value::Map(Rc::new(Map::from_unique(pairs.collect())))
}

fn dump(value: &Value) -> Value {
    Value::Str(Rc::new(Text { bytes: ruby::dump(value), encoding: Encoding::Binary }))
}

/// Keys that are neither Strings nor Symbols break OpenStructs: then BOSH fails the whole job, whatever its templates use.
fn has_odd_keys(value: &Value) -> bool {
    match value {
        Value::Map(map) => map.iter().any(|(k, v)| !matches!(k, Value::Str(_) | Value::Symbol(_)) || has_odd_keys(v)),
        Value::Array(items) => items.iter().any(has_odd_keys),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(index: i64, properties: &Value, link: &Value) -> Value {
        Value::map([
            ("index", Value::Int(index)),
            ("properties", properties.clone()),
            ("links", Value::map([("l", link.clone())])),
        ])
    }

    #[test]
    fn what_is_the_same_object_goes_once_and_what_is_equal_only_does_not() {
        let properties = || Value::map([("a", Value::Int(1))]);
        let (one, link) = (properties(), Value::map([("instances", Value::array([]))]));
        let all = [context(0, &one, &link), context(1, &one, &link), context(2, &properties(), &link)];
        let contexts = Contexts::new(&all);
        let (commons, own) = contexts.request(&[0, 1, 2]);
        assert_eq!(commons.as_array().unwrap().len(), 2);
        let common = |i: usize| own.as_array().unwrap()[i].as_array().unwrap()[0].as_int();
        assert_eq!([common(0), common(1), common(2)], [Some(0), Some(0), Some(1)]);
        assert_eq!(contexts.request(&[2]).0.as_array().unwrap().len(), 1);
    }

    #[test]
    fn odd_keys_are_found_in_every_part() {
        let odd = Value::Map(Rc::new([(Value::Int(1), Value::Nil)].into_iter().collect()));
        let plain = Value::map([]);
        let all = [context(0, &plain, &plain), context(0, &odd, &plain), context(0, &plain, &odd)];
        let contexts = Contexts::new(&all);
        assert_eq!([0, 1, 2].map(|i| contexts.has_odd_keys(i)), [false, true, true]);
        assert!(Contexts::new(&[Value::map([("networks", odd)])]).has_odd_keys(0));
    }
}
