//! Certificate authorities that exist: their certificates and keys, made by whatever program.

use pem::Pem;
use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPublicKey};
use rsa::pkcs1v15;
use rsa::pkcs8::{DecodePrivateKey, PrivateKeyInfoRef};
use rsa::sha2::Sha256;
use std::time::SystemTime;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::{BasicConstraints, KeyUsage, SubjectKeyIdentifier};
use x509_cert::name::Name;
use x509_cert::spki::ObjectIdentifier;

use crate::keys::block;

/// A certificate as it was read, with everything that other programs may have put into it.
pub(crate) type Certificate = CertificateInner<Raw>;

/// What signs certificates.
pub(crate) struct Authority {
    /// Its certificate, PEM.
    pub(crate) pem: String,
    pub(crate) subject: Name,
    /// The identifier of its key, if its certificate has one.
    pub(crate) key_id: Option<Vec<u8>>,
    pub(crate) key: SigningKey,
}

/// A key that signs.
pub(crate) enum SigningKey {
    Rsa(Box<pkcs1v15::SigningKey<Sha256>>),
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
    P521(p521::ecdsa::SigningKey),
}

const NO_KEY: &str = "Parsing private key: it is not a private key, or is encrypted";
const OTHER_KEY: &str = "Parsing private key: it is neither an RSA key nor a key of the curves P-256, P-384 and P-521";
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const CURVES: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");

impl Authority {
    /// An authority of a certificate and its private key, PEM.
    ///
    /// # Errors
    /// Why they cannot sign.
    pub(crate) fn read(certificate: &str, private_key: &str) -> Result<Authority, &'static str> {
        let certificate = read(certificate).ok_or("Parsing certificate: it is not an X.509 certificate")?;
        let key = SigningKey::read(private_key)?;
        let tbs = certificate.tbs_certificate();
        if !key.belongs_to(tbs.subject_public_key_info().subject_public_key.raw_bytes()) {
            return Err("the private key does not belong to the certificate");
        }
        if !is_authority(&certificate) {
            return Err("the certificate is not that of a certificate authority");
        }
        if tbs.validity().not_after.to_system_time() < SystemTime::now() {
            return Err("the certificate of the authority has expired");
        }
        let id = tbs.get_extension::<SubjectKeyIdentifier>().ok().flatten();
        let der = certificate.to_der().map_err(|_| "Parsing certificate: it is not an X.509 certificate")?;
        Ok(Authority {
            pem: block("CERTIFICATE", der),
            subject: tbs.subject().clone(),
            key_id: id.map(|(_, id)| id.0.as_bytes().to_vec()),
            key,
        })
    }
}

/// The first certificate of a text.
pub(crate) fn read(text: &str) -> Option<Certificate> {
    let is_certificate = |block: &Pem| matches!(block.tag(), "CERTIFICATE" | "X509 CERTIFICATE");
    let block = pem::parse_many(text).ok()?.into_iter().find(is_certificate)?;
    Certificate::from_der(block.contents()).ok()
}

/// Whether it is marked as an authority and may sign certificates.
fn is_authority(certificate: &Certificate) -> bool {
    let tbs = certificate.tbs_certificate();
    let constraints = tbs.get_extension::<BasicConstraints>().ok().flatten();
    let may_sign = match tbs.get_extension::<KeyUsage>() {
        Ok(usage) => usage.is_none_or(|(_, usage)| usage.key_cert_sign()),
        Err(_) => false,
    };
    may_sign && constraints.is_some_and(|(_, constraints)| constraints.ca)
}

impl SigningKey {
    fn read(text: &str) -> Result<SigningKey, &'static str> {
        let blocks = pem::parse_many(text).map_err(|_| NO_KEY)?;
        // `openssl ecparam -genkey` puts the parameters before the key.
        let block = blocks.iter().find(|block| block.tag() != "EC PARAMETERS").ok_or(NO_KEY)?;
        if block.headers().get("Proc-Type").is_some() {
            return Err(NO_KEY);
        }
        match block.tag() {
            "PUBLIC KEY" | "RSA PUBLIC KEY" => Err("Parsing private key: it is a public key"),
            "RSA PRIVATE KEY" => rsa::PrivateKey::from_pkcs1_der(block.contents()).map(of_rsa).map_err(|_| NO_KEY),
            "EC PRIVATE KEY" => SigningKey::of_curve(
                p256::SecretKey::from_sec1_der(block.contents()).ok(),
                p384::SecretKey::from_sec1_der(block.contents()).ok(),
                p521::SecretKey::from_sec1_der(block.contents()).ok(),
            ),
            "PRIVATE KEY" => SigningKey::of_pkcs8(block.contents()),
            _ => Err(NO_KEY),
        }
    }

    fn of_pkcs8(bytes: &[u8]) -> Result<SigningKey, &'static str> {
        let info = PrivateKeyInfoRef::try_from(bytes).map_err(|_| NO_KEY)?;
        match info.algorithm.oid {
            RSA => rsa::PrivateKey::from_pkcs8_der(bytes).map(of_rsa).map_err(|_| NO_KEY),
            CURVES => SigningKey::of_curve(
                p256::SecretKey::from_pkcs8_der(bytes).ok(),
                p384::SecretKey::from_pkcs8_der(bytes).ok(),
                p521::SecretKey::from_pkcs8_der(bytes).ok(),
            ),
            _ => Err(OTHER_KEY),
        }
    }

    /// The key, read as one of each curve.
    fn of_curve(
        p256: Option<p256::SecretKey>,
        p384: Option<p384::SecretKey>,
        p521: Option<p521::SecretKey>,
    ) -> Result<SigningKey, &'static str> {
        let keys = [
            p256.map(|key| SigningKey::P256(key.into())),
            p384.map(|key| SigningKey::P384(key.into())),
            p521.map(|key| SigningKey::P521(key.into())),
        ];
        keys.into_iter().flatten().next().ok_or(OTHER_KEY)
    }

    /// Whether the public key, as a certificate has it, is that of this key.
    fn belongs_to(&self, public: &[u8]) -> bool {
        match self {
            SigningKey::Rsa(key) => {
                let key: &rsa::PrivateKey = (**key).as_ref();
                key.to_public_key().to_pkcs1_der().is_ok_and(|own| own.as_bytes() == public)
            }
            SigningKey::P256(key) => {
                p256::ecdsa::VerifyingKey::from_sec1_bytes(public).is_ok_and(|own| own == *key.verifying_key())
            }
            SigningKey::P384(key) => {
                p384::ecdsa::VerifyingKey::from_sec1_bytes(public).is_ok_and(|own| own == *key.verifying_key())
            }
            SigningKey::P521(key) => {
                p521::ecdsa::VerifyingKey::from_sec1_bytes(public).is_ok_and(|own| own == *key.verifying_key())
            }
        }
    }
}

/// A signing key of an RSA key.
pub(crate) fn of_rsa(key: rsa::PrivateKey) -> SigningKey {
    SigningKey::Rsa(Box::new(pkcs1v15::SigningKey::new(key)))
}
