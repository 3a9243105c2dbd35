use super::*;

fn isolation(template: &str) -> Isolation {
    analyse(template.as_bytes()).isolation
}

#[test]
fn reading_and_writing_text_is_harmless() {
    for template in [
        "plain text",
        "<%= p('a.b') %>",
        "<% if_p('a', 'b') do |a, b| %><%= a %><% end.else do %>x<% end %>",
        "<% link('db').instances.each do |i| %><%= i.address %>:<%= link('db').p('port') %>\n<% end %>",
        "<%= JSON.pretty_generate(p('h').merge('a' => 1)) %>",
        "<% require 'json' %><%= p('x').to_json %>",
        "<% x = 'a'\nx <<= p('y') %>",
        "<% lines = []\np('xs').each { |x| lines << \"a #{x['n']}\" }\n%><%= lines.join(\"\\n\") %>",
        "<% h = {}; h['a'] = p('b'); h.delete('c') %><%= h.to_yaml %>",
        "<%= properties.nats.user %><%= spec.networks.default.ip %>",
        "<%= p('a') ? 'x' : 'y' %>",
        "<% total = 0; p('xs').each { |x| total += x.to_i } %><%= total %>",
        "<%= p('xs').map(&:to_s).sort.join(',') %>",
        "<%= Integer(p('n')) / 2 %>",
        "<% raise ArgumentError, 'no' unless p('x') =~ /^a+$/ %>",
        "<% if_p('a', 'b') do\n  |a, b| %><%= a %><% end %>",
        "<% h = { 'ip' => spec.ip } %><%= h.to_json %><%= spec.job.name %>",
        "<% begin; p('a'); rescue ArgumentError, TypeError => e; %><%= e.message %><% end %>",
        "<%= defined?(missing) ? 1 : 2 %><%= defined?(Missing::Constant) %>",
        "<%= spec.networks.send(spec.networks.methods(false).first).ip %>",
        "<%= spec.networks.marshal_dump.values.first.dns_record_name %>",
        "<% fail 'no' if p('x').nil?; abort 'no' unless p('y') %><%= __FILE__ %>:<%= __LINE__ %>",
        "<% puts 'a'; loop { break }; catch(:x) { throw :x } %>",
        "<%= File.dirname(p('x')) %><%= File.join('a', p('y')) %>",
        "<% name = p('x'); format = p('y') %><%= name %><%= format %>",
    ] {
        assert_eq!(isolation(template), Isolation::Shared, "{template}");
    }
}

#[test]
fn changing_and_defining_needs_objects_of_its_own() {
    for template in [
        "<% def x; end %>",
        "<% X = 1 %>",
        "<% p('x') << 'y' %>",
        "<% x = p('x'); x << 'y' %>",
        "<% x = []; x = p('x'); x << 'y' %>",
        "<% x = [] && p('x'); x << 'y' %>",
        "<% p('h')['a'] = 1 %>",
        "<% p('h').delete('a') %>",
        "<% p('h').each { |k, v| v << 'x' } %>",
        "<% properties.a.list.push(1) %>",
        "<% properties.a.list.pop %>",
        "<% properties.a = 1 %>",
        "<% properties.x.merge! %>",
        "<% a, b = p('x'), p('y'); a << 'z' %>",
        "<% @x ||= p('x'); @x << 'y' %>",
        "<% def f(a, b: 1)\n  a.to_s + b.to_s\nend %><%= f(p('x'), b: 2) %>",
        "<% c = {'a' => [{}]}; c['a'][0]['b'] = p('x') %><%= YAML.dump(c) %>",
        "<% LIST = %w[a b] %><%= LIST.join %>",
        "<% def self.f; 1; end %><%= self.f %>",
        "<%= p('xs').map { |x| x.to_s }\n  # sorted\n  .sort\n  .push('x').join %>",
        "<% p('xs').reduce(:concat) %>",
        "<% names = Set.new; names.add(p('x')) %>",
        "<% p('x').force_encoding('BINARY') %>",
        "<% p('xs').inject({}, :merge!) %>",
        "<% x = p('x'); x <<= 1 %>",
        "<% @x = p('x'); @x <<= 1 %>",
        "<% p('h')['x'] <<= 1 %>",
        "<% p('xs').reduce :merge! %>",
        "<% p('xs').reduce p('x'), :concat if p('y') %>",
        "<% x = []; (x, y), z = p('xs'); x << 1 %>",
        "<% x = []; y = []; y[0], x = p('xs'); x << 1 %>",
        "<% x = []; x, @y = p('xs'); x << 1 %>",
        "<% x = []\ny, x = [1, p('xs')]\nx << 1 %>",
        "<% x = []\nx,\ny = p('xs')\nx << 1 %>",
        "<% x = []; p('xs') => [x, *]; x << 1 %>",
        "<% x = []\ncase p('xs')\nin [x]\nx << 1\nend %>",
        "<% x = ''; ->(y = p('z'), x) { x << 1 }.call(1, p('z')) %>",
        "<% x = ''; ->(y,\nx) { x << 1 }.call(1, p('z')) %>",
        "<% p('xs').each { name = ''; name << 'a' }; name << 'b' %>",
        "<% def each_x(&block)\n  p('xs').each(&block)\nend %>",
    ] {
        assert_eq!(isolation(template), Isolation::Copy, "{template}");
    }
}

#[test]
fn everything_else_gets_a_process_of_its_own() {
    for template in [
        "<% x = []; x, (y, z) = p('xs'); x << 1 %>",
        "<% $x = 1 %>",
        "<% class String; end %>",
        "<% ::String.class_eval { } %>",
        "<% ENV['A'] = 'b' %>",
        "<% exit! %>",
        "<% at_exit { } %>",
        "<% p('xs').map(&:clear) %>",
        "<% p('xs').map(&p('x').to_sym) %>",
        "<% p('xs').each_with_object([], &p('x').to_sym) %>",
        "<% p('xs').reduce(:instance_eval) %>",
        "<% p('xs').each { |method| }; method(:eval).call('1') %>",
        "<% send(:define_method, :x) { } %>",
        "<% eval('1') %>",
        "<% String.freeze %>",
        "<% require 'bigdecimal/util' %>",
        "<% include ERB::Util %>",
        "<% extend Comparable %>",
        "<% Object.const_set(:X, 1) %>",
        "<% x = %w(a b); y = <<~E\nE\n %>",
        "<% spec.networks.foo('x') %>",
        "<% system 'true' %>",
        "<% p('x').class.freeze %>",
        "<% self.class.freeze %>",
        "<% String.freeze %>",
        "<% def p(x); end %>",
        "<% def to_s; end %>",
        "<% def String.x; end %>",
        "<% String = 1 %>",
        "<% URI.parse(p('x')).path << 'y' %>",
        "<% X = []; X << 1 %>",
        "<% OpenSSL.debug = true %>",
        "<% JSON::State.x = 1 %>",
        "<% def x; exit!; end %>",
        "<% h = { 'pid' => fork } %>",
        "<% h = { 'x' => eval(p('x')) } %>",
        "<% p('xs').each { |system| }; system 'true' %>",
        "<% fork = 1; fork() %>",
        "<% def load(x); end if p('x'); load '/etc/passwd' %>",
        "<% defined?(x) && exit! %>",
        "<% %w[a b].tally(p('counts')) %>",
        "<% File.write('x', 'y') %>",
        "<% File.new('x', 'w') %>",
        "<% File.link('x', 'y') %>",
        "<% x = File; x.delete('y') %>",
        "<% defined? exit! %>",
        "<% spec.networks.send(p('x')) %>",
        "<% spec.send(spec.networks.methods(false).first) %>",
    ] {
        assert_eq!(isolation(template), Isolation::Process, "{template}");
    }
}

#[test]
fn what_a_template_reads_of_its_spec_is_noted_unless_it_reads_it_otherwise() {
    let noted = |t: &str| analyse(t.as_bytes()).noted;
    for template in [
        "processes:\n- name: <%= p('x') %>\n",
        "<% link('l').instances.each do |i| %><%= i.name %><%= i.index %><% end %>",
        "<%= spec.id %>",
        "<%= index %>",
        "<% p('x').each { |index| } %><%= index %>",
    ] {
        assert!(noted(template), "{template}");
    }
    for other in [
        "<%= @index %>",
        "<%= self.index %>",
        "<%= [self].map(&:index) %>",
        "<%= Time.now %>",
        "<%= @spec.id %>",
        "<% fork %>",
    ] {
        assert!(!noted(other), "{other}");
    }
}

#[test]
fn libraries_are_known_before_forking() {
    assert_eq!(analyse(b"<%= p('x').to_json %><%= IPAddr.new(p('y')) %>").features, ["json", "ipaddr"]);
    assert_eq!(analyse(b"<% x = <<~E\nE\n %><%= YAML.dump(x) %>").features, ["yaml"]);
    assert_eq!(analyse(b"<% require 'uri/http' %>").features, ["uri"]);
    assert_eq!(analyse(b"<% %w(openssl/x509 x).each { |x| require x } %>").features, ["openssl"]);
    assert!(analyse(b"<%= @spec.inspect %>").eager);
}

/// Ruby's methods that need no receiver: each is known to be harmless or to reach beyond the template, so that it is safe
/// to take any other name for a variable.
#[test]
fn every_method_without_receiver_is_known() {
    let list = "%w[json yaml uri ipaddr set bigdecimal pathname shellwords].each { |library| require library }
                puts (Class.new.new.methods + Class.new.new.private_methods).uniq";
    let ruby = std::process::Command::new("ruby").args(["-e", list]).output().unwrap();
    assert!(ruby.status.success());
    let harmless = "
        ! != !~ <=> == === =~ Array BigDecimal Complex Float Hash Integer JSON Pathname Rational String URI __callee__
        __dir__ __id__ __method__ abort autoload? block_given? caller caller_locations catch class clone display dup
        enum_for eql? equal? exit fail format frozen? gets global_variables hash inspect instance_of?
        instance_variable_defined? instance_variable_get instance_variables is_a? iterator? itself j jj kind_of? lambda
        local_variables loop method methods nil? object_id p pp print printf private_methods proc protected_methods
        public_method public_methods putc puts raise rand readline readlines respond_to? respond_to_missing? select
        singleton_method singleton_method_added singleton_method_removed singleton_method_undefined singleton_methods
        sleep sprintf tap taint tainted? test then throw to_enum to_json to_s to_yaml trust untaint untrust untrusted?
        warn yield_self";
    let harmless: Vec<&str> = harmless.split_whitespace().collect();
    let names = String::from_utf8(ruby.stdout).unwrap();
    let unknown: Vec<&str> =
        names.lines().filter(|name| !harmless.contains(name) && !names::is_reaching(name)).collect();
    assert_eq!(unknown, Vec::<&str>::new(), "harmless without a receiver, or not?");
}
