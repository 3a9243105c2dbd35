//! Random property trees through the real `plan` and `render-jobs`, against a plain evaluation of the same by Ruby.
//!
//! The reference reads the same manifest and job specs with Psych, binds properties in a dozen lines of its own
//! (declared ones only, null is absent, defaults through JSON, Hashes sorted) and evaluates the same templates with ERB.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use e2e::run;
use testkit::random::Random;

const ROUNDS: u64 = 3;
const JOBS: usize = 30;
const PROPERTIES: usize = 6;

/// Expressions on a value that show its type, its order and its bytes.
const TEMPLATES: &[(&str, &str)] = &[
    ("inspect", "<%= raw_properties.inspect %>\n"),
    ("each", "<% raw_properties.each do |k, v| %><%= k %>: <%= v.class %> <%= v %>\n<% end %>"),
    ("json", "<%= raw_properties.to_json rescue $!.class %>\n"),
    ("pretty", "<%= JSON.pretty_generate(raw_properties) rescue $!.class %>\n"),
    ("yaml", "<%= raw_properties.to_yaml %>"),
    ("single", "<% raw_properties.each_key do |k| -%>\n<%= p(k, :none).to_yaml -%>\n<% end -%>\n"),
    ("struct", "<%= properties.to_h.keys.inspect %> <%= properties.v0.inspect %>\n"),
];

const REFERENCE: &str = r#"
require 'json'; require 'yaml'; require 'erb'; require 'ostruct'
Encoding.default_external = Encoding::UTF_8
def load(path) = YAML.safe_load(File.read(path), permitted_classes: [Symbol], aliases: true)
def sorted(v) = v.is_a?(Hash) ? v.map { |k, x| [k, sorted(x)] }.sort_by(&:first).to_h : v
def struct(v)
  case v
  when Hash then OpenStruct.new(v.transform_values { |x| struct(x) })
  when Array then v.map { |x| struct(x) }
  else v
  end
end
class Context
  attr_reader :raw_properties, :properties
  def initialize(bound)
    @raw_properties = bound
    @properties = struct(bound)
  end
  def p(name, default) = @raw_properties[name].nil? ? default : @raw_properties[name]
  def look = binding
end
load('manifest.yml')['instance_groups'][0]['jobs'].each do |job|
  spec = load("jobs-src/r/#{job['name']}/spec")
  bound = {}
  JSON.parse(JSON.generate(spec['properties'])).each do |name, definition|
    given = job['properties'][name]
    bound[name] = sorted(given.nil? ? definition['default'] : given)
  end
  Dir["jobs-src/r/#{job['name']}/templates/*"].each do |path|
    text = ERB.new(File.read(path), trim_mode: '-').result(Context.new(bound).look)
    File.binwrite("expected/#{job['name']}-#{File.basename(path)}", text)
  end
end
"#;

/// Plain scalars with a special meaning in YAML 1.1 or Psych.
const PLAIN: &[&str] = &[
    "0",
    "1",
    "-1",
    "42",
    "0755",
    "08",
    "0x1F",
    "0b101",
    "1_000",
    "1.5",
    "1.10",
    ".5",
    "1e3",
    "1.5e+3",
    "1.0e-7",
    "~",
    "null",
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "1:30",
    "12:30:45",
    "1:60",
    "0o7",
    "word",
    "two words",
    "a-b",
    "10.0.0.0/8",
    "2001:db8::1",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "1073741824",
    "-1073741825",
    "123456789012345678901234567890",
    "0.1",
    "1.0e+16",
    "-0.0",
    "5.0e-324",
    "!!str 12",
    "!ruby/symbol sym",
    "!binary aGVsbG8=",
    "v1.2.3",
    "=",
    "<%= 1 %>",
    ".nan",
    ".inf",
    "-.inf",
];

const PIECES: &[&str] = &[
    "a",
    "b",
    " ",
    "  ",
    "\\n",
    "\\t",
    "\\\"",
    "\\\\",
    "'",
    ":",
    ": ",
    "- ",
    "#",
    " #",
    "%",
    "{",
    "}",
    "[",
    "]",
    ",",
    "&",
    "*",
    "!",
    "|",
    ">",
    "@",
    "`",
    "~",
    "yes",
    "0",
    "1.0",
    "ü",
    "☃",
    "😀",
    "\\r\\n",
    "\\0",
    "\\e",
    "\\x7f",
    "\\u0085",
    "\\u2028",
    "<%=",
    "%>",
    "-----BEGIN-----",
    "\\n\\n",
    "a rather long run of words that Psych folds when it writes it",
];

const KEYS: &[&str] = &[
    "a",
    "b",
    "c",
    "name",
    "size",
    "with-dash",
    "with.dot",
    "A",
    "_",
    "'1'",
    "''",
    "'true'",
    "ü",
    "☃",
    "'a b'",
    "zz",
    "'yes'",
];

#[test]
fn random_properties_render_as_ruby_evaluates_them() {
    for seed in 1..=ROUNDS {
        let work = tempfile::tempdir().unwrap();
        write(work.path(), &mut Random::new(seed)).unwrap();
        // The Ruby version of the executables, if the machine's differs.
        let mut ruby = Command::new(std::env::var_os("BOSON_E2E_RUBY").unwrap_or_else(|| "ruby".into()));
        ruby.args(["--disable-gems", "-e", REFERENCE]).current_dir(work.path());
        assert!(ruby.status().unwrap().success(), "seed {seed}: the reference failed");
        rendered(work.path(), seed);
        for job in 0..JOBS {
            for (template, _) in TEMPLATES {
                let came = fs::read(work.path().join(format!("jobs/j{job}/{template}"))).unwrap();
                let expected = fs::read(work.path().join(format!("expected/j{job}-{template}"))).unwrap();
                assert!(
                    came == expected,
                    "seed {seed}, job {job}, {template}:\nRuby:  {:?}\nboson: {:?}\n{}",
                    String::from_utf8_lossy(&expected),
                    String::from_utf8_lossy(&came),
                    fs::read_to_string(work.path().join(format!("jobs-src/r/j{job}/spec"))).unwrap_or_default(),
                );
            }
        }
    }
}

fn rendered(work: &Path, seed: u64) {
    let environment = [("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "."), ("JOBS_DIR", ".")];
    for output in ["output", "again"] {
        let plan = run(&["plan", "--output-dir", output], &environment, work);
        assert_eq!(plan.code, Some(0), "seed {seed}: {}", plan.stderr);
    }
    for document in ["deployment", "g/ig-resolved", "g/bpm"] {
        let read = |output: &str| fs::read(work.join(output).join(document).join("output.json")).unwrap();
        assert!(read("output") == read("again"), "seed {seed}: two plans have a different {document}");
    }
    let output: serde_json::Value =
        serde_json::from_slice(&fs::read(work.join("output/g/ig-resolved/output.json")).unwrap()).unwrap();
    fs::write(work.join("properties.yaml"), output["properties.yaml"].as_str().unwrap()).unwrap();
    let arguments = ["render-jobs", "-g", "g", "-m", "properties.yaml", "-j", ".", "-d", "jobs", "--pod-ordinal", "0"];
    let render = run(&arguments, &[], work);
    assert_eq!(render.code, Some(0), "seed {seed}: {}", render.stderr);
}

/// A manifest with one group, a job spec for each of its jobs, and the templates.
fn write(work: &Path, random: &mut Random) -> std::io::Result<()> {
    let mut manifest =
        "name: d\nreleases: [{name: r, version: 1}]\ninstance_groups:\n- name: g\n  instances: 1\n  jobs:\n".to_owned();
    fs::create_dir(work.join("expected"))?;
    for job in 0..JOBS {
        let mut values = Values { random, anchors: 0, prefix: format!("m{job}_"), json: false };
        let _ = write!(manifest, "  - name: j{job}\n    release: r\n    properties:\n      undeclared: 1\n");
        for i in 0..PROPERTIES {
            if !values.random.one_in(3) {
                let _ = writeln!(manifest, "      v{i}: {}", values.value(4));
            }
        }
        let mut spec = format!("name: j{job}\ntemplates:\n");
        for (template, _) in TEMPLATES {
            let _ = writeln!(spec, "  {template}: {template}");
        }
        spec.push_str("properties:\n");
        values.json = true;
        values.anchors = 0;
        for i in 0..PROPERTIES {
            let _ = writeln!(spec, "  v{i}: {{default: {}}}", values.value(3));
        }
        let directory = work.join(format!("jobs-src/r/j{job}"));
        fs::create_dir_all(directory.join("templates"))?;
        fs::write(directory.join("spec"), spec)?;
        for (template, text) in TEMPLATES {
            fs::write(directory.join("templates").join(template), text)?;
        }
    }
    fs::write(work.join("manifest.yml"), manifest)
}

/// Random YAML in flow style.
struct Values<'a> {
    random: &'a mut Random,
    anchors: usize,
    /// Of anchors: an alias finds only those of its own job.
    prefix: String,
    /// Only values that JSON can represent.
    json: bool,
}

impl Values<'_> {
    fn value(&mut self, depth: usize) -> String {
        match self.random.below(if depth == 0 { 5 } else { 10 }) {
            0 | 1 => self.plain(),
            2..=4 => self.text(),
            5 | 6 => {
                let items: Vec<String> = (0..self.random.below(4)).map(|_| self.value(depth - 1)).collect();
                format!("[{}]", items.join(", "))
            }
            7 if self.anchors > 0 => {
                let anchor = self.random.below(self.anchors);
                format!("*{}{anchor}", self.prefix)
            }
            // Anchored arrays hold scalars only: Hashes are sorted in some places and not in others.
            8 => {
                let items: Vec<String> = (0..self.random.below(3)).map(|_| self.value(0)).collect();
                self.anchors += 1;
                format!("&{}{} [{}]", self.prefix, self.anchors - 1, items.join(", "))
            }
            _ => {
                let mut pairs: Vec<String> = Vec::new();
                for _ in 0..self.random.below(5) {
                    let key = *self.random.pick(KEYS);
                    pairs.push(format!("{key}: {}", self.value(depth - 1)));
                }
                format!("{{{}}}", pairs.join(", "))
            }
        }
    }

    fn plain(&mut self) -> String {
        loop {
            let plain = *self.random.pick(PLAIN);
            if !(self.json && (plain.ends_with(".nan") || plain.ends_with(".inf"))) {
                return plain.to_owned();
            }
        }
    }

    fn text(&mut self) -> String {
        let pieces: String = (0..self.random.below(7)).map(|_| *self.random.pick(PIECES)).collect();
        format!("\"{pieces}\"")
    }
}
