//! One generation: keys from the workers, values made of them, authorities before what they sign.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use go_yaml::{Key, Node, Value};
use interpolation::Failure;
use problem::Problem;
use rsa::PrivateKey;
use variables::{Certificate, Error, Keep, Order, Signer, Specification};

use crate::authority::Authority;
use crate::progress::Progress;
use crate::signals::Signals;
use crate::workers::{Event, Task, Workers};
use crate::{certificate, keys, random};

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(100);

/// What is generated, and what of it exists.
pub(crate) struct Run<'a> {
    orders: &'a [Order],
    /// The authorities that existed before, by the index of the order that they sign.
    existing: Vec<Option<Authority>>,
    /// The orders that sign others.
    signing: BTreeSet<usize>,
    /// Authorities that were generated, by the index of their order.
    generated: BTreeMap<usize, Authority>,
    /// Keys of certificates that wait for the authority with this index.
    waiting: BTreeMap<usize, Vec<(usize, PrivateKey)>>,
    /// Values that have not been handed over yet.
    ready: Vec<(usize, Node)>,
    failures: Vec<Failure>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(orders: &'a [Order], existing: Vec<Option<Authority>>) -> Run<'a> {
        let signing = orders.iter().filter_map(|order| match order.signer {
            Signer::Ordered(index) => Some(index),
            _ => None,
        });
        Run {
            orders,
            existing,
            signing: signing.collect(),
            generated: BTreeMap::new(),
            waiting: BTreeMap::new(),
            ready: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Generates all values, and passes them to `keep`.
    pub(crate) fn generate(mut self, keep: &mut Keep) -> Result<(), Error> {
        let signals = Signals::hold()?;
        let tasks = self.tasks();
        let mut progress = Progress::start(self.orders.len(), tasks.len());
        let mut left = tasks.len();
        let workers = Workers::start(tasks)?;
        for (index, order) in self.orders.iter().enumerate() {
            match random_value(&order.specification) {
                Some(Ok(value)) => self.ready.push((index, value)),
                Some(Err(cause)) => self.fail(index, cause),
                None => {}
            }
        }
        self.pass_on(keep, &mut progress)?;
        while left > 0 {
            let mut event = match workers.events.recv_timeout(TICK) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Problem::internal("a thread that generates keys ended early").into());
                }
            };
            // Those that exist by now are written together.
            while let Some(found) = event {
                left -= usize::from(self.take(found, &mut progress));
                event = workers.events.try_recv().ok();
            }
            self.pass_on(keep, &mut progress)?;
            if let Some(signal) = signals.received() {
                return Err(Error::Interrupted { signal });
            }
        }
        if self.failures.is_empty() { Ok(()) } else { Err(Error::Definitions(self.failures)) }
    }

    /// Authorities first, because others wait for them; then the longest keys, so that no thread is left with one at the end.
    fn tasks(&self) -> Vec<Task> {
        let task =
            |(order, specification): (usize, &Specification)| Some(Task { order, bits: specification.key_length()? });
        let specifications = self.orders.iter().map(|order| &order.specification);
        let mut tasks: Vec<Task> = specifications.enumerate().filter_map(task).collect();
        tasks.sort_by_key(|task| (!self.signing.contains(&task.order), std::cmp::Reverse(task.bits)));
        tasks
    }

    /// Takes what a worker reports; returns whether it is done with a key.
    fn take(&mut self, event: Event, progress: &mut Progress) -> bool {
        let name = |index: usize| self.orders.get(index).map_or("", |order| order.name.as_str());
        match event {
            Event::Started(index) => {
                progress.started(name(index));
                false
            }
            Event::Done(index, key) => {
                progress.ended(name(index));
                match key {
                    Ok(key) => self.use_key(index, *key),
                    Err(cause) => self.fail(index, cause),
                }
                true
            }
        }
    }

    /// Makes the value of a key, and of all keys that have waited for it.
    fn use_key(&mut self, index: usize, key: PrivateKey) {
        let mut keys = vec![(index, key)];
        while let Some((index, key)) = keys.pop() {
            let Some(order) = self.orders.get(index) else { continue };
            let value = match (&order.specification, &order.signer) {
                (Specification::Certificate(_), Signer::Ordered(signer)) if !self.generated.contains_key(signer) => {
                    self.waiting.entry(*signer).or_default().push((index, key));
                    continue;
                }
                (Specification::Certificate(specification), signer) => {
                    self.certificate(index, specification, signer, &key)
                }
                (Specification::Ssh(_, comment), _) => ssh(&key, comment.as_deref()),
                _ => rsa(&key),
            };
            match value {
                Ok(value) => self.ready.push((index, value)),
                Err(cause) => self.fail(index, cause),
            }
            keys.extend(self.waiting.remove(&index).unwrap_or_default());
        }
    }

    fn certificate(
        &mut self,
        index: usize,
        specification: &Certificate,
        signer: &Signer,
        key: &PrivateKey,
    ) -> Result<Node, String> {
        let authority = match signer {
            Signer::Itself => None,
            Signer::Ordered(signer) => self.generated.get(signer),
            Signer::Existing { .. } => self.existing.get(index).and_then(Option::as_ref),
        };
        let certificate = certificate::generate(specification, key, authority)?;
        let ca = authority.map_or(&certificate.pem, |authority| &authority.pem).clone();
        let value = map([("certificate", certificate.pem.clone()), ("private_key", keys::private(key)?), ("ca", ca)]);
        if self.signing.contains(&index) {
            self.generated.insert(index, certificate);
        }
        Ok(value)
    }

    /// Reports a value that cannot be generated. What it would have signed is not generated either.
    fn fail(&mut self, index: usize, cause: String) {
        if let Some(order) = self.orders.get(index) {
            let message = format!("Generating variable '{}'", order.name);
            self.failures.push(Failure { cause: Some(cause), ..Failure::new(message, order.origin) });
        }
    }

    /// Passes on what is ready, and then reports it.
    fn pass_on(&mut self, keep: &mut Keep, progress: &mut Progress) -> Result<(), Error> {
        if self.ready.is_empty() {
            return Ok(());
        }
        let ready = std::mem::take(&mut self.ready);
        let orders: Vec<&Order> = ready.iter().filter_map(|(index, _)| self.orders.get(*index)).collect();
        keep(ready)?;
        for order in orders.iter().filter(|order| order.specification.key_length().is_some()) {
            progress.kept(&order.name);
        }
        Ok(())
    }
}

/// The value of a type without a key.
fn random_value(specification: &Specification) -> Option<Result<Node, String>> {
    match specification {
        Specification::Password(password) => Some(random::password(password).map(text)),
        Specification::User(user) => {
            Some(random::user(user).map(|[name, password, hash]| {
                map([("username", name), ("password", password), ("password_hash", hash)])
            }))
        }
        _ => None,
    }
}

fn rsa(key: &PrivateKey) -> Result<Node, String> {
    Ok(map([("private_key", keys::private(key)?), ("public_key", keys::public(key)?)]))
}

fn ssh(key: &PrivateKey, comment: Option<&str>) -> Result<Node, String> {
    let (public, fingerprint) = keys::ssh(key, comment);
    let private = keys::private(key)?;
    Ok(map([("private_key", private), ("public_key", public), ("public_key_fingerprint", fingerprint)]))
}

fn text(text: String) -> Node {
    Node::new(Value::String(text))
}

fn map<const N: usize>(fields: [(&str, String); N]) -> Node {
    let fields = fields.into_iter().map(|(name, value)| (Key::String(name.to_owned()), text(value)));
    Node::new(Value::Map(fields.collect()))
}
