//! Random numbers and data.

use serde_json::{Value as Json, json};

/// A repeatable source of numbers (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ bits >> 31
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

pub(crate) const KEYS: [&str; 12] = ["a", "b", "c", "d", "m", "l", "s", "n", "list", "name", "Ünï", "X"];
pub(crate) const WORDS: [&str; 16] = [
    "",
    "x",
    "web",
    "a b",
    "<i>&'\"",
    "héllo",
    "世界",
    "12",
    "tab\there",
    "new\nline",
    "C:\\x",
    "100%",
    "{{",
    "\u{ad}",
    "\u{2028}",
    "long long long text with words",
];
pub(crate) fn nstance_data(random: &mut Random) -> Json {
    let mut data = json!({
        "Instance": { "ID": "i-1", "Arch": "arm64" },
        "Cluster": { "CACert": "-----\nx\n" },
        "Provider": { "Kind": "aws" },
        "Nonce": "n",
    });
    for name in ["Vars", "Var", "Image"] {
        if !random.chance(3) {
            data[name] = json!({ "ENV": random.pick(&WORDS), "deb": random.pick(&WORDS) });
        }
    }
    data
}

/// A value; `small`: no number that a loop would take long for.
pub(crate) fn value(random: &mut Random, depth: usize, small: bool) -> Json {
    match random.below(if depth == 0 { 7 } else { 11 }) {
        0 => Json::Null,
        1 => random.chance(2).into(),
        2 | 3 => match random.below(if small { 4 } else { 7 }) {
            0 => 0.into(),
            1 => 3.into(),
            2 => (-2).into(),
            3 => (random.below(30) as u64).into(),
            4 => u64::MAX.into(),
            5 => i64::MIN.into(),
            _ => 4_294_967_296u64.into(),
        },
        4 => [0.5, 1.0, 1e6, 1e21, -3.25, 1e-7, 123_456.789, 0.1, 2e20][random.below(9)].into(),
        5 | 6 => random.pick(&WORDS).into(),
        7 | 8 => (0..random.below(5)).map(|_| value(random, depth - 1, small)).collect(),
        _ => {
            let keys: Vec<&str> = KEYS.iter().copied().filter(|_| random.chance(3)).collect();
            Json::Object(keys.into_iter().map(|key| (key.into(), value(random, depth - 1, small))).collect())
        }
    }
}

/// The text with a character more, less or other.
pub(crate) fn mutated(random: &mut Random, text: String) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let signs: Vec<char> = "{}()|.$\"'`:=,-+ \n/*\\x0i%é€\u{1}".chars().collect();
    for _ in 0..1 + random.below(2) {
        let place = random.below(characters.len() + 1);
        let sign = signs[random.below(signs.len())];
        match random.below(4) {
            0 => characters.insert(place, sign),
            1 if place < characters.len() => characters[place] = sign,
            2 => characters.truncate(place),
            _ if place < characters.len() => drop(characters.remove(place)),
            _ => {}
        }
    }
    characters.into_iter().collect()
}
