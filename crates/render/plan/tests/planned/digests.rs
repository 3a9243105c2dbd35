//! The digests of what instances render.

use crate::{Planned, plan_templates};

impl Planned {
    /// The digests of a group's instances.
    pub(super) fn digests(&self, group: &str) -> Vec<String> {
        let group = self.deployment().group(group).unwrap().clone();
        group.instances.into_iter().map(|instance| instance.digest).collect()
    }
}

/// A deployment with a template, and the digests of two instances.
fn digests(template: &str, properties: &str) -> Vec<String> {
    let manifest = format!(
        "instance_groups: [{{name: g, instances: 2, jobs: [{{name: j, release: r, properties: {properties}}}]}}]\n"
    );
    let spec = "properties: {a: {}, b: {}}\ntemplates: {t: config/t}";
    plan_templates(&[("j", spec)], &[("j", "t", template)], &manifest).digests("g")
}

#[test]
fn a_digest_changes_with_what_is_rendered_and_with_nothing_else() {
    let plain = digests("<%= p('a') %>", "{a: 1}");
    assert_eq!(plain[0], plain[1], "both render the same");
    assert_eq!(plain, digests("<%= p('a') %>", "{a: 1}"));
    assert_eq!(plain, digests("<%= p('a') %>", "{a: 1, b: 2}"), "nothing renders b");
    assert_eq!(plain, digests("1", "{a: 3}"), "another template of the same text");
    assert_ne!(plain, digests("<%= p('a') %>", "{a: 2}"));
    let own = digests("<%= spec.index %>", "{}");
    assert_ne!(own[0], own[1], "each renders its own");
}

#[test]
fn a_digest_covers_paths_and_links_and_not_the_bpm_that_is_never_installed() {
    let of = |name: &str, spec: &str, text: &str| {
        let manifest = format!("instance_groups: [{{name: g, instances: 1, jobs: [{{name: {name}, release: r}}]}}]\n");
        plan_templates(&[(name, spec)], &[(name, "t", text)], &manifest).digests("g").remove(0)
    };
    let plain = of("j", "templates: {t: config/t}", "x");
    assert_ne!(plain, of("j", "templates: {t: config/u}", "x"));
    assert_ne!(plain, of("k", "templates: {t: config/t}", "x"));
    assert_ne!(plain, of("j", "templates: {t: config/t}\nprovides: [{name: l, type: t}]", "x"));
    assert_eq!(of("bpm", "templates: {t: bin/bpm}", "x"), of("bpm", "templates: {t: bin/bpm}", "y"));
}

#[test]
fn what_differs_each_time_counts_by_its_inputs() {
    let manifest = |value: u32| {
        format!(
            "instance_groups: [{{name: g, instances: 2, jobs: [{{name: j, release: r, properties: {{a: {value}}}}}]}}]\n"
        )
    };
    let spec = "properties: {a: {}}\ntemplates: {t: config/t}";
    for template in [
        "<%= Time.now.to_f %>",
        "<%= Time.now.year %>",
        "<%= Time.new.strftime('%F') %>",
        "<%= Date.today %>",
        "<%= rand %>",
        "<% require 'securerandom' %><%= SecureRandom.hex %>",
        "<%= Process.clock_gettime(Process::CLOCK_REALTIME).to_i %>",
        "<%= 'x'.hash %>",
        "<%= $$ %>",
        "<%= Object.new.inspect %>",
    ] {
        let planned = |value| plan_templates(&[("j", spec)], &[("j", "t", template)], &manifest(value));
        let (first, again, other) = (planned(1), planned(1), planned(2));
        let warning = "template 't' of job 'j' of release 'r' does not render the same each time";
        assert_eq!(first.printed.matches(warning).count(), 1, "{template}: {}", first.printed);
        assert_eq!(first.digests("g"), again.digests("g"), "{template}");
        assert_ne!(first.digests("g"), other.digests("g"), "{template}");
    }
    // Neither the time nor chance decides here, though they are asked for.
    for (template, text) in [
        ("<%= Time.now.year > 1970 %>", "true"),
        ("<%= Time.new(2020, 1, 2).year %>", "2020"),
        ("<%= Time.at(0).utc.year %>", "1970"),
        ("<%= Date.new(2020, 1, 2) < Date.today %>", "true"),
        ("<%= rand < 2 %>", "true"),
        ("<%= 'x'.hash == 'x'.dup.hash && { 'x' => 1 }['x'] == 1 && [['x', :y]].include?(['x', :y]) %>", "true"),
        ("<% require 'time' %><%= Time.parse('2020-01-02 00:00:00 UTC').year %>", "2020"),
        ("<%= Process.clock_gettime(Process::CLOCK_MONOTONIC) > 0 %>", "true"),
        ("<% define_singleton_method(:own) { 1 } %><%= own %>", "1"),
    ] {
        let checked = plan_templates(&[("j", spec)], &[("j", "t", template)], &manifest(1));
        assert_eq!(checked.printed, "", "{template}");
        assert_eq!(checked.digests("g"), digests(text, "{}"), "{template}");
    }
}

/// The digests of the instances of a group of three, in which each has zone, index and identity of its own.
fn digests_of_three(template: &str) -> (Vec<String>, String) {
    let manifest = "instance_groups: [{name: g, instances: 3, azs: [z1, z2], jobs: [{name: j, release: r, properties: {a: {b: [c]}}}]}]\n";
    let spec = "properties: {a: {}}\ntemplates: {t: config/t}\nprovides: [{name: own, type: own}]\nconsumes: [{name: own, type: own}]";
    let planned = plan_templates(&[("j", spec)], &[("j", "t", template)], manifest);
    assert_eq!(planned.code, Some(0), "{template}: {}", planned.printed);
    (planned.digests("g"), planned.printed)
}

#[test]
fn each_instance_renders_what_it_reads_of_itself() {
    let indexes = digests_of_three("<%= spec.index %>").0;
    assert_eq!(indexes.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
    for template in [
        "<%= index %>",
        "<%= @index %>",
        "<%= self.index %>",
        "<%= self.spec.index %>",
        "<%= spec[:index] %>",
        "<%= spec['index'] %>",
        "<%= spec.to_h[:index] %>",
        "<%= spec.dig(:index) %>",
        "<%= spec.marshal_dump[:index] %>",
        "<%= spec.each_pair.to_h[:index] %>",
        "<%= spec.instance_eval { @table }[:index] %>",
        "<%= [spec].map(&:index).first %>",
        "<%= spec.send(:index) %>",
        "<%= method(:index).call %>",
        "<%= instance_variable_get(:@index) %>",
        "<%= instance_variable_get('@' + 'index') %>",
        "<%= eval('ind' + 'ex') %>",
        "<%= binding.eval('index') %>",
        "<%= binding.receiver.index %>",
        "<%= Marshal.load(Marshal.dump(spec)).index %>",
        "<%= spec.id[/\\d+/] %>",
        "<%= spec.address[/-(\\d+)\\./, 1] %>",
        "<%= link('own').instances.find { |i| i.id == spec.id }.index %>",
        "<%= { 0 => 0, 1 => 1, 2 => 2 }.fetch(spec.index) { raise 'x' } %>",
        "<%= spec.bootstrap ? 0 : spec.index %>",
        "<%= [0].map { |x| spec.index + x }.first %>",
        "<% list = [spec.index] %><% list.each do |x| %><%= x %><% end %>",
        "<% def own; spec.index; end %><%= own %>",
        "<% OWN = index %><%= OWN %>",
        "<% spec.name << 'x' %><%= spec.index %>",
        "<% p('a')['b'] << 'd'; raise 'seen' if p('a')['b'].size > 2 %><%= spec.index %>",
    ] {
        let (digests, printed) = digests_of_three(template);
        assert_eq!(digests, indexes, "{template}: {printed}");
        assert_eq!(printed, "", "{template}");
    }
}

#[test]
fn instances_that_read_the_same_render_the_same() {
    let zones = digests_of_three("<%= spec.az %>").0;
    let parts = digests_of_three("<%= spec.bootstrap %>").0;
    assert!(zones.iter().any(|digest| *digest != zones[0]) && parts[1] == parts[2] && parts[0] != parts[1]);
    // What only some of them read.
    let some = digests_of_three("<%= spec.bootstrap ? 'x' : spec.index %>").0;
    let all = ["x", "1", "2"].map(|text| digests_of_three(text).0.remove(0));
    assert_eq!(some, all);
}

#[test]
fn no_instance_sees_what_another_one_left_in_their_process() {
    for (template, same) in [
        ("<% $n = ($n || 0) + 1 %><%= $n %>", "1"),
        ("<% $first ||= spec.index %><%= $first %>", "<%= spec.index %>"),
        ("<% class ::String; def x = (@@x = (defined?(@@x) ? @@x : 0) + 1); end %><%= ''.x %>", "1"),
        ("<%= 1 + 1 %><% Integer.class_eval { def +(other) = 7 } %>", "2"),
        ("<% Hash.class_eval { def [](*) = 'x' } if spec.index == 1 %><%= spec.index %>", "<%= spec.index %>"),
        ("<% Marshal.define_singleton_method(:dump) { |*| 'x' } if false %><%= $0 && 1 %>", "1"),
    ] {
        let (digests, printed) = digests_of_three(template);
        assert_eq!(digests, digests_of_three(same).0, "{template}");
        assert_eq!(printed, "", "{template}");
    }
}

#[test]
fn an_instance_that_ends_the_process_fails_alone() {
    let manifest = "instance_groups: [{name: g, instances: 3, jobs: [{name: j, release: r}, {name: k, release: r}]}]\n";
    let of = |template: &str| {
        let planned = plan_templates(
            &[("j", "templates: {t: config/t}"), ("k", "templates: {t: config/t}")],
            &[("j", "t", template), ("k", "t", "<%= 1 %>")],
            manifest,
        );
        assert_eq!(planned.code, Some(66), "{}", planned.printed);
        planned.printed
    };
    let ended = "Error filling in template 't' (line (unknown): ended the process it was evaluated in)";
    let printed = of("<% exit! if spec.index == 1 %>");
    assert_eq!(printed.matches(ended).count(), 1, "{printed}");
    let printed = of("<% exit! if spec.index == 1 %>\n<% raise 'third' if spec.index == 2 %>");
    assert!(printed.contains(ended) && !printed.contains("third"), "{printed}");
    let printed = of("<% raise 'first' if spec.index == 0; exit! %>");
    assert!(printed.contains("(line 1: first)") && !printed.contains(ended), "{printed}");
}
