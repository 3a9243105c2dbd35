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
