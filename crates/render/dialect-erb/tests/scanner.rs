//! Random strings of ERB's tokens: the scanner makes of them what ERB's own compiler makes.
//!
//! Needs the `ruby` executable, the reference; it runs once for all strings.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use dialect_erb::scanner;
use testkit::random::Random;

const STRINGS: usize = 30_000;

/// What templates are made of, and what could confuse a scanner.
const TOKENS: &[&[u8]] = &[
    b"<%",
    b"<%",
    b"%>",
    b"%>",
    b"<%=",
    b"<%-",
    b"-%>",
    b"<%#",
    b"<%%",
    b"%%>",
    b"<",
    b"%",
    b">",
    b"-",
    b"=",
    b"#",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"  ",
    b"\t",
    b"a",
    b"x = 1",
    b"\"",
    b"\\",
    b"'",
    b"#{1}",
    b"#$a",
    b"#@a",
    b"`",
    b";",
    b"\0",
    b"\x1b",
    b"\x7f",
    b"\x0b",
    b"\x0c",
    "\u{fc}".as_bytes(),
    "\u{2028}".as_bytes(),
    b"-%",
    b"%%",
    b"%=",
];

/// ERB, with the one deliberate difference: a comment that spans lines keeps their count.
const REFERENCE: &str = r#"
require 'erb'
class Counting < ERB::Compiler
  def compile_content(stag, out)
    stag == '<%#' ? content.count("\n").times { out.cr } : super
  end
end
class Reference < ERB
  def make_compiler(trim_mode) = Counting.new(trim_mode)
end
$stdin.binmode
$stdout.binmode
until $stdin.eof?
  text = $stdin.read($stdin.read(4).unpack1('N')).force_encoding(Encoding::UTF_8)
  code = Reference.new(text, trim_mode: '-').src.b
  $stdout.write([code.bytesize].pack('N'), code)
end
"#;

#[test]
fn random_templates_compile_as_erb_compiles_them() {
    let mut random = Random::new(28);
    let templates: Vec<Vec<u8>> = (0..STRINGS).map(|_| template(&mut random)).collect();
    let input: Vec<u8> = templates.iter().flat_map(|t| framed(t)).collect();
    let output = reference(input);
    let mut rest = output.as_slice();
    for template in &templates {
        let (length, tail) = rest.split_at(4);
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        let (expected, tail) = tail.split_at(length);
        let code = scanner::compile(template);
        assert!(
            code == expected,
            "{:?}\n  ERB:     {:?}\n  scanner: {:?}",
            String::from_utf8_lossy(template),
            String::from_utf8_lossy(expected),
            String::from_utf8_lossy(&code)
        );
        rest = tail;
    }
}

/// Ruby's own tokens, whole and broken, for what looks at a template's code.
const CODE: &[&[u8]] = &[
    b"p('a')",
    b"if_p(",
    b"do |x, (y, *z)|",
    b"end",
    b"\"#{",
    b"}\"",
    b"%w(",
    b")",
    b"<<~E\n",
    b"\nE\n",
    b"/re#{x}/",
    b"?a",
    b":sym",
    b"&:m",
    b"->(a) {",
    b"@x",
    b"$~",
    b"[",
    b"]",
    b"{",
    b"}",
    b"=>",
    b"||=",
    b"<<",
    b".",
    b"::",
    b"&.",
    b"x",
    b"=",
    b"# c",
    b"\\",
    b"'",
    b"`",
    b"?",
    b"%",
    b"%q{",
    b"__END__",
    b"=begin\n",
    b"\n=end\n",
    b"1.5e3",
    b"0x",
    b"\xff",
    b"\0",
];

#[test]
fn any_bytes_are_analysed_without_a_crash() {
    let mut random = Random::new(3);
    for _ in 0..STRINGS {
        let mut template = Vec::new();
        for _ in 0..random.below(20) {
            let tokens: &[&[u8]] = if random.one_in(3) { TOKENS } else { CODE };
            let token: &&[u8] = random.pick(tokens);
            template.extend_from_slice(token);
        }
        let facts = dialect_erb::analysis::analyse(&template);
        let apart = facts.isolation == dialect_erb::analysis::Isolation::Process;
        assert!(!apart || !facts.noted);
        scanner::compile(&template);
    }
}

fn template(random: &mut Random) -> Vec<u8> {
    loop {
        let count = random.below(14);
        let template: Vec<u8> = (0..count).flat_map(|_| random.pick(TOKENS).iter().copied()).collect();
        // Magic comments are left to ERB itself.
        if !scanner::has_magic_comment(&template) {
            return template;
        }
    }
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [length.as_slice(), bytes].concat()
}

fn reference(input: Vec<u8>) -> Vec<u8> {
    let mut ruby = Command::new("ruby")
        .args(["--disable-gems", "-e", REFERENCE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the ruby executable is the reference");
    let mut stdin = ruby.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let mut output = Vec::new();
    ruby.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    writer.join().unwrap().unwrap();
    assert!(ruby.wait().unwrap().success());
    output
}
