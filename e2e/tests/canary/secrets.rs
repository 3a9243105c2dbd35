//! The marked values, and the search for them.

use e2e::Outcome;
use serde_json::{Value, json};

/// A value that contains no word of any language.
pub(crate) const PLAIN: &str = "Zq7xKpw2Vn-9f3kTgh";
/// Its encoding by Ruby's `Base64`.
const PLAIN_BASE64: &str = "WnE3eEtwdzJWbi05ZjNrVGdo";

/// Texts by the name of their property.
pub(crate) const TEXTS: &[(&str, &str)] = &[
    ("plain", PLAIN),
    ("lines", "Kx82mazQpt wr5Bd\nWq93zbYhv\tvj7Cf\n\n  Lm04ycXqd\n"),
    ("quotes", "Vb61\"Rt'y52\\wQ\\\"pk'Nn55zX"),
    ("marks", "!@#$%^&*()_+{}|:<>?~[];,./"),
    ("letters", "éàüñ-Øvrjß-ñandwq-日本語文字列"),
    ("url", "wqz://Usk83:Pw83kdls@Jd73xq.zvw:4815/Pzq8?Qz=Zz91xk#Fr77qz"),
    ("json", "{\"Jt52wqLm\": [\"Hz37kvBn\", Broxzq"),
    ("yaml", "Yv64rtPq: [Uncq81zs\n- Xw45: {"),
    ("erb", "<%= Gk19zqWv %> #{Dn28xkLw}"),
    ("base64", "SHc3M3hrWnEyOXZqTHA0OA=="),
    ("pem", "-----BEGIN CERTIFICATE-----\nMIIBqzXkVw93JtLp\n7QwZxNvb20RkTs8=\n-----END CERTIFICATE-----\n"),
];

/// The decoded `base64` of [`TEXTS`].
const DECODED: &str = "Hw73xkZq29vjLp48";

/// Numbers as they are written, by the name of their property.
pub(crate) const NUMBERS: &[(&str, &str)] =
    &[("number", "7391824650"), ("float", "918273.64554637"), ("big", "739182465017391824650173918246")];

/// All properties as a Hash, in JSON, which is YAML; some are deep in it.
pub(crate) fn properties() -> String {
    let mut all: serde_json::Map<String, Value> =
        TEXTS.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    all.insert("deep".into(), json!({"list": [{"inner": "Dp66qzVwXk"}, ["Ls99kqZwVj"]]}));
    let texts = Value::Object(all).to_string();
    let numbers: Vec<String> = NUMBERS.iter().map(|(name, number)| format!("\"{name}\": {number}")).collect();
    format!("{}, {}}}", &texts[..texts.len() - 1], numbers.join(", "))
}

/// Names of all properties.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().chain(NUMBERS).map(|(name, _)| *name).chain(["deep"])
}

/// The frame of a certificate is not secret, and templates contain it.
fn without_frame(secret: &str) -> Vec<&str> {
    if secret.starts_with("-----") {
        secret.lines().filter(|line| !line.starts_with("-----")).collect()
    } else {
        vec![secret]
    }
}

/// The shortest piece that must not be shown.
const PIECE: usize = 6;

/// No stream shows a secret or a piece of one.
pub(crate) fn assert_none_in(outcome: &Outcome) {
    assert_none_in_text(&format!("{}\n{}", outcome.stdout, outcome.stderr));
}

/// As [`assert_none_in`], of a text.
pub(crate) fn assert_none_in_text(text: &str) {
    let more = [PLAIN_BASE64, DECODED, "Dp66qzVwXk", "Ls99kqZwVj"];
    let secrets = TEXTS.iter().chain(NUMBERS).map(|(_, text)| *text).chain(more);
    let lowercase = text.to_lowercase();
    for secret in secrets.flat_map(without_frame) {
        let characters: Vec<char> = secret.to_lowercase().chars().collect();
        for piece in characters.windows(PIECE) {
            let piece: String = piece.iter().collect();
            let blank = piece.trim().len() < PIECE;
            if let Some(at) = lowercase.find(&piece).filter(|_| !blank) {
                let line = lowercase[..at].matches('\n').count();
                panic!("{piece:?} of {secret:?} is shown: {}", lowercase.lines().nth(line).unwrap_or_default());
            }
        }
    }
}
