//! The effects of a template end before the next one starts, whichever isolation it uses.
//!
//! One worker evaluates all templates of a run, since only one processor is available. After each harmful one the
//! same template inspects its environment; its result is always the same.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;

use dialect_erb::analysis::{Isolation, analyse};
use e2e::run;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Templates that may share a process, because they only affect themselves.
const SHARED: &[&str] = &[
    "<% leak = 1 %>",
    "<% leak = []; leak << 1; leak.clear %>",
    "<% p('list').each { |leak| leak } %><%= p('list').map(&:upcase).join %>",
    "<% @leak = 1 %>",
    "<% leak = {}; leak.merge!('leak' => 1) %>",
    "<% raise 'leak' if p('text', nil).nil? %>",
    "<% require 'json' %><%= JSON.generate(p('hash')) %>",
    "<%= properties.hash.a %><%= spec.networks.default.ip %>",
];

/// Templates that get their own objects and class.
const COPY: &[&str] = &[
    "<% LEAK = 1 %>",
    "<% def leak; 1; end %><%= leak %>",
    "<% def self.leak; 1; end %><%= self.leak %>",
    "<% LEAK = [1]; def leak(x = 1); x; end %><%= leak(2) %>",
    "<% p('text') << 'leak' %>",
    "<% leak = p('list'); leak << 'leak'; leak.delete('x') %>",
    "<% p('list').each { |item| item << 'leak' } %>",
    "<% p('list').clear %>",
    "<% p('hash')['leak'] = 1; p('hash').delete('a') %>",
    "<% p('hash')['deep']['leak'] = [1] %>",
    "<% raw_properties['leak'] = 1; raw_properties.delete('text') %>",
    "<% properties.text << 'leak' %>",
    "<% properties.text = 'leak' %>",
    "<% spec.name << 'leak' %>",
    "<% spec.networks.default.ip << 'leak' %>",
    "<% link('own').instances.first.name << 'leak' %>",
    "<% link('own').instances.clear; link('own').properties['leak'] = 1 %>",
    "<% link('own').p('text') << 'leak' %>",
    "<% leak ||= p('text'); leak.upcase! %>",
    "<% @raw_properties['leak'] = 1 %>",
    "<% p('list').reduce(:concat) %>",
    "<% raw_properties.freeze; p('text').freeze; p('hash').freeze %>",
];

/// Templates that get their own process.
const PROCESS: &[&str] = &[
    "<% $leak = 1 %>",
    "<% ENV['LEAK'] = '1' %>",
    "<% ENV.clear %>",
    "<% $stdout = STDERR %>",
    "<% require 'stringio'; $stdout = StringIO.new; puts 'leak' %>",
    "<% $stdout.close; STDERR.close %>",
    "<% $, = 'leak'; $; = 'leak' %>",
    "<% $VERBOSE = true; $DEBUG = true %>",
    "<% class ::String; def leak; 1; end; end %>",
    "<% ::String.class_eval { def leak; 1; end; def upcase; 'leak'; end } %>",
    "<% class ::Object; LEAK = 1; def leak; 1; end; end %>",
    "<% Object.const_set(:LEAK, 1) %>",
    "<% Object.send(:remove_const, :JSON); Object.send(:remove_const, :YAML) %>",
    "<% module ::Kernel; def leak; 1; end; def p(*); 'leak'; end; end %>",
    "<% def p(*); 'leak'; end %>",
    "<% def spec; 'leak'; end; def link(*); 'leak'; end %>",
    "<% def initialize(*); end %>",
    "<% self.class.class_eval { attr_accessor :leak } %>",
    "<% self.class.send(:remove_method, :p) %>",
    "<% Bosh::Template::EvaluationContext.freeze %>",
    "<% Bosh.send(:remove_const, :Common) %>",
    "<% Kernel.freeze; Comparable.freeze; Enumerable.freeze %>",
    "<% Object.freeze; BasicObject.freeze; String.freeze; Array.freeze; Hash.freeze %>",
    "<% self.class.freeze %>",
    "<% raw_properties.each_value(&:freeze) %>",
    "<% ObjectSpace.each_object(String) { |s| s << 'leak' unless s.frozen? } rescue nil %>",
    "<% at_exit { File.write('leak', 'leak') } %>",
    "<% at_exit { $stdout.puts 'leak'; exit 3 } %>",
    "<% Thread.new { loop { sleep 0.001 } } %>",
    "<% Thread.new { sleep }; Thread.abort_on_exception = true %>",
    "<% Thread.current[:leak] = 1; Thread.current.thread_variable_set(:leak, 1) %>",
    "<% Dir.chdir('/') %>",
    "<% File.umask(0) %>",
    "<% trap('USR1') { } ; trap('TERM', 'IGNORE') %>",
    "<% $LOAD_PATH.unshift('/leak') %>",
    "<% $LOAD_PATH.clear; $LOADED_FEATURES.clear %>",
    "<% srand(1) %>",
    "<% Random.srand(1); rand %>",
    "<% Encoding.default_external = 'US-ASCII'; Encoding.default_internal = 'US-ASCII' %>",
    "<% $PROGRAM_NAME = 'leak'; Process.setproctitle('leak') %>",
    "<% GC.stress = true %>",
    "<% Process.setrlimit(:NOFILE, 3) %>",
    "<% Process.setpriority(Process::PRIO_PROCESS, 0, 19) %>",
    "<% fork { sleep 0.01 } %>",
    "<% set_trace_func(proc { }) %>",
    "<% TracePoint.new(:call) { |x| x.self << 'leak' rescue nil }.enable %>",
    "<% Marshal.define_singleton_method(:load) { |*| 'leak' } %>",
    "<% Process.define_singleton_method(:fork) { |*| 0 } %>",
    "<% IO.class_eval { def write(*); end } %>",
    "<% Array.class_eval { def each; end; def map; []; end }; Hash.class_eval { def [](*); 'leak'; end } %>",
    "<% Integer.class_eval { def +(other); 7; end } %>",
    "<% JSON.class_eval { def self.generate(*); 'leak'; end } %>",
    "<% binding.local_variable_set(:leak, 1); TOPLEVEL_BINDING.local_variable_set(:leak, 1) %>",
    "<% eval('LEAK = 1', TOPLEVEL_BINDING) %>",
    "<% using(Module.new { refine(String) { def leak; 1; end } }) rescue nil %>",
    "<% alias $leak $stdout %>",
    "<% autoload(:LEAK, 'leak') %>",
    "<% String.prepend(Module.new { def to_s; 'leak'; end }) %>",
    "<% leak = { 'leak' => eval('def leak; 1; end') } %>",
    "<% p('list').each { |eval| }; eval('LEAK = 1') %>",
    "<% def eval(leak); end if false; eval('def leak; 1; end') %>",
    "<% p('list').each(&'upcase!'.to_sym) %>",
    "<% p('list').reduce(:instance_eval) rescue nil %>",
    "<% p('list').reduce(:<<) %>",
    "<% p('list').tally(p('hash')) %>",
];

/// Everything that one of the above would change. As a template of the first kind it runs in the worker itself; what it
/// asks for that is not of that kind, the second one asks in a process forked from it.
const LOOKS: &[&str] = &[
    "<%= p('text') %> <%= p('list') %> <%= p('hash').to_json %> <%= p('leak', 'none') %> <%= properties.text %> \
     <%= spec.name %> <%= spec.networks.default.ip %> <%= link('own').instances.map(&:name) %> <%= link('own').p('text') %> \
     <%= index %> <%= name %> <%= @leak.inspect %> <%= properties.leak.inspect %> <%= 'a'.upcase %> <%= 1 + 1 %>",
    "<%= [defined?(LEAK), defined?(leak), respond_to?(:leak, true), ''.respond_to?(:leak), Kernel.respond_to?(:leak),
      $leak, ENV['LEAK'], ENV.size, $stdout.class, $stdout.fileno, $stderr.closed?, $,, $;, $VERBOSE, $DEBUG,
      Object.const_defined?(:LEAK), Object.autoload?(:LEAK), Object.frozen?, Kernel.frozen?, String.frozen?,
      Comparable.frozen?, self.class.frozen?, raw_properties.frozen?, p('text').frozen?, raw_properties.keys,
      self.class.instance_methods(false).sort, self.class.private_instance_methods(false).sort,
      self.class.constants(false).sort, singleton_methods, instance_variables, Object.instance_methods(false).sort,
      String.ancestors.take_while { |m| m != Object }, Thread.list.size, Thread.current[:leak],
      Thread.current.thread_variable?(:leak), Thread.abort_on_exception, Dir.pwd == ENV['PWD'], File.umask,
      trap('USR1', 'DEFAULT'), trap('TERM', 'DEFAULT'), $LOAD_PATH.size, $LOADED_FEATURES.size > 9,
      Encoding.default_external, Encoding.default_internal, $PROGRAM_NAME, GC.stress,
      Process.getrlimit(:NOFILE)[0] > 3, Process.getpriority(Process::PRIO_PROCESS, 0), JSON.generate([1]),
      Marshal.load(Marshal.dump([1])), TOPLEVEL_BINDING.local_variables, global_variables.include?(:$leak),
      YAML.dump('a' => 1), p('hash')['a']].inspect %> <%= Random.seed == 1 %>",
];

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Restricts this process, and all its children, to one processor.
fn use_one_processor() {
    let mine = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let first = (0..CpuSet::count()).find(|cpu| mine.is_set(*cpu).unwrap()).unwrap();
    let mut one = CpuSet::new();
    one.set(first).unwrap();
    sched_setaffinity(Pid::from_raw(0), &one).unwrap();
}

#[test]
fn a_template_leaves_nothing_behind() {
    use_one_processor();
    let mut templates: Vec<&str> = LOOKS.to_vec();
    for (class, leaks) in [(Isolation::Shared, SHARED), (Isolation::Copy, COPY), (Isolation::Process, PROCESS)] {
        for leak in leaks {
            assert_eq!(analyse(leak.as_bytes()).isolation, class, "{leak}");
            templates.push(leak);
            templates.extend(LOOKS);
        }
    }
    assert_eq!(analyse(LOOKS[0].as_bytes()).isolation, Isolation::Shared);
    let work = tempfile::tempdir().unwrap();
    let job = work.path().join("jobs-src/r/j");
    let mut spec = "name: j\nproperties: {text: {}, list: {}, hash: {}}\n\
        provides: [{name: own, type: own, properties: [text]}]\nconsumes: [{name: own, type: own}]\ntemplates:\n"
        .to_owned();
    for (i, text) in templates.iter().enumerate() {
        spec.push_str(&format!("  '{i}': '{i}'\n"));
        write(&job.join("templates").join(i.to_string()), text);
    }
    write(&job.join("spec"), &spec);
    write(
        &work.path().join("manifest.yml"),
        "name: d\nreleases: [{name: r, version: 1}]\ninstance_groups:\n- name: ig\n  instances: 1\n  jobs:\n  - name: j\n    \
         release: r\n    properties: {text: text, list: [x, y], hash: {a: 1, deep: {b: [c]}}}\n",
    );
    let environment = [("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "."), ("INSTANCE_GROUP_NAME", "ig")];
    let outcome = run(&["plan", "ig-resolved", "--output", "output.json"], &environment, work.path());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let output: serde_json::Value =
        serde_json::from_slice(&fs::read(work.path().join("output.json")).unwrap()).unwrap();
    write(&work.path().join("properties.yaml"), output["properties.yaml"].as_str().unwrap());
    let environment = [
        ("BOSH_MANIFEST_PATH", "properties.yaml"),
        ("JOBS_DIR", "."),
        ("OUTPUT_DIR", "jobs"),
        ("INSTANCE_GROUP_NAME", "ig"),
        ("POD_ORDINAL", "0"),
        ("POD_IP", "10.0.0.7"),
    ];
    let outcome = run(&["render-jobs"], &environment, work.path());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let rendered = |i: usize| fs::read_to_string(work.path().join("jobs/j").join(i.to_string())).unwrap();
    for (i, text) in templates.iter().enumerate() {
        if let Some(look) = LOOKS.iter().position(|look| look == text) {
            let leak = templates[..i].iter().rfind(|t| !LOOKS.contains(t)).unwrap_or(&"nothing");
            assert_eq!(rendered(i), rendered(look), "after {leak}");
        }
    }
    assert!(!work.path().join("leak").exists() && outcome.stdout.is_empty());
}
