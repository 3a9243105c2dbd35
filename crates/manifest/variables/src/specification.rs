//! What is generated for a variable: its type and its options, checked.

use std::collections::BTreeMap;

use go_yaml::{Key, Node, Value};
use interpolation::{Definition, Failure};
use problem::hint_for_unknown;

use crate::certificate::Certificate;
use crate::links::LinkedName;
use crate::options::Options;

/// The types of variables.
const KINDS: [&str; 5] = ["certificate", "password", "rsa", "ssh", "user"];

/// What is generated for a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Specification {
    /// A password.
    Password(Password),
    /// A user name, a password and its hash.
    User(User),
    /// An RSA key pair of so many bits.
    Rsa(u32),
    /// An RSA key pair of so many bits, in the format of SSH, with a comment.
    Ssh(u32, Option<String>),
    /// An RSA key pair with a certificate.
    Certificate(Certificate),
}

/// How a password is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Password {
    /// Number of characters.
    pub length: usize,
    /// Classes of characters; each character is equally probable.
    pub classes: Vec<String>,
    /// Whether at least one character of each class occurs.
    pub each_class: bool,
}

/// How a user is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name given.
    pub username: Option<String>,
    /// How its password is chosen.
    pub password: Password,
}

impl Specification {
    /// The specification of a definition whose options have no references any more; `names` are those of a certificate that
    /// come from links.
    ///
    /// # Errors
    /// An unknown type; every option that is unknown, or has a value of another type or out of range.
    pub(crate) fn of(
        definition: &Definition,
        kind: &str,
        options: Option<&Node>,
        names: &[(LinkedName, String)],
    ) -> Result<Specification, Vec<Failure>> {
        let read = |known: &[&str]| Options::new(&definition.name, kind, options, definition.origin, known);
        match kind {
            "password" => {
                let mut options = read(&CHARACTERS);
                let password = Password::read(&mut options);
                options.finish(Specification::Password(password))
            }
            "user" => {
                let known: Vec<&str> = CHARACTERS.into_iter().chain(["username"]).collect();
                let mut options = read(&known);
                let user = User { username: options.name("username"), password: Password::read(&mut options) };
                options.finish(Specification::User(user))
            }
            "rsa" => {
                let mut options = read(&["key_length"]);
                let bits = options.key_length(2048);
                options.finish(Specification::Rsa(bits))
            }
            "ssh" => {
                let mut options = read(&["key_length", "ssh_comment"]);
                let bits = options.key_length(2048);
                let comment = options.name("ssh_comment");
                if comment.as_ref().is_some_and(|comment| comment.contains(char::is_control)) {
                    options.fail("ssh_comment", "Expected 'ssh_comment' to be one line without control characters");
                }
                options.finish(Specification::Ssh(bits, comment))
            }
            "certificate" => {
                Certificate::read(read(&crate::certificate::OPTIONS), names).map(Specification::Certificate)
            }
            other => {
                let message = format!("Generating variable '{}': Unsupported value type: {other}", definition.name);
                let mut failure = Failure::new(message, definition.origin);
                let types = || format!("the types are: {}", KINDS.join(", "));
                failure.hint = Some(hint_for_unknown(other, KINDS, types));
                Err(vec![failure])
            }
        }
    }

    /// Every setting that decides about the value, by the option's name.
    pub(crate) fn settings(&self) -> BTreeMap<&'static str, String> {
        match self {
            Specification::Password(password) => password.settings(),
            Specification::User(user) => {
                let mut settings = user.password.settings();
                settings.insert("username", format!("{:?}", user.username));
                settings
            }
            Specification::Rsa(bits) => BTreeMap::from([("key_length", bits.to_string())]),
            Specification::Ssh(bits, comment) => {
                BTreeMap::from([("key_length", bits.to_string()), ("ssh_comment", format!("{comment:?}"))])
            }
            Specification::Certificate(certificate) => certificate.settings(),
        }
    }

    /// Length of the RSA key in bits, for the types that have one.
    pub fn key_length(&self) -> Option<u32> {
        match self {
            Specification::Password(_) | Specification::User(_) => None,
            Specification::Rsa(bits) | Specification::Ssh(bits, _) => Some(*bits),
            Specification::Certificate(certificate) => Some(certificate.key_length),
        }
    }
}

/// A value with the structure of a type's values and without a secret, for a document that is read before values are generated.
pub fn placeholder(kind: &str) -> Node {
    let parts: &[&str] = match kind {
        "certificate" => &["ca", "certificate", "private_key"],
        "rsa" => &["private_key", "public_key"],
        "ssh" => &["private_key", "public_key", "public_key_fingerprint"],
        "user" => &["username", "password", "password_hash"],
        _ => &[],
    };
    let text = |what: &str| Node::new(Value::String(format!("{what} to be generated")));
    match parts {
        [] => text(kind),
        parts => {
            let fields = parts.iter().map(|part| (Key::String((*part).to_owned()), text(part)));
            Node::new(Value::Map(fields.collect()))
        }
    }
}

/// Options of passwords.
const CHARACTERS: [&str; 5] = ["length", "exclude_lower", "exclude_upper", "exclude_number", "include_special"];
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const NUMBER: &str = "0123456789";
const SPECIAL: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
/// The CLI's default.
const LENGTH: usize = 20;
/// Longer than any password, and short enough that a mistake does not fill the memory.
const LONGEST: i64 = 65_536;

impl Password {
    /// Without an option about characters, lower case letters and digits, as in the CLI; else as in CredHub.
    fn read(options: &mut Options) -> Password {
        let length = match options.integer("length") {
            None | Some(0) => LENGTH,
            Some(..0) => {
                options.fail("length", "Failed to generate password, 'length' param cannot be negative");
                LENGTH
            }
            Some(length @ 1..=LONGEST) => length as usize,
            Some(_) => {
                options.fail("length", format!("Expected 'length' to be at most {LONGEST}"));
                LENGTH
            }
        };
        if !CHARACTERS[1..].iter().any(|name| options.has(name)) {
            return Password { length, classes: vec![LOWER.to_owned(), NUMBER.to_owned()], each_class: false };
        }
        let chosen = [
            (!options.flag("exclude_lower"), LOWER),
            (!options.flag("exclude_upper"), UPPER),
            (!options.flag("exclude_number"), NUMBER),
            (options.flag("include_special"), SPECIAL),
        ];
        let classes: Vec<String> =
            chosen.into_iter().filter(|(is_chosen, _)| *is_chosen).map(|(_, class)| class.to_owned()).collect();
        if classes.is_empty() {
            options.fail("exclude_lower", "Expected at least one class of characters, but all are excluded");
        } else if length < classes.len() {
            let cause = format!("Expected 'length' to be at least {}, one for each class of characters", classes.len());
            options.fail("length", cause);
        }
        Password { length, classes, each_class: true }
    }

    fn settings(&self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([("length", self.length.to_string()), ("characters", self.classes.concat())])
    }
}
