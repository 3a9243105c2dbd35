//! Certificates of variables that have expired, or soon will.

use manifest_inputs::Certificate;
use problem::{Problem, Problems, Result, code};

const DAY: i64 = 24 * 60 * 60;
/// From this many days before it expires, a certificate is reported.
const REPORTED_DAYS: i64 = 30;

/// Warns of certificates that expire soon, and refuses those that have expired, unless they are allowed: then it warns of them.
/// With `strict`, it refuses those that expire soon, too.
///
/// # Errors
/// Every certificate that is refused.
pub(crate) fn check(certificates: &[Certificate], allow_expired: bool, strict: bool) -> Result<()> {
    let mut problems = Vec::new();
    for certificate in certificates.iter().filter(|certificate| certificate.expiry.seconds < REPORTED_DAYS * DAY) {
        let message = message(certificate);
        let (hint, has_expired) = (hint(certificate), certificate.expiry.seconds <= 0);
        let problem = || Problem::input(message.clone()).code(code::INPUT_INVALID);
        match (has_expired, allow_expired, strict) {
            (true, false, _) => problems.push(problem().hint(format!("{hint}; --allow-expired uses it as it is"))),
            (false, _, true) => problems.push(problem().hint(hint)),
            _ => tracing::warn!("{message}\n  hint: {hint}"),
        }
    }
    Problems::check(problems)
}

fn message(certificate: &Certificate) -> String {
    let (name, date) = (&certificate.name, &certificate.expiry.date);
    match certificate.expiry.seconds {
        ..=0 => format!("the certificate '{name}' expired on {date}"),
        seconds if seconds < DAY => format!("the certificate '{name}' expires within a day, on {date}"),
        seconds if seconds < 2 * DAY => format!("the certificate '{name}' expires in 1 day, on {date}"),
        seconds => format!("the certificate '{name}' expires in {} days, on {date}", seconds / DAY),
    }
}

fn hint(certificate: &Certificate) -> String {
    if certificate.is_generated {
        format!("after `boson variables rotate {}`, `boson up` generates it anew", certificate.name)
    } else {
        "give another one where its value comes from".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use manifest_inputs::Expiry;

    use super::*;

    fn certificate(seconds: i64, is_generated: bool) -> Certificate {
        let expiry = Expiry { date: "2026-01-02T03:04:05Z".to_owned(), seconds };
        Certificate { name: "tls".to_owned(), expiry, is_generated }
    }

    #[test]
    fn expired_certificates_are_refused_unless_they_are_allowed() {
        let all = [certificate(0, true), certificate(-5, false), certificate(1, true)];
        let expected = "error: the certificate 'tls' expired on 2026-01-02T03:04:05Z
  hint: after `boson variables rotate tls`, `boson up` generates it anew; --allow-expired uses it as it is
error: the certificate 'tls' expired on 2026-01-02T03:04:05Z
  hint: give another one where its value comes from; --allow-expired uses it as it is";
        assert_eq!(check(&all, false, false).unwrap_err().to_string(), expected);
        assert_eq!(check(&all, true, false), Ok(()));
        assert_eq!(check(&all, true, true).unwrap_err().iter().count(), 1);
        assert_eq!(check(&[certificate(1, true), certificate(400 * DAY, true)], false, false), Ok(()));
    }

    #[test]
    fn the_time_that_is_left_is_shown_in_days() {
        for (seconds, shown) in
            [(1, "within a day"), (DAY, "in 1 day"), (3 * DAY - 1, "in 2 days"), (30 * DAY - 1, "in 29 days")]
        {
            let expected = format!("the certificate 'tls' expires {shown}, on 2026-01-02T03:04:05Z");
            assert_eq!(message(&certificate(seconds, true)), expected);
        }
    }
}
