//! Random values in random messages: what [`Mask`] promises.

use dialect_erb::Mask;
use testkit::random::Random;
use value::Value;

const ALPHABET: &[char] = &[
    'a', 'B', 'c', 'D', 'x', 'Y', 'q', 'Z', '0', '1', '7', '9', '-', '_', '.', '/', '+', '=', ' ', '\n', '\t', '"',
    '\'', '\\', '#', '{', '}', '$', '%', '&', '<', '@', '!', 'é', 'ß', '日',
];

/// The shortest piece that must not be shown.
const PIECE: usize = 6;

fn text(random: &mut Random, longest: usize) -> String {
    let length = PIECE + random.below(longest);
    (0..length).map(|_| *random.pick(ALPHABET)).collect()
}

/// What a message may make of a value.
fn spelled(random: &mut Random, secret: &str) -> String {
    let escaped = |c: char| !c.is_alphanumeric();
    match random.below(8) {
        0 => format!("{secret:?}"),
        1 => secret.to_uppercase(),
        2 => secret.chars().flat_map(|c| if escaped(c) { vec!['\\', c] } else { vec![c] }).collect(),
        3 => secret.chars().flat_map(|c| [c, ' ']).collect(),
        4 => {
            let characters: Vec<char> = secret.chars().collect();
            let start = random.below(characters.len() - PIECE + 1);
            characters[start..].iter().collect()
        }
        5 => format!("x{secret}x"),
        _ => secret.to_owned(),
    }
}

#[test]
fn no_piece_of_a_value_is_left() {
    let mut random = Random::new(17);
    for _ in 0..3000 {
        let secrets: Vec<String> = (0..1 + random.below(3)).map(|_| text(&mut random, 30)).collect();
        let properties = Value::map([("names", Value::array(secrets.iter().cloned().map(Value::str)))]);
        let mask = Mask::new(&Value::map([("properties", properties)]), [], b"<%= p('names') %>");
        let message: Vec<String> = secrets.iter().map(|secret| spelled(&mut random, secret)).collect();
        let shown = mask.apply(&format!("what they gave: {}", message.join(", and: ")));
        for secret in &secrets {
            let characters: Vec<char> = secret.chars().collect();
            for piece in characters.windows(PIECE) {
                let piece: String = piece.iter().collect();
                assert!(piece.trim().len() < PIECE || !shown.contains(&piece), "{piece:?} of {secret:?} in {shown:?}");
            }
        }
        assert!(shown.starts_with("what they gave:"), "{shown}");
    }
}

#[test]
fn what_holds_no_value_stays_as_it_is() {
    let mut random = Random::new(18);
    for _ in 0..300 {
        let secret = text(&mut random, 60);
        let properties = Value::map([("name", Value::str(secret.clone()))]);
        let mask = Mask::new(&Value::map([("properties", properties)]), [], b"");
        for message in ["undefined method 'nil?' for an instance of Integer", "Can't find property '[\"some.thing\"]'"]
        {
            assert_eq!(mask.apply(message), message, "{secret:?}");
        }
    }
}

/// Public texts: keys, defaults and BOSH's own words.
const NAMES: &[&str] = &["tarball_checksum", "db", "tls", "ca-certificate", "password", "nats"];
const DEFAULTS: &[&str] = &["localhost:4222", "/var/vcap/data/blobs", "changeme", "12345678"];
const PHRASES: &[&str] =
    &["Can't find property '[\"", "undefined method '", "Can't find link '", "for an instance of Integer"];

/// A value made of ends and beginnings of public texts, and of random ones.
fn overlapping(random: &mut Random) -> String {
    let mut value = String::new();
    for _ in 0..1 + random.below(4) {
        let public = *random.pick(&[NAMES, DEFAULTS, PHRASES].concat());
        let middle = random.below(public.len());
        match random.below(4) {
            0 => value += &public[..middle],
            1 => value += &public[middle..],
            2 => value += public,
            _ => value += &text(random, 8),
        }
    }
    value
}

/// The messages of Ruby and BOSH about names of the deployment, and one about a default.
fn public_messages(random: &mut Random) -> Vec<String> {
    let path: Vec<&str> = (0..1 + random.below(3)).map(|_| *random.pick(NAMES)).collect();
    let (path, name) = (path.join("."), random.pick(NAMES));
    vec![
        format!("Can't find property '[\"{path}\"]'"),
        format!("Can't find property '[\"{path}\", \"{name}\"]'"),
        format!("Can't find link '{name}'"),
        format!("undefined method '{name}' for an instance of Integer"),
        format!("{}", random.pick(DEFAULTS)),
    ]
}

#[test]
fn values_that_overlap_public_texts_do_not_damage_them() {
    let mut random = Random::new(19);
    let defaults: Vec<Value> = DEFAULTS.iter().copied().map(Value::str).chain([Value::Int(12_345_678)]).collect();
    for _ in 0..150 {
        let secrets: Vec<String> = (0..1 + random.below(3)).map(|_| overlapping(&mut random)).collect();
        let keys = NAMES.iter().map(|name| (*name, Value::Nil));
        let values = ("list", Value::array(secrets.iter().cloned().map(Value::str)));
        let properties = Value::map(keys.chain([values]));
        let mask = Mask::new(&Value::map([("properties", properties)]), &defaults, b"<%= p('list') %>");
        let messages = public_messages(&mut random);
        for message in &messages {
            assert_eq!(mask.apply(message), *message, "{secrets:?}");
        }
        let said: Vec<String> = secrets.iter().map(|secret| spelled_whole(&mut random, secret)).collect();
        let shown = mask.apply(&format!("gave {}", said.join(", and: "))).replace("<redacted>", "\0");
        for secret in &secrets {
            let characters: Vec<char> = secret.chars().collect();
            for piece in characters.windows(PIECE) {
                let piece: String = piece.iter().collect();
                let is_public = piece.trim().len() < PIECE || public(&piece);
                assert!(is_public || !shown.contains(&piece), "{piece:?} of {secret:?} in {shown:?}");
            }
        }
    }
}

/// What a message may make of a value, without leaving out a part.
fn spelled_whole(random: &mut Random, secret: &str) -> String {
    match random.below(3) {
        0 => format!("{secret:?}"),
        1 => format!("'{secret}'"),
        _ => secret.to_owned(),
    }
}

/// Whether a piece is in a public text, or made of several one after the other, and of what ends a quoted one.
fn public(piece: &str) -> bool {
    let ends = [" ", "'", "\"", "\"]'"];
    let texts: Vec<&str> = [NAMES, DEFAULTS, PHRASES, &ends].concat();
    let begins_public = |head: &str| texts.iter().any(|text| text.ends_with(head));
    texts.iter().any(|text| text.contains(piece))
        || piece.char_indices().any(|(i, _)| i > 0 && begins_public(&piece[..i]) && ends_public(&piece[i..], &texts))
}

fn ends_public(rest: &str, texts: &[&str]) -> bool {
    let begins = |text: &&str| rest.strip_prefix(*text).is_some_and(|rest| ends_public(rest, texts));
    texts.iter().any(|text| text.starts_with(rest)) || texts.iter().any(begins)
}
