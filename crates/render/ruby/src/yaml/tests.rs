//! What is read here is what Psych reads. Needs the `ruby` executable, the reference.

use std::io::{BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use testkit::random::Random;

use super::scalar::{Plain, plain};
use super::*;
use crate::marshal;

/// Psych, in a Ruby process that answers questions.
struct Psych {
    process: Child,
    questions: Option<BufWriter<ChildStdin>>,
    answers: BufReader<ChildStdout>,
}

impl Psych {
    fn start() -> Psych {
        let mut command = Command::new(std::env::var_os("RUBY").unwrap_or_else(|| "ruby".into()));
        command.args(["--disable-gems", "-W0"]).arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/psych.rb"));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let questions = process.stdin.take().map(BufWriter::new);
        let answers = BufReader::new(process.stdout.take().unwrap());
        Psych { process, questions, answers }
    }

    fn ask(&mut self, kind: u8, text: &[u8]) {
        let questions = self.questions.as_mut().unwrap();
        questions.write_all(&[kind]).unwrap();
        questions.write_all(&(text.len() as u32).to_be_bytes()).unwrap();
        questions.write_all(text).unwrap();
    }

    fn answer(&mut self) -> Option<Vec<u8>> {
        self.questions.as_mut().unwrap().flush().unwrap();
        let mut length = [0; 4];
        self.answers.read_exact(&mut length).unwrap();
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        self.answers.read_exact(&mut answer).unwrap();
        (!answer.is_empty()).then_some(answer)
    }

    fn answer_to(&mut self, kind: u8, text: &[u8]) -> Option<Vec<u8>> {
        self.ask(kind, text);
        self.answer()
    }
}

impl Drop for Psych {
    fn drop(&mut self) {
        drop(self.questions.take());
        self.process.wait().unwrap();
    }
}

/// Every text of up to three of these characters, and random longer ones.
fn texts(random: &mut Random) -> Vec<String> {
    let alphabet = "01789.:-+_,~<=* \t\netTZxbfNoyüé/'\"#!&%@{[|";
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut texts = vec![String::new()];
    let mut last = texts.clone();
    for _ in 0..3 {
        last = last.iter().flat_map(|text| alphabet.iter().map(move |c| format!("{text}{c}"))).collect();
        texts.extend_from_slice(&last);
    }
    let words = [
        "null",
        "Null",
        "NULL",
        "true",
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "False",
        ".inf",
        ".NaN",
        "-.inf",
        "+.INF",
        "2020-01-01",
        "2001-12-14t21:59:43.10-05:00",
        "2020-1-1",
        "12:30",
        "190:20:30",
        "0x1F",
        "0b101",
        "0o7",
        "0755",
        "09",
        "1_000",
        "1,000",
        "1e3",
        "1.5e+3",
        "1.5",
        "-0",
        "-0.0",
        "0.10",
        "10.0.0.1",
        "1.2.3",
        "12345678901234567",
        "123456789012345678901",
        "30s",
        "1h",
        "a1b2",
        "4e5",
        "4e+5",
        "1-2",
        ":sym",
        ":\"a b\"",
        "::",
        "@x",
        "<<",
        "=",
        "550e8400-e29b",
        "0.1",
        "100.25",
        "99999999999999999.5",
        "0a",
        "1 ",
        " 1",
        "\u{a0}1",
        "\u{2028}",
        "ünull",
    ];
    texts.extend(words.iter().map(|w| (*w).to_owned()));
    for _ in 0..60_000 {
        let mut text = String::new();
        for _ in 0..1 + random.below(4) {
            if random.one_in(3) {
                text.push_str(words[random.below(words.len())]);
            } else {
                text.extend((0..random.below(5)).map(|_| *random.pick(&alphabet)));
            }
        }
        texts.push(text);
    }
    texts
}

#[test]
fn plain_scalars_are_what_psych_takes_them_for() {
    let texts = texts(&mut Random::new(3));
    let mut psych = Psych::start();
    let (mut certain, mut unknown) = (0, 0);
    for texts in texts.chunks(500) {
        texts.iter().for_each(|text| psych.ask(b's', text.as_bytes()));
        for text in texts {
            let theirs = psych.answer();
            let ours = match plain(text) {
                Plain::Text => Value::str(text.as_str()),
                Plain::Value(value) => value,
                Plain::Unknown => {
                    unknown += 1;
                    continue;
                }
            };
            certain += 1;
            let theirs = marshal::load(&theirs.unwrap_or_else(|| panic!("refused: {text:?}"))).unwrap();
            assert!(testkit::values::same(&ours, &theirs), "{text:?}");
            if let (Value::Float(ours), Value::Float(theirs)) = (&ours, &theirs) {
                assert_eq!(ours.to_bits(), theirs.to_bits(), "{text:?}");
            }
        }
    }
    assert!(certain > 2 * unknown, "{certain} are certain, {unknown} are not");
}

const DOCUMENTS: &[&str] = &[
    "",
    "---\n",
    "a",
    "- 1\n- [2, {a: b}]",
    "a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2",
    "? {a: 1}\n: b",
    "&a [*a]",
    "&a [&a x, *a]",
    "a: &x 1\nb: &x {c: *x}\nd: *x",
    "a: &x {b: &x 1}\nd: *x",
    "x: !!str 12",
    "a: !!set {x}",
    "<<: 5",
    "<<: [{a: 1}, {a: 2, b: 1}]\nb: 5",
    "'<<': {a: 1}",
    "b: 2\n<<: {b: 1}",
    "a: 2020-01-01",
    "a: :sym\n:k: v",
    "a: 1\n---\nb: %",
    "a: b: c",
    "- &x 1\n- *x",
    "&k key: *k",
    "a: *nope",
    "k: |\n  x\n  y\n",
    "1: a\n0x10: b\nyes: c\n~: d",
    "{b: 2, <<: {b: 1}}",
    "a: \"x\\ud83d\"",
    "a: &e\nb: *e",
    "%YAML 1.2\n---\na: yes",
    "a: 1\na: 2",
    "a: &x foo\nb: *x\nc: *x",
    "- &a {x: 1}\n- &a {y: 2}\n- *a",
    "a: 'it''s'",
    "a: >\n  folded\n  text\n\nb: |+\n  keep\n\n",
    "x: {<<: [*a]}",
    "x: &a {k: 1}\ny: {<<: [*a, {k: 2}]}",
    "? &k a\n: 1\n*k : 2",
    "\u{feff}a: 1",
    "a:\tb",
    "a: b #c\n#d",
    "\"a\": 1",
    "a: a\n\n b",
    "1.5: a\n1.5: b",
    "a: {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9, j: 1, k: 1, l: 1, m: 1, n: 1, o: 1, p: 1, q: 1, a: 2, q: 3}",
];

const SCALARS: &[&str] = &[
    "a",
    "bb",
    "yes",
    "no",
    "null",
    "~",
    "1",
    "010",
    "1.5",
    ":s",
    "true",
    "12:30",
    "2020-01-01",
    "'q'",
    "\"d\\n\"",
    "<<",
    "a-b",
    "&x",
    "*x",
    "!!str",
    "-",
    "99999999999999999999",
    "10.0.0.1",
    "key",
    "*y",
    "&y",
    "ü",
];

fn document(random: &mut Random) -> String {
    let lines = (0..1 + random.below(8)).map(|_| {
        let indent = "  ".repeat(random.below(3));
        let value: Vec<&str> = (0..1 + random.below(2)).map(|_| *random.pick(SCALARS)).collect();
        let (value, key, other) = (value.join(" "), *random.pick(SCALARS), *random.pick(SCALARS));
        match random.below(5) {
            0 => format!("{indent}- {value}"),
            1 => format!("{indent}{key}:"),
            2 => format!("{indent}{key}: [{value}, {{{other}: {value}}}]"),
            _ => format!("{indent}{key}: {value}"),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn documents_are_read_as_psych_reads_them() {
    let mut random = Random::new(5);
    let mut psych = Psych::start();
    let mut scalars = std::collections::HashMap::new();
    let documents = DOCUMENTS.iter().map(|d| (*d).to_owned()).collect::<Vec<_>>();
    let documents = documents.into_iter().chain((0..20_000).map(|_| document(&mut random)));
    let mut read = 0;
    for text in documents {
        let theirs = psych.answer_to(b'd', text.as_bytes());
        let mut ask = |plain: &str| {
            let answer = scalars.entry(plain.to_owned()).or_insert_with(|| psych.answer_to(b's', plain.as_bytes()));
            answer.as_ref().and_then(|value| marshal::load(value).ok())
        };
        let Ok(ours) = reader::read(text.as_bytes(), &mut ask) else { continue };
        read += 1;
        let ours = psych.answer_to(b'm', &marshal::dump(&ours));
        assert!(theirs.is_some() && theirs == ours, "{text:?}");
    }
    assert!(read > 5_000, "only {read} documents were read");
}
