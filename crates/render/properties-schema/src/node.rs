//! A schema within a document, and one that is being applied to a value.

use std::rc::Rc;

use serde_json::{Map, Value as Json};
use value::Value;

use crate::outcome::{Outcome, Place};

/// A schema and the address that its references start from.
#[derive(Clone)]
pub(crate) struct Node<'s> {
    pub(crate) json: &'s Json,
    pub(crate) base: Rc<str>,
}

/// What the keywords of one schema have found out for each other.
pub(crate) struct Here<'s, 'i> {
    pub(crate) base: Rc<str>,
    pub(crate) object: &'s Map<String, Json>,
    pub(crate) instance: &'i Value,
    pub(crate) place: Place<'i>,
    /// What valid keywords have evaluated so far.
    pub(crate) outcome: Outcome,
    /// Keys that `properties` and `patternProperties` spoke of.
    pub(crate) named: Vec<String>,
    /// How many elements `contains` found.
    pub(crate) contained: Option<usize>,
    /// Whether `if` holds.
    pub(crate) condition: Option<bool>,
}

impl<'s> Here<'s, '_> {
    /// A schema below this one.
    pub(crate) fn node(&self, json: &'s Json) -> Node<'s> {
        Node { json, base: self.base.clone() }
    }
}
