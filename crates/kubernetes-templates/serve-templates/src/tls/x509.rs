//! What is read of an X.509 certificate: the common name of its subject, and when its validity ends.

use std::time::SystemTime;

use x509_cert::Certificate;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode, Tag, Tagged};

/// The parts of a certificate that are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The last common name of the subject, as the API server has it; empty if the subject has none.
    pub(crate) common_name: String,
    /// The end of the validity.
    pub(crate) not_after: SystemTime,
}

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// The types of text whose bytes are UTF-8.
const TEXTS: [Tag; 3] = [Tag::Utf8String, Tag::PrintableString, Tag::Ia5String];

/// The parts of a certificate in DER; nothing if it is not one.
pub(crate) fn parts(certificate: &[u8]) -> Option<Parts> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let certificate = certificate.tbs_certificate();
    let names = certificate.subject().iter().filter(|attribute| attribute.oid == COMMON_NAME);
    let last = names.map(|attribute| &attribute.value).filter(|value| TEXTS.contains(&value.tag())).last();
    let common_name = last.map_or(Some(""), |value| std::str::from_utf8(value.value()).ok())?.to_owned();
    Some(Parts { common_name, not_after: certificate.validity().not_after.to_system_time() })
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    #[test]
    fn certificates_have_a_name_and_an_end() {
        let mut params = CertificateParams::new(vec!["x".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::OrganizationName, "o");
        params.distinguished_name.push(DnType::CommonName, "front-proxy-client");
        for (year, seconds) in [(2049, 2_493_072_000), (2051, 2_556_144_000)] {
            params.not_after = rcgen::date_time_ymd(year, 1, 1);
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let parts = parts(certificate.der()).unwrap();
            assert_eq!(parts.common_name, "front-proxy-client");
            assert_eq!(parts.not_after.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(), seconds);
            // No prefix of it is one.
            let der = certificate.der().to_vec();
            assert!((0..der.len()).all(|length| super::parts(&der[..length]).is_none()));
        }
    }
}
