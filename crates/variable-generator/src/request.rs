//! Orders as the Ruby code gets them.

use std::net::IpAddr;

use value::Value;
use variables::{AlternativeName, Certificate, KeyUsage, Order, Password, Signer, Specification};

/// The request for one order; `key` is its RSA key, PEM.
pub(crate) fn of(order: &Order, key: Option<String>) -> Value {
    let (kind, mut fields) = match &order.specification {
        Specification::Password(password) => ("password", characters(password)),
        Specification::User(user) => {
            let mut fields = characters(&user.password);
            fields.push(("username", text_or_nil(user.username.as_deref())));
            ("user", fields)
        }
        Specification::Rsa(_) => ("rsa", Vec::new()),
        Specification::Ssh(_, comment) => ("ssh", vec![("comment", text_or_nil(comment.as_deref()))]),
        Specification::Certificate(certificate) => ("certificate", of_certificate(certificate, &order.signer)),
    };
    fields.push(("type", Value::str(kind)));
    fields.push(("key", text_or_nil(key.as_deref())));
    Value::map(fields)
}

fn text_or_nil(text: Option<&str>) -> Value {
    text.map_or(Value::Nil, Value::str)
}

fn characters(password: &Password) -> Vec<(&'static str, Value)> {
    vec![
        ("length", Value::Int(password.length as i64)),
        ("classes", Value::array(password.classes.iter().map(|class| Value::str(class.as_str())))),
        ("each_class", Value::Bool(password.each_class)),
    ]
}

fn of_certificate(certificate: &Certificate, signer: &Signer) -> Vec<(&'static str, Value)> {
    let subject = certificate.subject.iter();
    let subject = subject.map(|(name, text)| Value::array([Value::str(*name), Value::str(text.as_str())]));
    let signer = match signer {
        Signer::Itself => Value::Nil,
        Signer::Ordered(index) => Value::Int(*index as i64),
        Signer::Existing { certificate, private_key, .. } => {
            Value::array([Value::str(certificate.as_str()), Value::str(private_key.as_str())])
        }
    };
    vec![
        ("subject", Value::array(subject)),
        ("days", Value::Int(certificate.days.into())),
        ("is_ca", Value::Bool(certificate.is_ca)),
        ("key_usage", Value::array(certificate.key_usage.iter().map(|usage| Value::str(key_usage(*usage))))),
        (
            "extended_key_usage",
            Value::array(certificate.extended_key_usage.iter().map(|usage| Value::str(usage.oid()))),
        ),
        ("alternative_names", Value::array(certificate.alternative_names.iter().map(alternative_name))),
        ("signer", signer),
    ]
}

fn alternative_name(name: &AlternativeName) -> Value {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (kind, text) = match name {
        AlternativeName::Dns(name) => ("dns", name.clone()),
        AlternativeName::Ip(IpAddr::V4(address)) => ("ip", hex(&address.octets())),
        AlternativeName::Ip(IpAddr::V6(address)) => ("ip", hex(&address.octets())),
    };
    Value::array([Value::str(kind), Value::str(text.as_str())])
}

/// OpenSSL's name of a key usage.
fn key_usage(usage: KeyUsage) -> &'static str {
    match usage {
        KeyUsage::DigitalSignature => "digitalSignature",
        KeyUsage::NonRepudiation => "nonRepudiation",
        KeyUsage::KeyEncipherment => "keyEncipherment",
        KeyUsage::DataEncipherment => "dataEncipherment",
        KeyUsage::KeyAgreement => "keyAgreement",
        KeyUsage::KeyCertSign => "keyCertSign",
        KeyUsage::CrlSign => "cRLSign",
        KeyUsage::EncipherOnly => "encipherOnly",
        KeyUsage::DecipherOnly => "decipherOnly",
    }
}
