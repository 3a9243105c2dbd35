# Loads documents as Psych does and as Boson::Loader does, and says where they differ.
# ARGV: path of loader.rb, seed, number of random documents.
require 'psych'

module Boson
  def self.part(*); end

  def self.feature(*); end
end
require ARGV[0]

CASES = [
  '', "---\n", 'a', "- 1\n- [2, {a: b}]", "a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2", "? {a: 1}\n: b", "? [a]\n: 1",
  '&a [*a]', "x: !!str 12\ny: !!int '3'\nz: !foo bar", 'a: !!set {x}', 'a: !ruby/object:X {}', '<<: 5', '<<: [{a: 1}, {a: 2}]',
  '!!str <<: {a: 1}', "'<<': {a: 1}", "b: 2\n<<: {b: 1}", 'a: 2020-01-01', "a: :sym\n:k: v", 'a: !binary aGVsbG8=',
  "a: 1\n---\nb: %", 'a: b: c', "- &x 1\n- *x", '&k key: *k', 'a: *nope', 'a: !omap [a: 1]', "k: |\n  x\n  y\n",
  "1: a\n0x10: b\nyes: c\n~: d", "--- |\n foo", "--- &a\nx: *a", '{b: 2, <<: {b: 1}}', '- !<tag:yaml.org,2002:str> 1',
  'a: "x\ud83d"', '<<: *q', "? <<\n: {a: 1}", "a: &e\nb: *e", "%YAML 1.2\n---\na: yes", 'a: !!float abc', "a: 1\na: 2",
  "a: &x foo\nb: *x\nc: *x", "- &a {x: 1}\n- &a {y: 2}\n- *a", "a: 'it''s'", "a: >\n  folded\n  text\n\nb: |+\n  keep\n\n",
  "x: {<<: [*a]}", "x: &a {k: 1}\ny: {<<: [*a, {k: 2}]}", "? &k a\n: 1\n*k : 2", "a: !ruby/sym b", "- !ruby/regexp /a/",
  "a: !seq []", "a: !map {}", "\xEF\xBB\xBFa: 1", "a:\tb", "a: 1:30", "a: 0o7\nb: 010\nc: 1_000\nd: 1,000", "a: .inf\nb: -.INF",
  "a: 2001-12-14t21:59:43.10-05:00", 'a: "\/"', "a: b #c\n#d", '"a": 1'
].freeze

SCALARS = %w[
  a bb yes no null ~ 1 010 0x1f 1.5 1e3 1.5e+3 :s true 12:30 2020-01-01 'q' "d\n" <<  a-b &x *x !!str !t - 99999999999999999999
].freeze

def random_document(random)
  lines = Array.new(random.rand(1..8)) do
    indent = '  ' * random.rand(3)
    value = Array.new(random.rand(1..2)) { SCALARS.sample(random: random) }.join(' ')
    case random.rand(5)
    when 0 then "#{indent}- #{value}"
    when 1 then "#{indent}#{SCALARS.sample(random: random)}:"
    when 2 then "#{indent}#{SCALARS.sample(random: random)}: [#{value}, {#{SCALARS.sample(random: random)}: #{value}}]"
    else "#{indent}#{SCALARS.sample(random: random)}: #{value}"
    end
  end
  lines.join("\n")
end

def outcome
  value = yield
  # Texts, because NaN is not equal to itself; YAML tells which objects are one, but for Strings: whether two equal keys
  # are one object depends on the garbage collector.
  [:loaded, value.inspect, Psych.dump(value)]
rescue StandardError => e
  [e.class, e.message]
end

random = Random.new(ARGV[1].to_i)
documents = CASES + Array.new(ARGV[2].to_i) { random_document(random) }
different = documents.reject do |text|
  by_psych = outcome { Psych.safe_load(text, permitted_classes: [Symbol], aliases: true) }
  by_psych == outcome { Boson::Loader.load(text) }
end
loaded = documents.count { |text| outcome { Psych.safe_load(text, permitted_classes: [Symbol], aliases: true) }[0] == :loaded }
puts "#{documents.size} documents, #{loaded} of them loaded"
different.first(5).each { |text| puts "different: #{text.inspect}" }
exit different.empty?
