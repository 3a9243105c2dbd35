//! What a recording renderer notes, and that it renders the same.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, which list themselves")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use dialect_erb::coverage::{Branch, Coverage};
use dialect_erb::trace::Trace;
use dialect_erb::{Failure, Renderer, Settings, Unit};
use ruby::Vm;
use template::Source;
use value::Value;

type Check = fn(&Vm, &Renderer);

const CHECKS: &[(&str, Check)] = &[
    ("each_line_has_its_origin", each_line_has_its_origin),
    ("reads_have_lines_and_full_names", reads_have_lines_and_full_names),
    ("computed_names_do_not_show_values", computed_names_do_not_show_values),
    ("branches_are_counted", branches_are_counted),
    ("lines_that_no_rendering_reaches_are_known", lines_that_no_rendering_reaches_are_known),
    ("failures_and_time_limits_stay_the_same", failures_and_time_limits_stay_the_same),
    ("recording_changes_no_result", recording_changes_no_result),
];

/// Runs the checks whose names contain an argument; a process has one VM, which needs the main thread.
fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let chosen = CHECKS.iter().filter(|(name, _)| is_chosen(name));
    if std::env::args().any(|word| word == "--list") {
        chosen.for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    Vm::beside(|vm| {
        let renderer = Renderer::new(vm, settings())?.recording(vm);
        for (name, check) in chosen {
            check(vm, &renderer);
            println!("test {name} ... ok");
        }
        Ok(())
    })
    .unwrap();
}

fn settings() -> Settings {
    Settings { timeout: Duration::from_secs(5), ..Settings::default() }
}

fn source(text: &str) -> Source {
    Source { name: "a.erb".into(), file: "templates/a.erb".into(), text: text.into() }
}

fn context() -> Value {
    let text = Value::str;
    let instance = Value::map([("name", text("db")), ("address", text("10.0.0.9")), ("index", Value::Int(0))]);
    Value::map([
        ("name", text("web")),
        ("index", Value::Int(3)),
        ("networks", Value::map([("default", Value::map([("ip", text("10.0.0.7"))]))])),
        (
            "properties",
            Value::map([
                ("port", Value::Int(80)),
                ("tls", Value::map([("key", text("secret-of-the-key")), ("enabled", Value::Bool(true))])),
                ("users", Value::array([text("ann"), text("bob")])),
                ("nobody", Value::array([])),
            ]),
        ),
        (
            "links",
            Value::map([(
                "db",
                Value::map([
                    ("instances", Value::array([instance])),
                    ("properties", Value::map([("user", text("admin"))])),
                    ("address", text("db.example")),
                ]),
            )]),
        ),
    ])
}

/// Renders a template in the context, and returns the text with the trace.
fn traced(renderer: &Renderer, text: &str) -> (String, Trace) {
    let source = source(text);
    let rendered = renderer.render(&[context()], &[Unit::new(0, "web", &source)], &|_| Vec::new()).unwrap().remove(0);
    let trace = renderer.take_traces().remove(0);
    let text = rendered.map_or_else(|failure| failure.error.message, |bytes| String::from_utf8_lossy(&bytes).into());
    (text, trace)
}

fn each_line_has_its_origin(_: &Vm, renderer: &Renderer) {
    let template = "# head\n<% p('users').each do |user| -%>\nuser: <%= user %>\n<% end -%>\n<%- if p('tls.enabled') -%>\n  \
        tls\n<%- end -%>\n<%= ['a',\n  'b'].join(\"\\n\") %>\n\n<%% <%= 1 %>\nend";
    let (text, trace) = traced(renderer, template);
    assert_eq!(text, "# head\nuser: ann\nuser: bob\n  tls\na\nb\n\n<% 1\nend");
    let expected: [&[u32]; 9] = [&[1], &[3], &[3], &[6], &[8, 9], &[8, 9], &[10], &[11], &[12]];
    assert_eq!(trace.origins, expected);
    // The template's own work on the output.
    let (text, trace) = traced(renderer, "a\n<% _erbout << \"x\\n\" %>b\n<% _erbout.slice!(-2..-1) -%>\nc\n");
    assert_eq!(text, "a\nx\nc\n");
    assert_eq!(trace.origins, [vec![1], vec![], vec![4]]);
    // Lines of text that is rendered in a method and in a block.
    let (text, trace) = traced(renderer, "<% f = ->(x) { %>f<%= x %>\n<% } -%>\n<% f.(1); f.(2) -%>\n");
    assert_eq!((text.as_str(), trace.origins), ("f1\nf2\n", vec![vec![1], vec![1]]));
    // A file without tags.
    let (_, trace) = traced(renderer, "a\n\nb");
    assert_eq!(trace.origins, [[1], [2], [3]]);
}

fn reads_have_lines_and_full_names(_: &Vm, renderer: &Renderer) {
    let template = "<%= p('port') %>\n<% if_p('tls.key', 'absent') do %>x<% end %>\n<%= properties.tls.enabled %>\n\
        <%= spec.networks.default.ip %> <%= spec.index %> <%= index %>\n<% db = link('db') %>\n<%= db.p('user') %>\n\
        <%= db.instances[0].address %>\n<%= p(['absent', 'port']) %><% if_link('other') { |l| } %>\n\
        <%= spec.properties.port %>\n<% if_link('db') { |l| l.if_p('user') { } } %>\n";
    let (_, trace) = traced(renderer, template);
    let reads = |line: u32| -> Vec<String> { trace.reads[&line].iter().map(ToString::to_string).collect() };
    assert_eq!(reads(1), ["p('port')"]);
    assert_eq!(reads(2), ["p('absent')", "p('tls.key')"]);
    assert_eq!(reads(3), ["p('tls.enabled')"]);
    assert_eq!(reads(4), ["spec.index", "spec.networks.default.ip"]);
    assert_eq!(reads(5), ["link('db')"]);
    assert_eq!(reads(6), ["link('db').p('user')"]);
    assert!(!trace.reads.contains_key(&7));
    assert_eq!(reads(8), ["p('absent')", "p('port')", "link('other')"]);
    assert_eq!(reads(9), ["p('port')"]);
    assert_eq!(reads(10), ["link('db')", "link('db').p('user')"]);
}

fn computed_names_do_not_show_values(_: &Vm, renderer: &Renderer) {
    let (_, trace) = traced(renderer, "<%= p(p('tls.key'), '') %><%= p('po' + 'rt') %>");
    let reads: Vec<String> = trace.reads[&1].iter().map(ToString::to_string).collect();
    assert_eq!(reads, ["p('port')", "p('tls.key')"]);
}

/// The counts of the ways of each branch.
fn counts(vm: &Vm, renderer: &Renderer, template: &str) -> Vec<(String, Vec<(&'static str, u64)>)> {
    let source = source(template);
    let mut coverage = Coverage::of(vm, &[&source]).unwrap().remove(0);
    coverage.add(&traced(renderer, template).1);
    let ways = |branch: &Branch| branch.ways.iter().map(|way| (way.label, way.count)).collect();
    coverage.branches.iter().map(|branch| (format!("{}:{}", branch.line, branch.kind), ways(branch))).collect()
}

fn branches_are_counted(vm: &Vm, renderer: &Renderer) {
    let condition = |name: &str, yes, no| (name.to_owned(), vec![("true", yes), ("false", no)]);
    let found = counts(
        vm,
        renderer,
        "<% if p('port') == 1 then %>a<% elsif p 'tls.enabled' %>b<% else %>c<% end %>\n\
         <% p('users').each do |u| %><%= u == 'ann' ? 1 : 2 %><% end %>\n<% x = 1 unless p('port') %>\n",
    );
    let loop_of = |name: &str, some, none| (name.to_owned(), vec![("items", some), ("no items", none)]);
    assert_eq!(
        found,
        [
            condition("1:if", 0, 1),
            condition("1:elsif", 1, 0),
            loop_of("2:each", 1, 0),
            condition("2:if", 1, 1),
            condition("3:unless", 1, 0),
        ]
    );
    let found = counts(
        vm,
        renderer,
        "<% case p('port')\nwhen 1, 2 then 3\nwhen 80\n  y = 1\nend\ncase 'q' when 'r' then 1 end\ncase when p('port') then 1 end %>\n\
         <% case 1 -%>\n<% when 1 -%>\none\n<% else -%>\nother\n<% end -%>\n",
    );
    let ways = |counts: &[u64], has_else: bool| {
        let when = counts.len() - usize::from(has_else);
        counts.iter().enumerate().map(|(i, count)| (if i < when { "when" } else { "else" }, *count)).collect::<Vec<_>>()
    };
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["1:case", "6:case", "7:case", "8:case"]);
    let taken: Vec<_> = found.into_iter().map(|(_, ways)| ways).collect();
    assert_eq!(taken, [ways(&[0, 1, 0], true), ways(&[0, 1], true), ways(&[1], false), ways(&[1, 0], true)]);
    let found = counts(
        vm,
        renderer,
        "<% if_p('absent') do |x| %>x<% end.else_if_p('tls.key') do |y| %>y<% end.else do %>z<% end %>\n\
         <% if_link('db') do |l| %>l<% end %><% p('nobody').each { |n| } %>",
    );
    let optional = |name: &str, found, absent| (name.to_owned(), vec![("found", found), ("absent", absent)]);
    let mut found: Vec<_> = found;
    found.sort();
    assert_eq!(
        found,
        [optional("1:if_p", 0, 1), optional("1:if_p", 1, 0), loop_of("2:each", 0, 1), optional("2:if_link", 1, 0),]
    );
}

fn lines_that_no_rendering_reaches_are_known(vm: &Vm, renderer: &Renderer) {
    let template = "head\n<% if p('port') == 1 %>\n  a <%= p('port') %>\n\n<% y = 1\n z = 2 %>\n<% else %>\n  b\n<% end %>\n\
        <%=\n  p('port')\n%>\n<%# comment %>\n<% def f\n  1\nend %>\n";
    let source = source(template);
    let mut coverage = Coverage::of(vm, &[&source]).unwrap().remove(0);
    assert!(coverage.lines.values().all(|count| *count == 0));
    coverage.add(&traced(renderer, template).1);
    let unreached: Vec<u32> = coverage.lines.iter().filter(|(_, count)| **count == 0).map(|(line, _)| *line).collect();
    assert_eq!(unreached, [3, 5, 6, 15]);
    let known: BTreeSet<u32> = coverage.lines.keys().copied().collect();
    assert!(!known.contains(&4) && !known.contains(&7) && !known.contains(&13), "{known:?}");
}

fn failures_and_time_limits_stay_the_same(vm: &Vm, renderer: &Renderer) {
    let (text, trace) = traced(renderer, "a\n<%= p('port') %>\n<%= p('missing') %>\nb\n");
    assert_eq!(text, "Can't find property '[\"missing\"]'");
    // A line that fails is reached.
    assert_eq!(trace.reached, BTreeSet::from([1, 2, 3]));
    assert!(trace.origins.is_empty() && trace.reads.contains_key(&3));
    for (template, message) in [
        ("<% Process.exit!(0) %>", "ended the process it was evaluated in"),
        ("<% exit(1) %>", "exit"),
        ("<% loop { } %>", "took longer than 5s, the TEMPLATE_TIMEOUT"),
        ("<% if %>", "syntax error"),
    ] {
        assert!(traced(renderer, template).0.contains(message), "{template}: {}", traced(renderer, template).0);
    }
    assert!(Coverage::of(vm, &[&source("<% if %>")]).unwrap()[0].branches.is_empty());
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "erb") {
            found.push(path);
        }
    }
}

/// Every template of the corpus and of the releases, whether it renders in this context or fails.
fn recording_changes_no_result(vm: &Vm, renderer: &Renderer) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../e2e");
    let mut paths = Vec::new();
    ["corpus/erb", "releases"].iter().for_each(|directory| files(&root.join(directory), &mut paths));
    assert!(paths.len() > 100, "{paths:?}");
    let sources: Vec<Source> = paths
        .iter()
        .map(|path| Source { name: "a.erb".into(), file: path.display().to_string(), text: fs::read(path).unwrap() })
        .collect();
    let units: Vec<Unit> = sources.iter().map(|source| Unit::new(0, "web", source)).collect();
    let render = |renderer: &Renderer| renderer.render(&[context()], &units, &|_| Vec::new()).unwrap();
    let plain = render(&Renderer::new(vm, settings()).unwrap());
    let recorded = render(renderer);
    assert_eq!(renderer.take_traces().len(), sources.len());
    let mut different = Vec::new();
    for ((source, plain), recorded) in sources.iter().zip(&plain).zip(&recorded) {
        if comparable(plain) != comparable(recorded) {
            different.push(format!("{}: {} {}", source.file, comparable(plain), comparable(recorded)));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(plain.iter().filter(|result| result.is_ok()).count() > 30);
}

/// A result without addresses of objects, which differ between two processes.
fn comparable(result: &Result<Rc<[u8]>, Failure>) -> String {
    let text = match result {
        Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Err(failure) => format!("{failure:?}"),
    };
    let mut parts = text.split("0x0000");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "0x" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}
