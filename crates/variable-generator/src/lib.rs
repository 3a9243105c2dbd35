//! Generates the values of variables: keys, certificates and random values, by the OpenSSL that the embedded Ruby has.
//!
//! Keys take nearly all of the time, and do not depend on one another: one process for each core generates them. Certificates
//! are signed afterwards, authorities first.

mod keys;
mod progress;
mod request;

use std::cell::Cell;

use go_yaml::{Node, Value};
use interpolation::Failure;
use problem::{Problem, Result};
use ruby::Vm;
use variables::{Error, Generate, Generation, Order, Signer};

/// Starts a VM when something is to be generated. For the main thread of a process that uses no VM otherwise.
#[derive(Debug, Clone, Copy)]
pub struct OwnVm;

/// Uses a VM that runs.
pub struct RunningVm<'a> {
    vm: &'a Vm,
    is_loaded: Cell<bool>,
}

impl<'a> RunningVm<'a> {
    /// A generator on this VM.
    pub fn new(vm: &'a Vm) -> RunningVm<'a> {
        RunningVm { vm, is_loaded: Cell::new(false) }
    }
}

impl Generation for OwnVm {
    fn run(
        &self,
        work: &mut (dyn FnMut(&dyn Generate) -> std::result::Result<(), Error> + Send),
    ) -> std::result::Result<(), Error> {
        Vm::beside(|vm| Ok(work(&RunningVm::new(vm))))?
    }
}

impl Generation for RunningVm<'_> {
    fn run(
        &self,
        work: &mut (dyn FnMut(&dyn Generate) -> std::result::Result<(), Error> + Send),
    ) -> std::result::Result<(), Error> {
        work(self)
    }
}

impl Generate for RunningVm<'_> {
    fn generate(&self, orders: &[Order]) -> std::result::Result<Vec<Node>, Error> {
        if !self.is_loaded.replace(true) {
            load(self.vm);
        }
        generate(self.vm, orders)
    }
}

/// When a certificate expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    /// The time, in UTC, as RFC 3339 writes it.
    pub date: String,
    /// Seconds from now; negative if it has expired.
    pub seconds: i64,
}

/// When certificates (PEM) expire; `None` for a text that is not one. Starts a VM, on the main thread.
///
/// # Errors
/// A VM that does not start.
pub fn expiry(certificates: &[&str]) -> Result<Vec<Option<Expiry>>> {
    if certificates.is_empty() {
        return Ok(Vec::new());
    }
    Vm::beside(|vm| {
        load(vm);
        let argument = value::Value::array(certificates.iter().map(|text| value::Value::str(*text)));
        let reply = vm.call("expiry", argument).map_err(|e| e.internal("read certificates"))?;
        let expiry = |value: &value::Value| match value.as_array()? {
            [date, seconds] => Some(Expiry { date: date.as_str()?.to_owned(), seconds: seconds.as_int()? }),
            _ => None,
        };
        Ok(reply.as_array().unwrap_or_default().iter().map(expiry).collect())
    })
}

fn load(vm: &Vm) {
    vm.add_archive(ruby::archive!());
    vm.load_source("generator", include_str!("../ruby/generator.rb"));
}

fn generate(vm: &Vm, orders: &[Order]) -> std::result::Result<Vec<Node>, Error> {
    check_signers(vm, orders)?;
    let keys = keys::generate(vm, orders)?;
    let request = orders.iter().zip(keys).map(|(order, key)| request::of(order, key));
    let reply = vm.call("values", value::Value::array(request)).map_err(|e| e.internal("generate variables"))?;
    let values: Option<Vec<Node>> = reply.as_array().unwrap_or_default().iter().map(node).collect();
    match values {
        Some(values) if values.len() == orders.len() => Ok(values),
        _ => Err(Problem::internal("the embedded Ruby generated other values than requested").into()),
    }
}

/// Before any key is generated.
fn check_signers(vm: &Vm, orders: &[Order]) -> std::result::Result<(), Error> {
    let existing = orders.iter().filter_map(|order| match &order.signer {
        Signer::Existing { name, certificate, private_key } => Some((order, name, certificate, private_key)),
        _ => None,
    });
    let existing: Vec<_> = existing.collect();
    if existing.is_empty() {
        return Ok(());
    }
    let texts = |(_, _, certificate, key): &(_, _, &String, &String)| {
        value::Value::array([value::Value::str(certificate.as_str()), value::Value::str(key.as_str())])
    };
    let argument = value::Value::array(existing.iter().map(texts));
    let reply = vm.call("signers", argument).map_err(|e| e.internal("check certificate authorities"))?;
    let reasons = reply.as_array().unwrap_or_default();
    let failures: Vec<Failure> = existing
        .iter()
        .zip(reasons)
        .filter_map(|((order, name, ..), reason)| {
            let message = format!("Generating variable '{}': Loading certificates", order.name);
            let cause = Some(format!("variable '{name}': {}", reason.as_str()?));
            Some(Failure { cause, ..Failure::new(message, order.origin) })
        })
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(Error::Definitions(failures)) }
}

/// A value as the store has it: a string, or a map of strings.
fn node(value: &value::Value) -> Option<Node> {
    let text = |value: &value::Value| Some(Node::new(Value::String(value.as_str()?.to_owned())));
    let Some(map) = value.as_map() else { return text(value) };
    let entries = map.iter().map(|(key, value)| Some((go_yaml::Key::String(key.as_str()?.to_owned()), text(value)?)));
    Some(Node::new(Value::Map(entries.collect::<Option<_>>()?)))
}
