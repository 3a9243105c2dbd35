//! Generates the values of variables: keys, certificates and random values.
//!
//! Keys take nearly all of the time, and do not depend on one another: one thread for each core generates them. A value is
//! handed over as soon as it exists; a certificate exists when its key and the certificate of its authority do.

mod authority;
mod certificate;
mod keys;
mod progress;
mod random;
mod run;
mod signals;
mod workers;

use std::time::{SystemTime, UNIX_EPOCH};

use interpolation::Failure;
use variables::{Error, Generate, Keep, Order, Signer};

use crate::authority::Authority;
use crate::run::Run;
pub use crate::signals::end_by;

/// Generates values on all cores, and shows on standard error how far it is.
#[derive(Debug, Clone, Copy)]
pub struct Generator;

impl Generate for Generator {
    fn generate(&self, orders: &[Order], keep: &mut Keep) -> Result<(), Error> {
        Run::new(orders, existing(orders)?).generate(keep)
    }
}

/// The authorities that exist, each at the index of the order that it signs.
fn existing(orders: &[Order]) -> Result<Vec<Option<Authority>>, Error> {
    let mut failures = Vec::new();
    let mut read = |order: &Order| {
        let Signer::Existing { name, certificate, private_key } = &order.signer else { return None };
        let refused = |reason| {
            let message = format!("Generating variable '{}': Loading certificates", order.name);
            let cause = Some(format!("variable '{name}': {reason}"));
            failures.push(Failure { cause, ..Failure::new(message, order.origin) });
        };
        Authority::read(certificate, private_key).map_err(refused).ok()
    };
    let authorities = orders.iter().map(&mut read).collect();
    if failures.is_empty() { Ok(authorities) } else { Err(Error::Definitions(failures)) }
}

/// When a certificate expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    /// The time, in UTC, as RFC 3339 writes it.
    pub date: String,
    /// Seconds from now; negative if it has expired.
    pub seconds: i64,
}

/// When a certificate (PEM) expires; `None` for a text that is not one.
pub fn expiry(certificate: &str) -> Option<Expiry> {
    let end = authority::read(certificate)?.tbs_certificate().validity().not_after;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let seconds = end.to_unix_duration().as_secs().cast_signed() - now.cast_signed();
    Some(Expiry { date: end.to_string(), seconds })
}
