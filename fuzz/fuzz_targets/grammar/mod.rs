//! Random templates: Ruby that reads, changes and defines whatever templates could share.

/// Prints what another template could have changed. It is first in each template, and the last template is nothing else.
const LOOK: &str = "<%= [p('text'), p('list'), p('hash'), properties.text, properties.list, spec.name, \
    spec.networks.default.ip, link('peers').instances.map(&:name), link('peers').p('text'), name, index, @kept, \
    defined?(KEPT), defined?(kept), p('late', 'none')].inspect %>\n";

/// Objects that several templates are given.
const SHARED: &[&str] = &[
    "p('text')",
    "p('list')",
    "p('list').first",
    "p('hash')",
    "p('hash')['deep']",
    "p('hash')['deep']['list']",
    "p('hash').values.first",
    "raw_properties",
    "properties.text",
    "properties.list",
    "properties.hash.key",
    "properties",
    "spec.name",
    "spec.networks.default.ip",
    "spec.networks.default",
    "spec",
    "name",
    "link('peers').instances",
    "link('peers').instances.last.name",
    "link('peers').properties",
    "link('peers').p('text')",
    "@links",
    "@raw_properties",
    "@spec",
    "self",
    "(p('text') || p('list'))",
    "[p('list'), 1].first",
    "{ a: p('hash') }[:a]",
    "p('list').each { |x| x }",
    "p('list').map { |x| x }.last",
    "p('hash').dup['deep']",
    "p('list').to_a",
    "String(p('text'))",
    "Array(p('list'))",
    "lookup_property(raw_properties, 'hash.deep.list')",
    "p('text').itself",
    "p('text').then { |x| x }",
    "\"#{p('text')}\"",
    "p('text').to_s",
    "p('text').dup",
    "p('list').sort",
    "p('list').select { |x| x }",
    "p('list').min",
    "kept",
    "local",
];

/// What may be done to an object, `OBJECT`.
const CHANGES: &[&str] = &[
    "OBJECT << 'x'",
    "OBJECT << ['x']",
    "OBJECT.concat(OBJECT)",
    "OBJECT.clear",
    "OBJECT.delete('one')",
    "OBJECT.delete('text')",
    "OBJECT['late'] = 'x'",
    "OBJECT[0] = 'x'",
    "OBJECT['key'] << 'x'",
    "OBJECT.upcase!",
    "OBJECT.push('x')",
    "OBJECT.unshift('x').pop",
    "OBJECT.merge!('late' => 'x')",
    "OBJECT.update('text' => 'x')",
    "OBJECT.freeze",
    "OBJECT.replace(OBJECT)",
    "OBJECT.map!(&:upcase)",
    "OBJECT.each { |x| x << 'x' }",
    "OBJECT.each { |k, v| v << 'x' }",
    "OBJECT.each(&:upcase!)",
    "OBJECT.map(&:freeze)",
    "OBJECT.inject(:<<)",
    "OBJECT.reduce(:concat)",
    // Not OBJECT itself, which would grow without end while it is read.
    "OBJECT.first(2).each_with_object(OBJECT) { |x, y| y << 'x' }",
    "OBJECT.tap { |x| x << 'x' }",
    "OBJECT.name = 'x'",
    "OBJECT.text = 'x'",
    "OBJECT.text += 'x'",
    "OBJECT.text << 'x'",
    "OBJECT.force_encoding('BINARY')",
    "OBJECT.instance_variable_set(:@kept, 1)",
    "OBJECT.send(:<<, 'x')",
    "OBJECT.public_send(:clear)",
    "OBJECT.method(:<<).call('x')",
    "OBJECT.define_singleton_method(:kept) { 1 }",
    "def OBJECT.kept; 1; end",
    "OBJECT += 'x'",
    "OBJECT ||= 'x'",
    "OBJECT.compare_by_identity",
    "OBJECT.default = 'x'",
    "OBJECT.delete_if { |x| x }",
    "OBJECT.sort_by!(&:to_s)",
    "OBJECT.extend(Comparable)",
    "OBJECT.fill('x')",
    "OBJECT.insert(0, 'x')",
    "OBJECT.gsub!('t', 'x')",
    "OBJECT.sub('t') { |m| m << 'x' }",
    "OBJECT.store('late', 'x')",
    "OBJECT.transform_values!(&:to_s)",
    "OBJECT.instance_eval { @kept = 1 }",
    "OBJECT.tally(p('hash'))",
    "OBJECT.sum('') { |x| x << 'x' }",
    "OBJECT.then { _1 << 'x' }",
    "OBJECT.each { _1 << 'x' }",
    "OBJECT.slice!(0)",
    "OBJECT.succ!",
    "OBJECT.prepend('x')",
    "OBJECT.squeeze!",
    "OBJECT.encode!('UTF-16LE')",
    "OBJECT.sort { |a, b| a << 'x'; a <=> b }",
    "OBJECT.fetch('late') { OBJECT['late'] = 'x' }",
    "OBJECT.dig('key') << 'x'",
    "OBJECT.values_at('key').first << 'x'",
];

/// Statements with an object `OBJECT`, and ones that define something.
const STATEMENTS: &[&str] = &[
    "local = OBJECT; local << 'x'",
    "local = []; local << OBJECT; local[0] << 'x'",
    "local, other = OBJECT, 1; local << 'x'",
    "local = ''; local = OBJECT; local << 'x'",
    "local = ''; [OBJECT].each { |local| local << 'x' }; local << 'y'",
    "local = [] && OBJECT; local << 'x'",
    "case OBJECT\nin [local, *] then local << 'x'\nin { 'key' => local } then local << 'x'\nelse local = 1\nend",
    "OBJECT => local; local << 'x'",
    "local = OBJECT if true; local << 'x'",
    "for local in [OBJECT] do local << 'x' end",
    "@kept = OBJECT; @kept << 'x'",
    "@kept ||= []; @kept << 'x'",
    "KEPT = OBJECT",
    "KEPT = 1",
    "KEPT ||= []; KEPT << 'x'",
    "KEPT = [OBJECT].freeze",
    "def kept; 1; end",
    "def kept(x = OBJECT); x; end; kept << 'x'",
    "def self.kept; 1; end",
    "def kept=(x); @kept = x; end; self.kept = OBJECT",
    "def text; 'x'; end",
    "def link(x); 'x'; end",
    "def p(*) = 'x'",
    "def inspect; 'x'; end",
    "def kept(&block) = OBJECT.each(&block); kept { |x| x << 'x' }",
    "define_method(:kept) { 1 } rescue 0",
    "local = ->(x) { x << 'x' }; local.call(OBJECT)",
    "local = lambda { |x| x << 'x' }; local.(OBJECT)",
    "local = proc { |x| x << 'x' }; [OBJECT].each(&local)",
    "local = :upcase!; [OBJECT].each(&local)",
    "local = :<<; OBJECT.send(local, 'x')",
    "local = method(:kept) rescue 1",
    "alias kept p",
    "undef p rescue 0",
    "class String; def kept; 1; end; end",
    "class ::Object; KEPT = 1; end",
    "module Kept; end",
    "String.class_eval { def kept; 1; end }",
    "self.class.class_eval { attr_accessor :kept }",
    "self.class.const_set(:KEPT, 1)",
    "$kept = OBJECT; $kept << 'x'",
    "ENV['KEPT'] = 'x'",
    "eval('KEPT = 1')",
    "binding.local_variable_set(:kept, 1)",
    "instance_variable_set(:@name, 'x')",
    "@name = 'x'",
    "@name << 'x'",
    "require 'json'; JSON.generate(OBJECT)",
    "OBJECT.to_json; OBJECT.to_yaml",
    "YAML.dump(OBJECT)",
    "local = YAML.load(YAML.dump('x')); local << 'x'",
    "local = <<~TEXT\n  #{OBJECT}\n  TEXT\nlocal << 'x'",
    "local = \"#{OBJECT << 'x' rescue 0}\"",
    "local = %w[a b]; local << OBJECT",
    "local = %(x); local << 'x'",
    "begin; raise ArgumentError, OBJECT.to_s; rescue => local; local.message << 'x'; end",
    "catch(:kept) { throw :kept, OBJECT } << 'x'",
    "loop { OBJECT << 'x'; break }",
    "local = while true do break OBJECT end; local << 'x'",
    "1.times { local = OBJECT; local << 'x' }",
    "if_p('text') { |x| x << 'x' }",
    "if_p('late') { |x| x << 'x' }.else { OBJECT << 'x' }",
    "if_link('peers') { |x| x.properties['text'] = 'x' }",
    "copy_property(raw_properties, raw_properties, 'late', 'x')",
    "set_property(raw_properties, 'late', 'x')",
    "sort_property(raw_properties)",
    "local = Struct.new(:a).new(OBJECT); local.a << 'x'",
    "local = Set.new([OBJECT]); local.each { |x| x << 'x' }",
    "local = [OBJECT].to_h { |x| [x, x] }",
    "ObjectSpace.garbage_collect",
    "srand(1); @kept = rand",
    "Dir.chdir('/')",
    "at_exit { 1 }",
    "exit!",
    "exit",
    "raise OBJECT.to_s",
    "abort 'x'",
    "trap('USR1') { 1 }",
    "Thread.current[:kept] = OBJECT",
    "$stdout = STDERR",
    "Encoding.default_internal = 'UTF-8'",
    "Random.srand(3)",
    "JSON.create_id = 'x'",
    "YAML.load('x').freeze",
    "IPAddr.new('10.0.0.1').to_s << 'x'",
    "URI('http://a/').host << 'x'",
    "Time.now.to_s << 'x'",
    "Bosh::Template::EvaluationContext.class_eval { def name; 'x'; end }",
    "Hash.new { |h, k| h[k] = OBJECT }['x'] << 'x'",
    "OBJECT << 'x' while false",
    "local = OBJECT.frozen? ? 1 : OBJECT << 'x'",
    "OBJECT&.<<('x')",
    "(OBJECT << 'x') rescue 0",
    "local = [*OBJECT]; local.first << 'x'",
    "local = { **p('hash') }; local['key'] << 'x'",
];

/// Choices that follow from an input. Short inputs make as many templates as long ones: each takes two starts of Ruby.
struct Choices(u64);

impl Choices {
    fn of(input: &[u8]) -> Choices {
        // FNV-1a, and never zero, where xorshift would stay.
        let hash = input
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        Choices(hash | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }

    fn pick<'s>(&mut self, from: &[&'s str]) -> &'s str {
        from[self.below(from.len())]
    }

    fn statement(&mut self) -> String {
        let object = self.pick(SHARED);
        let statement = if self.below(2) == 0 { self.pick(CHANGES) } else { self.pick(STATEMENTS) };
        let statement = statement.replace("OBJECT", object);
        match self.below(6) {
            0 => format!("begin; {statement}; rescue StandardError; end"),
            1 => format!("if p('text'); {statement}; end"),
            2 => format!("[1].each {{ |one| {statement} }}"),
            _ => statement,
        }
    }

    fn template(&mut self) -> String {
        let mut text = LOOK.to_owned();
        for _ in 0..=self.below(3) {
            let statement = self.statement();
            let tag =
                if self.below(4) == 0 { format!("<%= ({statement}).class %>") } else { format!("<% {statement} %>") };
            text.push_str(&tag);
        }
        text
    }
}

/// Templates of an input.
const TEMPLATES: usize = 40;

/// The templates of an input.
pub(crate) fn templates(input: &[u8]) -> Vec<String> {
    let mut choices = Choices::of(input);
    let mut templates: Vec<String> = (0..TEMPLATES).map(|_| choices.template()).collect();
    templates.push(LOOK.to_owned());
    templates
}
