//! Certificates: an authority of the server's own, and the server certificates that it issues.

use std::time::{Duration, SystemTime};

use problem::{Problem, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use super::{provider, x509};

/// How long an authority is valid.
const AUTHORITY: Duration = Duration::from_secs(365 * 24 * 3_600);
/// How long a server certificate is valid.
const SERVER: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Clocks may differ by this much.
const EARLIER: Duration = Duration::from_secs(3_600);

/// An authority: a certificate and its key, in PEM.
#[derive(Clone)]
pub(crate) struct Authority {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// A server certificate, and when another one is due.
pub(crate) struct Issued {
    pub(crate) key: CertifiedKey,
    pub(crate) renewed_at: SystemTime,
}

impl Authority {
    /// A new authority.
    ///
    /// # Errors
    /// If the kernel has no random bytes.
    pub(crate) fn new(name: &str, now: SystemTime) -> Result<Authority> {
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = params(vec![], now, now + AUTHORITY)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        // Two authorities of one name would be confused; the end of the validity is another one.
        let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        params.distinguished_name = common_name(&format!("{name} authority {seconds}"));
        let certificate = params.self_signed(&key).map_err(failed)?;
        Ok(Authority { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// When another authority is due: a third of the validity is left, and nothing after its end.
    ///
    /// # Errors
    /// If the certificate cannot be read.
    pub(crate) fn renewed_at(&self) -> Result<SystemTime> {
        Ok(self.parts()?.not_after - AUTHORITY / 3)
    }

    fn parts(&self) -> Result<x509::Parts> {
        let der = CertificateDer::from_pem_slice(self.certificate.as_bytes()).ok();
        let parts = der.and_then(|der| x509::parts(&der));
        parts.ok_or_else(|| Problem::internal("the certificate of the authority cannot be read").into())
    }

    /// A server certificate for these names, with a new key. It is not valid longer than the authority.
    ///
    /// # Errors
    /// If certificate and key of the authority cannot be used.
    pub(crate) fn issue(&self, names: &[String], now: SystemTime) -> Result<Issued> {
        let parts = self.parts()?;
        let key = KeyPair::from_pem(&self.key).map_err(failed)?;
        let mut issuer = params(vec![], now, now)?;
        issuer.distinguished_name = common_name(&parts.common_name);
        let issuer = Issuer::new(issuer, key);
        let end = parts.not_after.min(now + SERVER);
        let mut params = params(names.to_vec(), now, end)?;
        params.distinguished_name = common_name(names.first().map_or("", String::as_str));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let own = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&own, &issuer).map_err(failed)?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.serialize_der()));
        let key = CertifiedKey::from_der(vec![certificate.der().clone()], der, &provider()).map_err(failed)?;
        let left = end.duration_since(now).unwrap_or_default();
        Ok(Issued { key, renewed_at: now + left / 3 * 2 })
    }
}

fn params(names: Vec<String>, now: SystemTime, end: SystemTime) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names).map_err(failed)?;
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // Certificates count whole seconds.
    let whole = |time: SystemTime| date_time_ymd(1970, 1, 1) + Duration::from_secs(since(time).as_secs());
    params.not_before = whole(now - EARLIER);
    params.not_after = whole(end);
    Ok(params)
}

fn common_name(name: &str) -> DistinguishedName {
    let mut of = DistinguishedName::new();
    of.push(DnType::CommonName, name);
    of
}

fn failed(error: impl std::fmt::Display) -> Problem {
    Problem::internal("cannot make a certificate").because(error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::{ServerName, UnixTime};

    use super::*;

    fn is_trusted(by: &[&Authority], issued: &Issued, name: &str, at: SystemTime) -> bool {
        let mut roots = RootCertStore::empty();
        for authority in by {
            roots.add(CertificateDer::from_pem_slice(authority.certificate.as_bytes()).unwrap()).unwrap();
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build().unwrap();
        let at = UnixTime::since_unix_epoch(at.duration_since(SystemTime::UNIX_EPOCH).unwrap());
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier.verify_server_cert(&issued.key.cert[0], &[], &name, &[], at).is_ok()
    }

    #[test]
    fn an_authority_issues_certificates_until_it_ends() {
        let now = SystemTime::now();
        let authority = Authority::new("templates-api", now).unwrap();
        let names = ["templates-api.boson.svc".to_owned()];
        let issued = authority.issue(&names, now).unwrap();
        assert!(is_trusted(&[&authority], &issued, &names[0], now));
        assert!(!is_trusted(&[&authority], &issued, "other.boson.svc", now));
        assert!(!is_trusted(&[&authority], &issued, &names[0], now + SERVER + EARLIER));
        assert!(issued.renewed_at > now && issued.renewed_at < now + SERVER);
        let renewed = authority.renewed_at().unwrap();
        assert!(renewed > now + AUTHORITY / 2 && renewed < now + AUTHORITY);
        // Beside the next authority, both are trusted, and each only as itself.
        let next = Authority::new("templates-api", renewed).unwrap();
        let of_next = next.issue(&names, renewed).unwrap();
        let late = authority.issue(&names, now + AUTHORITY - SERVER / 2).unwrap();
        for (one, at) in [(&late, now + AUTHORITY - SERVER / 2), (&of_next, renewed)] {
            assert!(is_trusted(&[&next, &authority], one, &names[0], at));
        }
        assert!(!is_trusted(&[&authority], &of_next, &names[0], renewed));
        // A server certificate ends with its authority.
        assert!(!is_trusted(&[&authority], &late, &names[0], now + AUTHORITY + EARLIER));
        assert!(late.renewed_at < now + AUTHORITY);
    }

    #[test]
    fn what_is_no_authority_is_an_error() {
        let good = Authority::new("x", SystemTime::now()).unwrap();
        let key = KeyPair::generate().unwrap().serialize_pem();
        for (certificate, key) in [(String::new(), good.key.clone()), (good.certificate.clone(), String::new())] {
            let error = Authority { certificate, key }.issue(&[], SystemTime::now());
            assert!(error.is_err());
        }
        // Certificates of another key are not trusted.
        let other = Authority { certificate: good.certificate.clone(), key };
        let issued = other.issue(&["x".to_owned()], SystemTime::now()).unwrap();
        assert!(!is_trusted(&[&good], &issued, "x", SystemTime::now()));
    }
}
