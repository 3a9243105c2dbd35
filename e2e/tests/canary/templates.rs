//! Templates that fail while they process a value.

use std::path::Path;

use testkit::files::write;

use crate::secrets::{NUMBERS, PLAIN, TEXTS, names, properties};
use crate::{job, plan, planned, render, render_with, template};

/// Ways to fail with the value `V`, and the part of the message that must stay readable.
pub(crate) const WITH_ANY: &[(&str, &str)] = &[
    ("raise V.to_s", "<redacted>"),
    ("raise ArgumentError, \"the value #{V} is no good\"", "the value <redacted> is no good"),
    ("raise \"pieces: x#{V.to_s[1..-2]}x\"", "pieces: x<redacted>x"),
    ("raise V.inspect", "<redacted>"),
    ("raise [V, { 'key' => V }].inspect.inspect", "key"),
    ("raise V.to_json", "<redacted>"),
    ("raise({ 'key' => [V] }.to_yaml)", "---"),
    ("raise V.to_s.upcase", "<redacted>"),
    ("raise V.to_s.swapcase", "<redacted>"),
    ("raise V.to_s.tr('-_.', '/')", "<redacted>"),
    ("raise V.to_s.chars.join(' ')", "<redacted>"),
    ("raise V.to_s.dump", "<redacted>"),
    ("raise V.to_s.shellescape", "<redacted>"),
    ("raise Regexp.escape(V.to_s)", "<redacted>"),
    ("raise CGI.escape(V.to_s)", "<redacted>"),
    ("raise Base64.strict_encode64(V.to_s)", "<redacted>"),
    ("raise Base64.encode64(V.to_s)", "<redacted>"),
    ("raise V.to_s.lines.first", "<redacted>"),
    ("V.there_is_no_such_method", "there_is_no_such_method"),
    ("V.instance_eval { nothing_of_this_name }", "nothing_of_this_name"),
    ("{ 'first' => V }.fetch('second')", "key not found: \"second\""),
    ("{ 'first' => V }.fetch(V)", "key not found: "),
    ("[1, V, nil].sort", "comparison of"),
    ("[V].fetch(4711)", "index 4711 outside of array bounds"),
    ("[V].freeze << 1", "can't modify frozen Array: "),
    ("Struct.new(:member).new(V).other_member", "other_member"),
    ("case V\nin [:impossible] then 1\nend", "<redacted>"),
    ("throw V.to_s.to_sym", "uncaught throw "),
    ("abort V.to_s", "<redacted>"),
    (
        "class Own < StandardError; def initialize(a, b) = super(\"#{a} failed for #{b}\"); end; raise Own.new('it', V)",
        "it failed for ",
    ),
    ("v = V; e = StandardError.new; e.define_singleton_method(:to_s) { \"odd #{v}\" }; raise e", "odd <redacted>"),
    ("v = V; e = StandardError.new; e.define_singleton_method(:to_s) { raise v.to_s }; raise e", "cannot be shown"),
    ("begin; raise V.to_s; rescue => e; raise 'another'; end", "another"),
    ("p(\"s.#{V}\")", "Can't find property '[\"s."),
    ("p([V.to_s, 'other'])", "Can't find property '["),
    ("link(V.to_s)", "Can't find link '"),
    ("require V.to_s", "cannot load such file -- "),
    ("File.read(\"/nowhere/#{V.to_s.delete(\"/\")}\")", "No such file or directory @ rb_sysopen - /nowhere/"),
    (
        "puts V; warn V; $stderr.puts V; STDOUT.write(V.to_s); system('echo', V.to_s); raise 'said it all'",
        "said it all",
    ),
    ("at_exit { warn V }; exit 3", "exit"),
    ("warn V; exit!", "ended the process it was evaluated in"),
    ("properties.s.nothing.more", "more"),
    ("properties.s.nothing(1)", "nothing"),
    ("raise properties.s.inspect", "<redacted>"),
    ("raise spec.to_h.inspect", "<redacted>"),
    ("raise raw_properties.to_s", "<redacted>"),
    ("raise link('vault').properties.inspect", "<redacted>"),
    ("raise inspect", "EvaluationContext"),
    ("typing_error", "typing_error"),
    ("V[", "syntax error"),
    ("sleep(V", "syntax error"),
];

/// Ways that need a string.
const WITH_TEXT: &[(&str, &str)] = &[
    ("Integer(V)", "invalid value for Integer(): \""),
    ("Float(V)", "invalid value for Float(): \""),
    ("1 + V", "String can't be coerced into Integer"),
    ("[1].first(V)", "no implicit conversion of String into Integer"),
    ("V.freeze << 'x'", "can't modify frozen String: \""),
    ("JSON.parse(V)", ""),
    ("JSON.parse(\"[\" + V)", ""),
    ("raise YAML.load(V).inspect", "<redacted>"),
    ("YAML.load(\"a: *#{V}\")", ""),
    ("IPAddr.new(V)", "invalid address"),
    ("raise URI.parse(V).inspect", "<redacted>"),
    ("OpenSSL::X509::Certificate.new(V)", ""),
    ("OpenSSL::PKey.read(V, '')", ""),
    ("Regexp.new('(' + V)", ""),
    ("Object.const_get(V)", "wrong constant name"),
    ("V.to_sym.to_proc.call(1)", "undefined method "),
    ("raise Base64.decode64(V.gsub(/\\s/, '')).inspect", ""),
];

/// The sources of a template's value.
const SOURCES: &[(&str, &str)] = &[("p", "p('s.NAME')"), ("l", "link('vault').p('s.NAME')")];

pub(crate) const MANIFEST: &str = "name: d
releases: [{name: r, version: 1}]
instance_groups:
- name: ig
  instances: 1
  jobs:
";

/// Each way with each value from each source: the template's name, its text, the readable part and whether it is shown.
fn failing() -> Vec<(String, String, &'static str, bool)> {
    let mut all = Vec::new();
    let mut add = |kind: &str, ways: &'static [(&str, &str)], name: &str| {
        for (w, (way, stays)) in ways.iter().enumerate() {
            for (source, expression) in SOURCES {
                let code = way.replace('V', &expression.replace("NAME", name));
                let file = format!("{kind}{w}-{source}-{name}");
                all.push((file, format!("# line one\n<%= begin\n{code}\nend %>\n"), *stays, name == "plain"));
            }
        }
    };
    for name in names() {
        add("any", WITH_ANY, name);
    }
    for (name, _) in TEXTS {
        add("text", WITH_TEXT, name);
    }
    all
}

#[test]
fn failing_templates_show_no_value() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path();
    let templates = failing();
    setting(work, &templates);
    planned(work);
    assert_eq!(plan(work).code, Some(66), "a plan of the whole deployment renders everything");
    let outcome = render(work);
    assert_eq!(outcome.code, Some(66), "{}", outcome.stderr);
    let mut wrong = Vec::new();
    for (name, code, stays, shown) in &templates {
        let start = format!("Error filling in template '{name}' (line ");
        match outcome.stderr.lines().find_map(|line| line.split_once(&start).map(|(_, rest)| rest)) {
            None => wrong.push(format!("it does not fail: {code}")),
            Some(rest) if *shown && !rest.contains(stays) => wrong.push(format!("{code}: {rest}")),
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_template_that_times_out_shows_no_value() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path();
    let text = "<% warn p('s.plain'); sleep 3600 until p('s.lines').empty? %>".to_owned();
    setting(work, &[("endless".into(), text, "", true)]);
    planned(work);
    let outcome = render_with(work, ("TEMPLATE_TIMEOUT", "1"));
    assert_eq!(outcome.code, Some(66), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("took longer than 1s"), "{}", outcome.stderr);
}

/// A job with these templates, and one that provides the link.
fn setting(work: &Path, templates: &[(String, String, &str, bool)]) {
    let listed: Vec<_> = templates.iter().map(|(name, ..)| (name.clone(), format!("config/{name}"))).collect();
    let declared: String = names().map(|name| format!("  s.{name}: {{}}\n")).collect();
    let exposed: String = names().map(|name| format!("  - s.{name}\n")).collect();
    job(work, "leaky", &format!("consumes:\n- {{name: vault, type: vault}}\nproperties:\n{declared}"), &listed);
    for (name, text, ..) in templates {
        template(work, "leaky", name, text);
    }
    let provides = format!("provides:\n- name: vault\n  type: vault\n  properties:\n{exposed}properties:\n{declared}");
    job(work, "vault", &provides, &[]);
    let properties = properties();
    let jobs =
        ["leaky", "vault"].map(|name| format!("  - {{name: {name}, release: r, properties: {{s: {properties}}}}}\n"));
    write(&work.join("manifest.yml"), format!("{MANIFEST}{}", jobs.concat()));
}

#[test]
fn every_mark_is_long_enough_to_be_searched() {
    assert!(TEXTS.iter().all(|(_, text)| text.chars().count() >= 6) && NUMBERS.iter().all(|(_, n)| n.len() >= 6));
    assert_eq!(TEXTS[0].1, PLAIN);
}
