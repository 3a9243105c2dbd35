//! Which variables a run generates, and in which order.

use std::collections::{BTreeMap, BTreeSet};

use go_yaml::{Node, Value};
use interpolation::{Definition, Failure, Sources, references, referred, replaced};
use problem::did_you_mean;

use crate::graph::sorted;
use crate::links::LinkNames;
use crate::order::{Error, Generate, Order, Signer};
use crate::rotation::{first, with};
use crate::specification::Specification;
use crate::store::{Record, Rotation, Store};

/// Writes a store.
pub type Save<'a> = dyn FnMut(&Store) -> problem::Result<()> + 'a;

/// What a run has generated.
#[derive(Debug, Default)]
pub struct Completed {
    /// The variables that have new values.
    pub generated: Vec<String>,
    /// Definitions that do not fit the values that are kept.
    pub warnings: Vec<Failure>,
}

/// Generates the values of definitions that have none, in `store` and `sources`; `links` are the names of certificates that come
/// from links. A definition stays without a value if one of its options refers to a variable that has none. `save` gets the
/// store whenever it has new values, also those of a run that fails later.
///
/// # Errors
/// All mistakes in definitions, before anything is generated that depends on them; failures of the generator and of `save`.
pub fn complete(
    definitions: &[Definition],
    sources: &mut Sources,
    store: &mut Store,
    links: &LinkNames,
    generator: &dyn Generate,
    save: &mut Save,
) -> Result<Completed, Error> {
    sources.set_store(store.values().clone());
    let done = Completed::default();
    let (without, signed) = (BTreeSet::new(), Vec::new());
    let mut run = Run { sources, store, links, generator, save, done, without, signed };
    let mut pending = run.candidates(definitions)?;
    while !pending.is_empty() {
        let (ready, rest) = run.ready(pending)?;
        run.decide_and_generate(ready)?;
        pending = rest;
    }
    run.refresh()?;
    let defined: BTreeSet<&str> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    let rotated = run.store.marked().chain(run.store.rotated_authorities());
    for name in rotated.filter(|name| !defined.contains(name)) {
        let message = format!("variable '{name}' is to be rotated, but the manifest does not define it");
        run.done.warnings.push(Failure::new(message, go_yaml::Origin::default()));
    }
    Ok(run.done)
}

/// Whether [`complete()`] may change something: a variable has no value, is marked, or has an `update_mode` that replaces values; an
/// authority is being rotated, or was, and certificates have not been told.
pub fn may_generate<'d>(
    definitions: impl IntoIterator<Item = &'d Definition>,
    sources: &Sources,
    store: &Store,
) -> bool {
    definitions.into_iter().filter(|definition| definition.kind.is_some()).any(|definition| {
        let name = &definition.name;
        let is_rotated = store.is_marked(name) || store.is_rotating(name);
        let keeps = matches!(mode(definition), Ok(Mode::NoOverwrite)) && !is_rotated;
        sources.given(name).is_none() && (store.get(name).is_none() || !keeps)
    })
}

/// How many certificates of a cycle are shown.
const SHOWN: usize = 10;

/// The settings of certificates that may come from links.
const FROM_LINKS: [&str; 2] = ["alternative_names", "common_name"];

/// `update_mode`.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    NoOverwrite,
    Converge,
    Overwrite,
}

/// A definition whose value belongs in the store.
struct Candidate<'a> {
    definition: &'a Definition,
    kind: &'a str,
    mode: Mode,
    /// The variables that its options refer to.
    needs: BTreeSet<String>,
}

/// A candidate whose options have no references any more.
struct Ready<'a> {
    definition: &'a Definition,
    kind: &'a str,
    mode: Mode,
    specification: Specification,
}

impl Ready<'_> {
    fn ca(&self) -> Option<&str> {
        match &self.specification {
            Specification::Certificate(certificate) => certificate.ca.as_deref(),
            _ => None,
        }
    }
}

struct Run<'a> {
    sources: &'a mut Sources,
    store: &'a mut Store,
    links: &'a LinkNames,
    generator: &'a dyn Generate,
    save: &'a mut Save<'a>,
    done: Completed,
    /// Definitions that stay without a value.
    without: BTreeSet<String>,
    /// Certificates and their authorities.
    signed: Vec<(String, String)>,
}

impl Run<'_> {
    /// The definitions with a type that no other source gives a value.
    fn candidates<'d>(&self, definitions: &'d [Definition]) -> Result<Vec<Candidate<'d>>, Vec<Failure>> {
        let (mut candidates, mut failures) = (Vec::new(), Vec::new());
        for definition in definitions {
            let Some(kind) = definition.kind.as_deref() else { continue };
            if self.sources.given(&definition.name).is_some() {
                continue;
            }
            if references(&definition.name).next().is_some() {
                let message =
                    format!("Variable name '{}' must not contain references: it is not replaced", definition.name);
                failures.push(Failure::new(message, definition.origin));
            }
            if definition.name.contains('.') {
                let message =
                    format!("Variable name '{}' must not contain dots: no reference finds it", definition.name);
                failures.push(Failure::new(message, definition.origin));
            }
            let mut needs = BTreeSet::new();
            definition.options.iter().for_each(|options| referred(options, &mut needs));
            match mode(definition) {
                Ok(mode) => candidates.push(Candidate { definition, kind, mode, needs }),
                Err(failure) => failures.push(failure),
            }
        }
        if failures.is_empty() { Ok(candidates) } else { Err(failures) }
    }

    /// Divides candidates into those whose options are known by now, and those that wait for others.
    fn ready<'d>(&mut self, pending: Vec<Candidate<'d>>) -> Result<(Vec<Ready<'d>>, Vec<Candidate<'d>>), Vec<Failure>> {
        let before = pending.len();
        let names: BTreeSet<&str> = pending.iter().map(|candidate| candidate.definition.name.as_str()).collect();
        let (mut rest, mut ready, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        for candidate in pending {
            if candidate.needs.iter().any(|name| names.contains(name.as_str())) {
                rest.push(candidate);
                continue;
            }
            match self.specification(&candidate) {
                Ok(Some(specification)) => {
                    let Candidate { definition, kind, mode, .. } = candidate;
                    ready.push((Ready { definition, kind, mode, specification }, candidate.needs));
                }
                Ok(None) => drop(self.without.insert(candidate.definition.name.clone())),
                Err(found) if self.keeps(&candidate) => self.done.warnings.extend(found),
                Err(found) => failures.extend(found),
            }
        }
        if !failures.is_empty() {
            return Err(failures);
        }
        let ready = self.with_signers(ready, &mut rest);
        if rest.len() == before { Err(recursion(&rest)) } else { Ok((ready, rest)) }
    }

    /// Moves certificates whose authority waits to those that wait; those whose authority stays without a value do so, too.
    fn with_signers<'d>(
        &mut self,
        mut ready: Vec<(Ready<'d>, BTreeSet<String>)>,
        rest: &mut Vec<Candidate<'d>>,
    ) -> Vec<Ready<'d>> {
        loop {
            let waiting: BTreeSet<String> = rest.iter().map(|candidate| candidate.definition.name.clone()).collect();
            let before = ready.len();
            let mut kept = Vec::new();
            for (item, needs) in ready {
                match item.ca() {
                    Some(ca) if self.without.contains(ca) => drop(self.without.insert(item.definition.name.clone())),
                    Some(ca) if waiting.contains(ca) => {
                        let Ready { definition, kind, mode, .. } = item;
                        rest.push(Candidate { definition, kind, mode, needs });
                    }
                    _ => kept.push((item, needs)),
                }
            }
            ready = kept;
            if ready.len() == before {
                return ready.into_iter().map(|(item, _)| item).collect();
            }
        }
    }

    /// The specification of a definition; `None` if an option refers to a variable without a value.
    fn specification(&self, candidate: &Candidate) -> Result<Option<Specification>, Vec<Failure>> {
        let definition = candidate.definition;
        let options = match definition.options.clone().map(|options| replaced(options, self.sources)).transpose()? {
            Some((_, missing)) if !missing.is_empty() => return Ok(None),
            Some((options, _)) => Some(options),
            None => None,
        };
        let names = self.links.of_variable(&definition.name);
        Specification::of(definition, candidate.kind, options.as_ref(), names).map(Some)
    }

    /// Whether a definition's value stays, whatever its options are.
    fn keeps(&self, candidate: &Candidate) -> bool {
        let name = &candidate.definition.name;
        candidate.mode == Mode::NoOverwrite && self.store.get(name).is_some() && !self.store.is_marked(name)
    }

    fn decide_and_generate(&mut self, ready: Vec<Ready>) -> Result<(), Error> {
        let mut index: BTreeMap<&str, usize> = BTreeMap::new();
        index.extend(ready.iter().enumerate().map(|(i, item)| (item.definition.name.as_str(), i)));
        let parents: Vec<Option<usize>> = ready.iter().map(|item| index.get(item.ca()?).copied()).collect();
        let signed = parents.iter().enumerate().filter_map(|(i, parent)| Some((i, (*parent)?)));
        let mut failures: Vec<Failure> =
            signed.filter_map(|(i, parent)| cannot_sign(&ready[i], &ready[parent])).collect();
        let order = sorted(&parents).unwrap_or_else(|cycles| {
            failures.extend(cycles.iter().map(|cycle| cycle_of_authorities(&ready, cycle)));
            // To find what is wrong with the others, too.
            (0..ready.len()).filter(|i| parents[*i].is_none()).collect()
        });
        let mut failed = BTreeSet::new();
        let mut orders: Vec<Order> = Vec::new();
        let mut ordered: BTreeMap<&str, usize> = BTreeMap::new();
        let mut records = Vec::new();
        for i in order {
            let item = &ready[i];
            let name = item.definition.name.as_str();
            if parents[i].is_some_and(|parent| failed.contains(&parent)) {
                failed.insert(i);
                continue;
            }
            let record = Record::new(item.kind, &item.specification);
            self.signed.extend(item.ca().map(|ca| (name.to_owned(), ca.to_owned())));
            if !self.generates(item, &record, &ordered) {
                continue;
            }
            if self.links.lacks(item.definition) {
                self.warn_of_links(item);
            }
            match self.signer(item, &ordered) {
                Ok(signer) => {
                    // An authority that is only trusted for now signs nothing.
                    if !self.is_to_be_trusted(item) {
                        ordered.insert(name, orders.len());
                    }
                    let (origin, specification) = (item.definition.origin, item.specification.clone());
                    orders.push(Order { name: name.to_owned(), origin, specification, signer });
                    records.push(record);
                }
                Err(failure) => {
                    failed.insert(i);
                    failures.push(failure);
                }
            }
        }
        if !failures.is_empty() {
            return Err(failures.into());
        }
        if orders.is_empty() {
            return Ok(());
        }
        let expected: Vec<(&Order, Record)> = orders.iter().zip(records).collect();
        let trusted: BTreeSet<&str> =
            ready.iter().filter(|item| self.is_to_be_trusted(item)).map(|item| item.definition.name.as_str()).collect();
        self.generator.generate(&orders, &mut |values| {
            for (index, value) in values {
                let Some((order, record)) = expected.get(index) else { continue };
                if trusted.contains(order.name.as_str()) {
                    self.store.trust(&order.name, &value);
                } else {
                    let value = of_rotated(self.store, &order.signer, value);
                    self.store.set(&order.name, value, record.clone());
                }
                let value = self.store.get(&order.name).cloned();
                value.into_iter().for_each(|value| self.sources.set_store_value(&order.name, value));
            }
            (self.save)(self.store)
        })?;
        self.done.generated.extend(orders.into_iter().map(|order| order.name));
        Ok(())
    }

    /// Whether a value is generated; reports what does not fit a value that is kept.
    fn generates(&mut self, item: &Ready, record: &Record, ordered: &BTreeMap<&str, usize>) -> bool {
        let name = &item.definition.name;
        let Some(value) = self.store.get(name) else { return true };
        if item.mode == Mode::Overwrite || self.store.is_marked(name) || self.is_to_be_trusted(item) {
            return true;
        }
        let mut changed = self.store.record(name).map(|known| known.differences(record)).unwrap_or_default();
        if self.links.lacks(item.definition) {
            changed.retain(|setting| !FROM_LINKS.contains(&setting.as_str()));
        }
        let is_of_other_ca = item.ca().is_some_and(|ca| ordered.contains_key(ca) || !self.has_signed(ca, value));
        if changed.is_empty() && !is_of_other_ca {
            return false;
        }
        let is_ca = matches!(&item.specification, Specification::Certificate(certificate) if certificate.is_ca);
        if is_of_other_ca && !is_ca && item.ca().is_some_and(|ca| self.store.rotation(ca) == Some(&Rotation::Signing)) {
            return true;
        }
        if item.mode == Mode::Converge {
            return true;
        }
        if !changed.is_empty() {
            let changed = changed.join(", ");
            let message =
                format!("the definition of variable '{name}' has changed since its value was generated: {changed}");
            self.warn(item, message);
        }
        if is_of_other_ca {
            let ca = item.ca().unwrap_or_default();
            self.warn(item, format!("the certificate of variable '{name}' was signed by an earlier value of '{ca}'"));
        }
        false
    }

    /// Whether an authority that exists is generated to be trusted beside the present one.
    fn is_to_be_trusted(&self, item: &Ready) -> bool {
        let name = &item.definition.name;
        let is_replaced = item.mode == Mode::Overwrite || self.store.is_marked(name) || self.store.get(name).is_none();
        !is_replaced && self.store.rotation(name) == Some(&Rotation::Wanted)
    }

    /// Gives certificates whose authority is being rotated, or was, its present certificates.
    fn refresh(&mut self) -> problem::Result<()> {
        let mut is_changed = false;
        for (name, ca) in std::mem::take(&mut self.signed) {
            if let Some(value) = self.store.refresh(&name, &ca) {
                self.sources.set_store_value(&name, value);
                is_changed = true;
            }
        }
        if is_changed { (self.save)(self.store) } else { Ok(()) }
    }

    /// Whether the value has the authority's present certificate as its own authority; also if either is not a certificate.
    /// Of an authority that is being rotated, the certificate of the key counts.
    fn has_signed(&self, ca: &str, value: &Node) -> bool {
        let text = |node: Option<&Node>, key: &str| Some(first(node?.get(key)?.as_str()?).to_owned());
        match (text(self.sources.get(ca), "certificate"), text(Some(value), "ca")) {
            (Some(present), Some(signed_by)) => present == signed_by,
            _ => true,
        }
    }

    fn warn(&mut self, item: &Ready, message: String) {
        let name = &item.definition.name;
        let mut failure = Failure::new(message, item.definition.origin);
        failure.hint = Some(format!(
            "the value is kept; `update_mode: converge` in the definition, or `boson variables rotate {name}`, replaces it"
        ));
        self.done.warnings.push(failure);
    }

    fn warn_of_links(&mut self, item: &Ready) {
        let message = format!(
            "the certificate of variable '{}' lacks the names of the links that it consumes: links are known only when a \
             deployment is planned",
            item.definition.name
        );
        let mut failure = Failure::new(message, item.definition.origin);
        failure.hint = Some("let `boson plan --vars-store` or `boson up` generate it".to_owned());
        self.done.warnings.push(failure);
    }

    fn signer(&self, item: &Ready, ordered: &BTreeMap<&str, usize>) -> Result<Signer, Failure> {
        let Some(ca) = item.ca() else { return Ok(Signer::Itself) };
        if let Some(index) = ordered.get(ca) {
            return Ok(Signer::Ordered(*index));
        }
        let failed = |cause: String| loading(item, cause);
        let Some(value) = self.sources.get(ca) else {
            let mut failure = failed(format!("Expected to find variable '{ca}' with a certificate"));
            let names = self.sources.names();
            failure.hint =
                did_you_mean(ca, names.iter().map(String::as_str)).map(|name| format!("did you mean '{name}'?"));
            return Err(failure);
        };
        let part = |key: &str, what: &str| match value.get(key).map(|node| &node.value) {
            Some(Value::String(text)) if text.contains("-----BEGIN ") => Ok(text.clone()),
            Some(_) => Err(failed(format!("{what} of variable '{ca}' did not contain PEM formatted block"))),
            None => Err(failed(format!("Expected to find variable '{ca}' with a certificate and its private key"))),
        };
        let (certificate, private_key) = (part("certificate", "Certificate")?, part("private_key", "Private key")?);
        Ok(Signer::Existing { name: ca.to_owned(), certificate, private_key })
    }
}

/// A new certificate with all certificates of its authority: there is more than one while it is being rotated.
fn of_rotated(store: &Store, signer: &Signer, value: Node) -> Node {
    match signer {
        Signer::Existing { name, certificate, .. } if store.rotation(name).is_some() => {
            with(&value, &[("ca", certificate)])
        }
        _ => value,
    }
}

fn mode(definition: &Definition) -> Result<Mode, Failure> {
    const MODES: [&str; 3] = ["no-overwrite", "overwrite", "converge"];
    let Some(node) = &definition.update_mode else { return Ok(Mode::NoOverwrite) };
    match node.as_str() {
        Some("no-overwrite") => Ok(Mode::NoOverwrite),
        Some("overwrite") => Ok(Mode::Overwrite),
        Some("converge") => Ok(Mode::Converge),
        other => {
            let message = format!("Variable '{}' has an unknown update_mode", definition.name);
            let mut failure = Failure::new(message, node.origin);
            failure.hint = Some(match other.and_then(|mode| did_you_mean(mode, MODES)) {
                Some(similar) => format!("did you mean '{similar}'?"),
                None => format!("the modes are: {}", MODES.join(", ")),
            });
            Err(failure)
        }
    }
}

/// Why the one cannot be signed by the other, which is defined as well.
fn cannot_sign(item: &Ready, authority: &Ready) -> Option<Failure> {
    let name = &authority.definition.name;
    match &authority.specification {
        Specification::Certificate(certificate) if certificate.is_ca => None,
        Specification::Certificate(_) => {
            let mut failure = loading(item, format!("Variable '{name}' is not a certificate authority"));
            failure.hint = Some(format!("set `is_ca: true` in the options of '{name}'"));
            Some(failure)
        }
        _ => Some(loading(item, format!("Variable '{name}' is not a certificate, but of the type {}", authority.kind))),
    }
}

fn loading(item: &Ready, cause: String) -> Failure {
    let message = format!("Generating variable '{}': Loading certificates", item.definition.name);
    let origin = item.definition.options.as_ref().and_then(|options| options.get("ca"));
    let origin = origin.map_or(item.definition.origin, |node| node.origin);
    Failure { cause: Some(cause), ..Failure::new(message, origin) }
}

fn cycle_of_authorities(ready: &[Ready], cycle: &[usize]) -> Failure {
    let name = |i: &usize| ready[*i].definition.name.as_str();
    let mut names: Vec<&str> = cycle.iter().map(name).take(SHOWN).collect();
    let rest = match cycle.len() {
        count if count > SHOWN => format!(", and so on ({count} certificates)"),
        _ => String::new(),
    };
    names.extend(cycle.first().filter(|_| rest.is_empty()).map(name));
    loading(&ready[cycle[0]], format!("Detected recursion: {}{rest}", names.join(" is signed by ")))
}

/// Definitions whose options refer to one another.
fn recursion(pending: &[Candidate]) -> Vec<Failure> {
    let names: BTreeSet<&str> = pending.iter().map(|candidate| candidate.definition.name.as_str()).collect();
    let failure = |candidate: &Candidate| {
        // What waits for its authority alone is not to blame.
        let other = candidate.needs.iter().find(|needed| names.contains(needed.as_str()))?;
        Some(Failure::recursion(&candidate.definition.name, other, candidate.definition.origin))
    };
    pending.iter().filter_map(failure).collect()
}
