//! Keywords that hold a value, or parts of it, to schemas below them.

use serde_json::Value as Json;
use value::Value;

use crate::error::SchemaError;
use crate::node::Here;
use crate::outcome::{Evaluated, Outcome, Place, Verdict, entries, find};
use crate::walk::Walk;

type Result<T> = std::result::Result<T, SchemaError>;

impl<'s> Walk<'s, '_> {
    /// The result of an applicator; `None` where it has none, or is not an applicator.
    pub(crate) fn applicator(
        &mut self,
        here: &mut Here<'s, '_>,
        keyword: &'static str,
        value: &'s Json,
    ) -> Result<Option<Verdict>> {
        Ok(Some(match keyword {
            "$ref" | "$dynamicRef" => return self.referred(here, keyword, value),
            "allOf" | "anyOf" | "oneOf" => self.combined(here, keyword, value)?,
            "not" => Verdict::of(!self.same(here, keyword, value)?.valid),
            "if" | "then" | "else" => return self.conditional(here, keyword, value),
            "prefixItems" | "items" | "contains" | "unevaluatedItems" => return self.elements(here, keyword, value),
            "dependentSchemas"
            | "properties"
            | "patternProperties"
            | "additionalProperties"
            | "propertyNames"
            | "dependencies"
            | "unevaluatedProperties" => return self.members(here, keyword, value),
            _ => return Ok(None),
        }))
    }

    /// Holds the value itself to a schema.
    fn same(&mut self, here: &Here<'s, '_>, keyword: &str, schema: &'s Json) -> Result<Outcome> {
        self.schema(&here.node(schema), Some(keyword), here.instance, here.place)
    }

    fn referred(&mut self, here: &Here<'s, '_>, keyword: &str, value: &'s Json) -> Result<Option<Verdict>> {
        let Some(reference) = value.as_str() else { return Ok(None) };
        let node = if keyword == "$ref" {
            self.resources.resolve(&here.base, reference)?
        } else {
            self.resources.resolve_dynamically(&here.base, reference, &self.scope)?
        };
        let outcome = self.schema(&node, None, here.instance, here.place)?;
        Ok(Some(Verdict { valid: outcome.valid, below: outcome.violations, evaluated: outcome.evaluated }))
    }

    fn combined(&mut self, here: &Here<'s, '_>, keyword: &str, value: &'s Json) -> Result<Verdict> {
        let schemas = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut verdict = Verdict::of(true);
        let mut valid = 0;
        for schema in schemas {
            let outcome = self.same(here, keyword, schema)?;
            valid += usize::from(outcome.valid);
            verdict.below.extend(outcome.violations);
            verdict.evaluated.join(outcome.evaluated);
        }
        verdict.valid = match keyword {
            "allOf" => valid == schemas.len(),
            "anyOf" => valid > 0,
            _ => valid == 1,
        };
        if valid > 1 && keyword == "oneOf" {
            verdict.below.clear();
        }
        Ok(verdict)
    }

    fn conditional(&mut self, here: &mut Here<'s, '_>, keyword: &str, value: &'s Json) -> Result<Option<Verdict>> {
        if keyword == "if" {
            let outcome = self.same(here, keyword, value)?;
            here.condition = Some(outcome.valid);
            return Ok(Some(Verdict { valid: true, below: Vec::new(), evaluated: outcome.evaluated }));
        }
        if here.condition != Some(keyword == "then") {
            return Ok(None);
        }
        // A branch that is `false` has the branch's own text, not that of the schema `false`.
        let mut outcome = self.same(here, keyword, value)?;
        if value.is_boolean() {
            outcome.violations.clear();
        }
        Ok(Some(Verdict { valid: outcome.valid, below: outcome.violations, evaluated: outcome.evaluated }))
    }

    fn elements(&mut self, here: &mut Here<'s, '_>, keyword: &str, value: &'s Json) -> Result<Option<Verdict>> {
        let Some(items) = here.instance.as_array() else { return Ok(None) };
        let prefix = here.object.get("prefixItems").and_then(Json::as_array).map_or(0, Vec::len);
        let chosen: Vec<usize> = match keyword {
            "prefixItems" => (0..items.len().min(prefix)).collect(),
            "items" => (prefix..items.len()).collect(),
            "unevaluatedItems" if here.outcome.evaluated.all_items => Vec::new(),
            "unevaluatedItems" => (0..items.len()).filter(|i| !here.outcome.evaluated.items.contains(i)).collect(),
            _ => (0..items.len()).collect(),
        };
        let mut outcomes = Vec::new();
        for &i in &chosen {
            let schema = if keyword == "prefixItems" { &value[i] } else { value };
            let place = Place::Index(&here.place, i);
            outcomes.push(self.schema(&here.node(schema), Some(keyword), &items[i], place)?);
        }
        if keyword == "contains" {
            let found: Vec<usize> =
                chosen.iter().zip(&outcomes).filter(|(_, outcome)| outcome.valid).map(|(i, _)| *i).collect();
            let least = here.object.get("minContains").and_then(Json::as_u64).unwrap_or(1);
            here.contained = Some(found.len());
            let mut verdict = Verdict::of(found.len() as u64 >= least);
            verdict.evaluated.items.extend(found);
            return Ok(Some(verdict));
        }
        let mut verdict = Verdict::all(outcomes);
        match keyword {
            "prefixItems" => verdict.evaluated.items.extend(chosen),
            _ => verdict.evaluated.all_items = !chosen.is_empty(),
        }
        Ok(Some(verdict))
    }

    fn members(&mut self, here: &mut Here<'s, '_>, keyword: &str, value: &'s Json) -> Result<Option<Verdict>> {
        let Some(members) = entries(here.instance) else { return Ok(None) };
        match keyword {
            "properties" | "patternProperties" => self.named_members(here, keyword, value, &members).map(Some),
            "additionalProperties" => {
                let named = std::mem::take(&mut here.named);
                let rest: Vec<_> = members.iter().filter(|(key, _)| !named.contains(key)).collect();
                self.other_members(here, keyword, value, rest).map(Some)
            }
            "unevaluatedProperties" => {
                let rest: Vec<_> =
                    members.iter().filter(|(key, _)| !here.outcome.evaluated.keys.contains(key)).collect();
                self.other_members(here, keyword, value, rest).map(Some)
            }
            "propertyNames" => {
                let mut outcomes = Vec::new();
                for (key, _) in &members {
                    let name = Value::str(key.clone());
                    let mut outcome = self.schema(&here.node(value), Some(keyword), &name, here.place)?;
                    outcome.evaluated = Evaluated::default();
                    outcomes.push(outcome);
                }
                Ok(Some(Verdict::all(outcomes)))
            }
            _ => self.dependent(here, keyword, value, &members).map(Some),
        }
    }

    fn named_members(
        &mut self,
        here: &mut Here<'s, '_>,
        keyword: &str,
        value: &'s Json,
        members: &[(String, &Value)],
    ) -> Result<Verdict> {
        let mut outcomes = Vec::new();
        let mut keys: Vec<String> = Vec::new();
        for (name, schema) in value.as_object().into_iter().flatten() {
            let of_name: Vec<(&str, &Value)> = if keyword == "properties" {
                find(members, name).map(|value| (name.as_str(), value)).into_iter().collect()
            } else {
                let mut matching = Vec::new();
                for (key, value) in members {
                    if self.facts.matches(name, &Value::str(key.clone())).map_err(SchemaError)? {
                        matching.push((key.as_str(), *value));
                    }
                }
                matching
            };
            for (key, value) in of_name {
                let place = Place::Key(&here.place, key);
                outcomes.push(self.schema(&here.node(schema), Some(keyword), value, place)?);
                keys.push(key.to_owned());
            }
        }
        here.named.extend(keys.iter().cloned());
        let mut verdict = Verdict::all(outcomes);
        verdict.evaluated.keys.extend(keys);
        Ok(verdict)
    }

    fn other_members(
        &mut self,
        here: &Here<'s, '_>,
        keyword: &str,
        value: &'s Json,
        rest: Vec<&(String, &Value)>,
    ) -> Result<Verdict> {
        let mut outcomes = Vec::new();
        for (key, member) in &rest {
            let place = Place::Key(&here.place, key);
            outcomes.push(self.schema(&here.node(value), Some(keyword), member, place)?);
        }
        let mut verdict = Verdict::all(outcomes);
        verdict.evaluated.keys.extend(rest.into_iter().map(|(key, _)| key.clone()));
        Ok(verdict)
    }

    /// `dependentSchemas`, and the older `dependencies`, which also takes lists of required keys.
    fn dependent(
        &mut self,
        here: &Here<'s, '_>,
        keyword: &str,
        value: &'s Json,
        members: &[(String, &Value)],
    ) -> Result<Verdict> {
        let mut verdict = Verdict::of(true);
        for (key, needed) in value.as_object().into_iter().flatten() {
            if find(members, key).is_none() {
                continue;
            }
            if let Json::Array(names) = needed {
                verdict.valid &= names.iter().filter_map(Json::as_str).all(|name| find(members, name).is_some());
                continue;
            }
            let outcome = self.same(here, keyword, needed)?;
            verdict.valid &= outcome.valid;
            verdict.below.extend(outcome.violations);
            verdict.evaluated.join(outcome.evaluated);
        }
        Ok(verdict)
    }
}
