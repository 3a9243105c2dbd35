//! The options of certificates: those of the bosh CLI, and those that CredHub adds.

use core::net::IpAddr;
use std::collections::BTreeMap;

use interpolation::Failure;

use crate::links::LinkedName;
use crate::options::Options;

/// A certificate as its definition describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The subject: attribute (`C`, `O`, `OU`, `L`, `ST`, `CN`) and value, in the order of the name.
    pub subject: Vec<(&'static str, String)>,
    /// Length of the key in bits.
    pub key_length: u32,
    /// How long it is valid, in days.
    pub days: u32,
    /// Whether it may sign others.
    pub is_ca: bool,
    /// The variable that signs it; itself if absent.
    pub ca: Option<String>,
    /// What its key is for.
    pub key_usage: Vec<KeyUsage>,
    /// What the certificate is for.
    pub extended_key_usage: Vec<ExtendedKeyUsage>,
    /// The subject's other names.
    pub alternative_names: Vec<AlternativeName>,
}

/// A name of the subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlternativeName {
    /// A DNS name.
    Dns(String),
    /// An address.
    Ip(IpAddr),
}

impl AlternativeName {
    /// An address if the text is one.
    fn of(text: &str) -> AlternativeName {
        text.parse().map_or_else(|_| AlternativeName::Dns(text.to_owned()), AlternativeName::Ip)
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident: $($(#[$variant_doc:meta])* $variant:ident = $word:literal),*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            const WORDS: &[&str] = &[$($word),*];

            fn of(word: &str) -> Option<$name> {
                match word {
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

words! {
    /// Key usages, in the order of their bits (RFC 5280, section 4.2.1.3).
    KeyUsage:
    /// Bit 0.
    DigitalSignature = "digital_signature",
    /// Bit 1.
    NonRepudiation = "non_repudiation",
    /// Bit 2.
    KeyEncipherment = "key_encipherment",
    /// Bit 3.
    DataEncipherment = "data_encipherment",
    /// Bit 4.
    KeyAgreement = "key_agreement",
    /// Bit 5.
    KeyCertSign = "key_cert_sign",
    /// Bit 6.
    CrlSign = "crl_sign",
    /// Bit 7.
    EncipherOnly = "encipher_only",
    /// Bit 8.
    DecipherOnly = "decipher_only"
}

words! {
    /// Extended key usages.
    ExtendedKeyUsage:
    /// A TLS server.
    ServerAuth = "server_auth",
    /// A TLS client.
    ClientAuth = "client_auth",
    /// Signed programs.
    CodeSigning = "code_signing",
    /// Signed mail.
    EmailProtection = "email_protection",
    /// Time stamps.
    Timestamping = "timestamping"
}

impl ExtendedKeyUsage {
    /// The object identifier.
    pub fn oid(self) -> &'static str {
        match self {
            ExtendedKeyUsage::ServerAuth => "1.3.6.1.5.5.7.3.1",
            ExtendedKeyUsage::ClientAuth => "1.3.6.1.5.5.7.3.2",
            ExtendedKeyUsage::CodeSigning => "1.3.6.1.5.5.7.3.3",
            ExtendedKeyUsage::EmailProtection => "1.3.6.1.5.5.7.3.4",
            ExtendedKeyUsage::Timestamping => "1.3.6.1.5.5.7.3.8",
        }
    }
}

pub(crate) const OPTIONS: [&str; 14] = [
    "alternative_names",
    "ca",
    "common_name",
    "country",
    "duration",
    "extended_key_usage",
    "is_ca",
    "key_length",
    "key_usage",
    "locality",
    "organization",
    "organization_unit",
    "self_sign",
    "state",
];

/// Go's longest duration, which bounds the CLI's: 292 years.
pub const MOST_DAYS: u32 = 106_751;

impl Certificate {
    /// `names` come from links: an alternative name is one more, the common name counts where the options have none.
    pub(crate) fn read(mut options: Options, names: &[(LinkedName, String)]) -> Result<Certificate, Vec<Failure>> {
        let is_ca = options.flag("is_ca");
        let ca = signer(&mut options, is_ca);
        let linked = |wanted| names.iter().filter(move |(name, _)| *name == wanted).map(|(_, host)| host);
        let mut certificate = Certificate {
            subject: subject(&mut options, linked(LinkedName::CommonName).next()),
            key_length: options.key_length(3072),
            days: days(&mut options),
            is_ca,
            ca,
            key_usage: key_usage(&mut options, is_ca),
            extended_key_usage: extended_key_usage(&mut options, is_ca),
            alternative_names: if is_ca { Vec::new() } else { alternative_names(&mut options) },
        };
        for host in linked(LinkedName::AlternativeName).filter(|_| !is_ca) {
            let name = AlternativeName::of(host);
            if !certificate.alternative_names.contains(&name) {
                certificate.alternative_names.push(name);
            }
        }
        options.finish(certificate)
    }

    pub(crate) fn settings(&self) -> BTreeMap<&'static str, String> {
        let attribute = |short: &str| {
            let values = self.subject.iter().filter(|(name, _)| *name == short).map(|(_, value)| value.as_str());
            values.collect::<String>()
        };
        BTreeMap::from([
            ("country", attribute("C")),
            ("organization", attribute("O")),
            ("organization_unit", attribute("OU")),
            ("locality", attribute("L")),
            ("state", attribute("ST")),
            ("common_name", attribute("CN")),
            ("key_length", self.key_length.to_string()),
            ("duration", self.days.to_string()),
            ("is_ca", self.is_ca.to_string()),
            ("ca", format!("{:?}", self.ca)),
            ("key_usage", format!("{:?}", self.key_usage)),
            ("extended_key_usage", format!("{:?}", self.extended_key_usage)),
            ("alternative_names", format!("{:?}", self.alternative_names)),
        ])
    }
}

/// `ca` and `self_sign`.
fn signer(options: &mut Options, is_ca: bool) -> Option<String> {
    let self_sign = options.flag("self_sign");
    let ca = options.name("ca");
    match &ca {
        Some(_) if self_sign => options.fail("self_sign", "Expected either 'ca' or 'self_sign', but both are given"),
        Some(name) if name.contains('.') => {
            options.fail("ca", format!("Expected 'ca' to be the name of a variable, without dots, but found '{name}'"));
        }
        None if !is_ca && !self_sign => options.fail_with_hint(
            "ca",
            "Missing required CA name",
            "name the authority with `ca`, or set `is_ca: true` or `self_sign: true`",
        ),
        _ => {}
    }
    ca
}

/// In the order in which the CLI's library writes a name.
fn subject(options: &mut Options, linked: Option<&String>) -> Vec<(&'static str, String)> {
    let country = options.name("country").unwrap_or_else(|| "US".to_owned());
    if country.len() != 2 || !country.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        options.fail("country", "Expected 'country' to be a code of two letters");
    }
    let organization = options.name("organization").unwrap_or_else(|| "Cloud Foundry".to_owned());
    let rest = [("OU", "organization_unit"), ("L", "locality"), ("ST", "state"), ("CN", "common_name")];
    let mut subject = vec![("C", country), ("O", organization)];
    subject.extend(rest.into_iter().filter_map(|(short, name)| Some((short, options.name(name)?))));
    if !subject.iter().any(|(short, _)| *short == "CN") {
        subject.extend(linked.map(|host| ("CN", host.clone())));
    }
    subject
}

fn days(options: &mut Options) -> u32 {
    const YEAR: u32 = 365;
    match options.integer("duration") {
        None | Some(0) => YEAR,
        Some(days) if (1..=i64::from(MOST_DAYS)).contains(&days) => days as u32,
        Some(_) => {
            options.fail("duration", format!("Expected 'duration' to be a number of days from 1 to {MOST_DAYS}"));
            YEAR
        }
    }
}

fn key_usage(options: &mut Options, is_ca: bool) -> Vec<KeyUsage> {
    let mut usages = Vec::new();
    for (word, origin) in options.texts("key_usage") {
        match KeyUsage::of(&word) {
            Some(usage) => usages.push(usage),
            None => options.unknown(origin, format!("Unsupported key usage value: {word}"), &word, KeyUsage::WORDS),
        }
    }
    if is_ca {
        usages.extend([KeyUsage::KeyCertSign, KeyUsage::CrlSign]);
    } else if usages.is_empty() {
        usages.extend([KeyUsage::DigitalSignature, KeyUsage::KeyEncipherment]);
    }
    usages.sort_unstable();
    usages.dedup();
    usages
}

/// Of an authority the CLI ignores it.
fn extended_key_usage(options: &mut Options, is_ca: bool) -> Vec<ExtendedKeyUsage> {
    let mut usages = Vec::new();
    for (word, origin) in options.texts("extended_key_usage") {
        match ExtendedKeyUsage::of(&word) {
            Some(usage) if !usages.contains(&usage) => usages.push(usage),
            Some(_) => {}
            None => options.unknown(
                origin,
                format!("Unsupported extended key usage value: {word}"),
                &word,
                ExtendedKeyUsage::WORDS,
            ),
        }
    }
    match usages.is_empty() {
        _ if is_ca => Vec::new(),
        true => vec![ExtendedKeyUsage::ServerAuth],
        false => usages,
    }
}

fn alternative_names(options: &mut Options) -> Vec<AlternativeName> {
    let mut names = Vec::new();
    for (text, origin) in options.texts("alternative_names") {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            options.fail_at(origin, "Expected an alternative name to be an address or a DNS name of ASCII characters");
        } else {
            names.push(AlternativeName::of(&text));
        }
    }
    names
}
