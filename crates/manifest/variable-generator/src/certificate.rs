//! Certificates, with the fields and in the order of the bosh CLI.

use std::time::{Duration, SystemTime};

use rsa::pkcs8::EncodePublicKey;
use rsa::pkcs8::spki::SubjectPublicKeyInfoRef;
use rsa::traits::PublicKeyParts;
use rsa::{PrivateKey, pkcs1v15};
use sha1::{Digest, Sha1};
use variables::{AlternativeName, Certificate, KeyUsage};
use x509_cert::SubjectPublicKeyInfo;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder, CertificateBuilder};
use x509_cert::certificate::{Rfc5280, TbsCertificate};
use x509_cert::der::asn1::{Ia5String, OctetString, PrintableStringRef, Utf8StringRef};
use x509_cert::der::flagset::FlagSet;
use x509_cert::der::oid::AssociatedOid;
use x509_cert::der::{self, Any, Decode, Encode};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage as KeyUsageExtension, KeyUsages,
    SubjectAltName, SubjectKeyIdentifier,
};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::ObjectIdentifier;
use x509_cert::time::{Time, Validity};

use crate::authority::{Authority, SigningKey, of_rsa};
use crate::keys::block;

const DAY: u64 = 86_400;
/// Bytes of a serial number.
const SERIAL: usize = 16;

/// A certificate of a key, with what it needs to sign others; signed by itself if there is no authority.
///
/// # Errors
/// A name that no certificate can have; a system without random numbers.
pub(crate) fn generate(
    certificate: &Certificate,
    key: &PrivateKey,
    authority: Option<&Authority>,
) -> Result<Authority, String> {
    let key_id = Sha1::digest(key.n_bytes()).to_vec();
    let signer_id = authority.map_or(Some(&key_id), |authority| authority.key_id.as_ref());
    let own = of_rsa(key.clone());
    let signer = authority.map_or(&own, |authority| &authority.key);
    let made = subject(certificate).map_err(|e| format!("the subject: {e}")).and_then(|subject| {
        let extensions = extensions(certificate, &key_id, signer_id).map_err(|e| e.to_string())?;
        let issuer = authority.map_or(&subject, |authority| &authority.subject).clone();
        let signed = sign(Profile { subject: subject.clone(), issuer, extensions }, certificate.days, key, signer)?;
        Ok((subject, signed))
    });
    let (subject, signed) = made?;
    Ok(Authority { pem: block("CERTIFICATE", signed), subject, key_id: Some(key_id), key: own })
}

/// What the builder asks for.
struct Profile {
    subject: Name,
    issuer: Name,
    extensions: Vec<Extension>,
}

impl BuilderProfile for Profile {
    fn get_issuer(&self, _subject: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        _key: SubjectPublicKeyInfoRef<'_>,
        _issuer_key: SubjectPublicKeyInfoRef<'_>,
        _certificate: &TbsCertificate,
    ) -> x509_cert::builder::Result<Vec<Extension>> {
        Ok(self.extensions.clone())
    }
}

fn sign(profile: Profile, days: u32, key: &PrivateKey, signer: &SigningKey) -> Result<Vec<u8>, String> {
    let text = |e: der::Error| e.to_string();
    let mut serial = [0; SERIAL];
    getrandom::fill(&mut serial).map_err(|e| e.to_string())?;
    let public = key.to_public_key().to_public_key_der().map_err(|e| e.to_string())?;
    let now = SystemTime::now();
    let end = now + Duration::from_secs(u64::from(days) * DAY);
    let validity = Validity::<Rfc5280>::new(Time::try_from(now).map_err(text)?, Time::try_from(end).map_err(text)?);
    let builder = CertificateBuilder::new(
        profile,
        SerialNumber::new(&serial).map_err(text)?,
        validity,
        SubjectPublicKeyInfo::from_der(public.as_bytes()).map_err(text)?,
    );
    let builder = builder.map_err(|e| e.to_string())?;
    let signed = match signer {
        SigningKey::Rsa(key) => builder.build::<_, pkcs1v15::Signature>(&**key),
        SigningKey::P256(key) => builder.build::<_, p256::ecdsa::DerSignature>(key),
        SigningKey::P384(key) => builder.build::<_, p384::ecdsa::DerSignature>(key),
        SigningKey::P521(key) => builder.build::<_, p521::ecdsa::DerSignature>(key),
    };
    signed.map_err(|e| e.to_string())?.to_der().map_err(text)
}

/// Built here, because Go limits the length of no attribute, and prefers the type PrintableString.
fn subject(certificate: &Certificate) -> der::Result<Name> {
    let mut names = RdnSequence::default();
    for (attribute, text) in &certificate.subject {
        let value = match PrintableStringRef::new(text) {
            Ok(text) => Any::encode_from(&text)?,
            Err(_) => Any::encode_from(&Utf8StringRef::new(text)?)?,
        };
        let mut name = RelativeDistinguishedName::default();
        name.insert(AttributeTypeAndValue { oid: attribute_oid(attribute), value })?;
        names.push(name);
    }
    Ok(Name::hazmat_from_rdn_sequence(names))
}

fn attribute_oid(attribute: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(match attribute {
        "C" => "2.5.4.6",
        "O" => "2.5.4.10",
        "OU" => "2.5.4.11",
        "L" => "2.5.4.7",
        "ST" => "2.5.4.8",
        _ => "2.5.4.3",
    })
}

/// In the order in which Go writes them.
fn extensions(certificate: &Certificate, own: &[u8], signer: Option<&Vec<u8>>) -> der::Result<Vec<Extension>> {
    let mut found = vec![extension(&key_usage(&certificate.key_usage), true)?];
    let usages = certificate.extended_key_usage.iter().map(|usage| ObjectIdentifier::new(usage.oid()));
    let usages: Vec<ObjectIdentifier> =
        usages.collect::<Result<_, _>>().map_err(|_| der::Tag::ObjectIdentifier.value_error())?;
    if !usages.is_empty() {
        found.push(extension(&ExtendedKeyUsage(usages), false)?);
    }
    found.push(extension(&BasicConstraints { ca: certificate.is_ca, path_len_constraint: None }, true)?);
    found.push(extension(&SubjectKeyIdentifier(OctetString::new(own)?), false)?);
    if let Some(signer) = signer {
        let key_identifier = Some(OctetString::new(signer.as_slice())?);
        found.push(extension(&AuthorityKeyIdentifier { key_identifier, ..AuthorityKeyIdentifier::default() }, false)?);
    }
    if !certificate.alternative_names.is_empty() {
        found.push(extension(&SubjectAltName(alternative_names(&certificate.alternative_names)?), false)?);
    }
    Ok(found)
}

fn extension<T: Encode + AssociatedOid>(value: &T, critical: bool) -> der::Result<Extension> {
    Ok(Extension { extn_id: T::OID, critical, extn_value: OctetString::new(value.to_der()?)? })
}

fn key_usage(usages: &[KeyUsage]) -> KeyUsageExtension {
    let usages = usages.iter().map(|usage| match usage {
        KeyUsage::DigitalSignature => KeyUsages::DigitalSignature,
        KeyUsage::NonRepudiation => KeyUsages::NonRepudiation,
        KeyUsage::KeyEncipherment => KeyUsages::KeyEncipherment,
        KeyUsage::DataEncipherment => KeyUsages::DataEncipherment,
        KeyUsage::KeyAgreement => KeyUsages::KeyAgreement,
        KeyUsage::KeyCertSign => KeyUsages::KeyCertSign,
        KeyUsage::CrlSign => KeyUsages::CRLSign,
        KeyUsage::EncipherOnly => KeyUsages::EncipherOnly,
        KeyUsage::DecipherOnly => KeyUsages::DecipherOnly,
    });
    KeyUsageExtension(usages.fold(FlagSet::default(), |all, usage| all | usage))
}

/// DNS names, then addresses.
fn alternative_names(names: &[AlternativeName]) -> der::Result<Vec<GeneralName>> {
    let (mut dns, mut addresses) = (Vec::new(), Vec::new());
    for name in names {
        match name {
            AlternativeName::Dns(name) => dns.push(GeneralName::DnsName(Ia5String::new(name)?)),
            AlternativeName::Ip(address) => addresses.push(GeneralName::from(*address)),
        }
    }
    dns.extend(addresses);
    Ok(dns)
}
