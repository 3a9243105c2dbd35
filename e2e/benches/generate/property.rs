//! Properties of a job: names, descriptions, defaults, and what the manifest sets.

use serde_yaml::Value;

use super::random::Random;

/// A declared property.
pub(crate) struct Property {
    /// Its dotted name.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) description: String,
    pub(crate) default: Option<Value>,
    /// The value in the manifest.
    pub(crate) set: Option<Value>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Text,
    Number,
    Flag,
    List,
    Table,
    Password,
    /// Several lines; may be absent.
    Certificate,
    /// A text that may be absent.
    Optional,
}

const SECTIONS: &[&str] = &[
    "api",
    "tls",
    "logging",
    "database",
    "limits",
    "uaa",
    "metrics",
    "router",
    "health",
    "storage",
    "proxy",
    "cache",
    "agent",
    "queue",
    "audit",
    "routing_api",
];

const LEAVES: &[(&str, Kind, &str)] = &[
    ("port", Kind::Number, "TCP port that the component listens on"),
    ("host", Kind::Text, "Name or address of the host to connect to"),
    ("timeout_in_seconds", Kind::Number, "How long to wait for an answer before the request is given up"),
    ("enabled", Kind::Flag, "Whether this is switched on at all"),
    ("ca_cert", Kind::Certificate, "PEM-encoded certificate authority that the peers' certificates are checked with"),
    ("client_cert", Kind::Certificate, "PEM-encoded certificate that is shown to the server"),
    ("client_key", Kind::Certificate, "PEM-encoded private key that belongs to the certificate"),
    ("password", Kind::Password, "Password of the account"),
    ("username", Kind::Text, "Name of the account"),
    ("max_connections", Kind::Number, "The largest number of connections that are open at a time"),
    ("servers", Kind::List, "Addresses of the servers, tried in this order"),
    ("labels", Kind::Table, "Labels that are put on everything that is sent"),
    ("level", Kind::Text, "The least level that is written: debug, info, warn, error"),
    ("debug", Kind::Flag, "Print much more than usual"),
    ("allowed_ranges", Kind::List, "Networks in CIDR notation that may connect"),
    ("banner", Kind::Optional, "Text that is shown above everything (by default there is none)"),
    ("proxy_url", Kind::Optional, "URL of a proxy, for components that have no way out of their own"),
    ("retries", Kind::Number, "How often a failed request is tried again"),
    ("skip_validation", Kind::Flag, "Do not check the peer's certificate; for development only"),
    ("directory", Kind::Text, "Directory on the persistent disk where the component keeps its files"),
];

/// 20 to 60 properties; at least one of every kind.
pub(crate) fn generate(random: &mut Random) -> Vec<Property> {
    let wanted = random.between(20, 60);
    let mut names: Vec<(&str, usize)> =
        SECTIONS.iter().flat_map(|section| (0..LEAVES.len()).map(move |leaf| (*section, leaf))).collect();
    random.shuffle(&mut names);
    // First one of each leaf, so that every kind is there; the spec's order is another one.
    let mut seen = vec![false; LEAVES.len()];
    names.sort_by_cached_key(|(_, leaf)| std::mem::replace(&mut seen[*leaf], true));
    names.truncate(wanted);
    random.shuffle(&mut names);
    names.into_iter().map(|(section, leaf)| property(section, LEAVES[leaf], random)).collect()
}

fn property(section: &str, (leaf, kind, what): (&str, Kind, &str), random: &mut Random) -> Property {
    let has_default = match kind {
        Kind::Optional | Kind::Certificate | Kind::Password => false,
        _ => random.percent(85),
    };
    let may_be_absent = has_default || matches!(kind, Kind::Optional | Kind::Certificate);
    let is_set = !may_be_absent || random.percent(if kind == Kind::Certificate { 35 } else { 20 });
    Property {
        name: format!("{section}.{leaf}"),
        kind,
        description: format!("{what}; concerns the {section} part of this job."),
        default: has_default.then(|| value(kind, random)),
        set: is_set.then(|| value(kind, random)),
    }
}

fn value(kind: Kind, random: &mut Random) -> Value {
    const WORDS: &[&str] = &["info", "primary", "main", "eu-west", "standard", "shared", "internal", "external"];
    match kind {
        Kind::Text | Kind::Optional => Value::from(format!("{}-{}", random.pick(WORDS), random.below(1000))),
        Kind::Number => Value::from(random.between(1, 65_000)),
        Kind::Flag => Value::from(random.percent(50)),
        Kind::List => (0..random.between(1, 4)).map(|i| Value::from(format!("10.0.{i}.0/24"))).collect(),
        Kind::Table => {
            let entry = |i: usize| (Value::from(format!("{}_{i}", WORDS[i % WORDS.len()])), Value::from(i * 7));
            Value::Mapping((0..random.between(2, 5)).map(entry).collect())
        }
        Kind::Password => Value::from(random.letters(32)),
        Kind::Certificate => {
            let lines: Vec<String> = (0..random.between(16, 26)).map(|_| random.letters(64)).collect();
            Value::from(format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n")))
        }
    }
}
