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
        let mask = Mask::new(&Value::map([("properties", properties)]), b"<%= p('names') %>");
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
        let mask = Mask::new(&Value::map([("properties", properties)]), b"");
        for message in ["undefined method 'nil?' for an instance of Integer", "Can't find property '[\"some.thing\"]'"]
        {
            assert_eq!(mask.apply(message), message, "{secret:?}");
        }
    }
}
