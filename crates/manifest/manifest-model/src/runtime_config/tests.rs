use problem::Problem;

use super::RuntimeConfig;
use crate::Manifest;
use crate::yaml::yaml;

const MANIFEST: &str = "
name: d
releases: [{name: r, version: '1'}, {name: late, version: latest}]
stemcells: [{alias: default, os: jammy, version: '1'}, {alias: other, os: noble, version: '1'}]
variables: [{name: own, type: password}]
instance_groups:
- {name: a, instances: 1, azs: [z1], stemcell: default, networks: [{name: n1}], jobs: [{name: ja, release: r}]}
- {name: b, instances: 1, lifecycle: errand, stemcell: other, networks: [{name: n2}], jobs: [{name: jb, release: r}]}
";

fn manifest() -> Manifest {
    let mut manifest = Manifest::parse(&yaml(MANIFEST), "m.yml").unwrap();
    manifest.place_addons().unwrap();
    manifest
}

/// Reads configs, and applies them to the deployment `d`.
fn applied(texts: &[&str]) -> (Manifest, Vec<Problem>) {
    let (mut configs, mut problems) = (Vec::new(), Vec::new());
    for (number, text) in texts.iter().enumerate() {
        let (config, found) = RuntimeConfig::read(&yaml(text), &format!("runtime-{}.yml", number + 1), number + 1);
        configs.push(config);
        problems.extend(found);
    }
    let mut manifest = manifest();
    problems.extend(manifest.apply_runtime_configs(&configs, "d"));
    (manifest, problems)
}

fn messages(texts: &[&str]) -> Vec<String> {
    applied(texts).1.into_iter().map(|problem| problem.message).collect()
}

/// The groups that have the job `x` of an addon with these filters.
fn groups(filters: &str) -> String {
    let addon = format!(
        "{{releases: [{{name: q, version: '2'}}], addons: [{{name: a, jobs: [{{name: x, release: q}}]{filters}}}]}}"
    );
    let (manifest, problems) = applied(&[&addon]);
    assert_eq!(problems, [], "{filters}");
    let groups = manifest.instance_groups.iter().filter(|group| group.jobs.iter().any(|job| job.name == "x"));
    let names: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
    let is_listed = manifest.releases.iter().any(|release| release.name == "q");
    assert_eq!(is_listed, !names.is_empty(), "a release counts only if an addon that applies uses it: {filters}");
    names.join(" ")
}

#[test]
fn addons_go_where_their_filters_fit() {
    let cases = [
        ("", "a b"),
        (", include: {}", "a b"),
        (", exclude: {}", "a b"),
        (", include: {deployments: [c, d]}", "a b"),
        (", include: {deployments: [c]}", ""),
        (", exclude: {deployments: [d]}", ""),
        (", exclude: {deployments: [c]}", "a b"),
        (", include: {instance_groups: [b, c]}", "b"),
        (", include: {jobs: [{name: ja, release: r}]}", "a"),
        (", include: {jobs: [{name: ja, release: q}]}", ""),
        (", include: {stemcell: [{os: noble}]}", "b"),
        (", include: {networks: [n1]}", "a"),
        (", include: {azs: [z1]}", "a"),
        (", exclude: {azs: [z1]}", "b"),
        (", include: {lifecycle: errand}", "b"),
        (", include: {teams: [t]}", ""),
        (", exclude: {teams: [t]}", "a b"),
        (", include: {deployments: [d], instance_groups: [a]}", "a"),
        (", include: {deployments: [c], instance_groups: [a]}", ""),
        (", include: {deployments: [d]}, exclude: {lifecycle: errand}", "a"),
        (", exclude: {deployments: [d], lifecycle: errand}", "a"),
    ];
    for (filters, expected) in cases {
        assert_eq!(groups(filters), expected, "{filters}");
    }
}

#[test]
fn an_addon_sees_the_jobs_of_earlier_addons() {
    let first = "{releases: [{name: q, version: '2'}, {name: p, version: '3'}], addons: [\
        {name: one, jobs: [{name: x, release: q}], include: {instance_groups: [b]}}, \
        {name: two, jobs: [{name: y, release: p}], include: {jobs: [{name: x, release: q}]}}]}";
    let second = "{releases: [{name: q, version: '2'}], addons: [\
        {name: three, jobs: [{name: z, release: q}], include: {jobs: [{name: y, release: p}]}}]}";
    let (manifest, problems) = applied(&[first, second]);
    assert_eq!(problems, []);
    let jobs =
        |group: usize| manifest.instance_groups[group].jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>();
    assert_eq!((jobs(0), jobs(1)), (vec!["ja"], vec!["jb", "x", "y", "z"]));
    let of = |name: &str| manifest.instance_groups[1].jobs.iter().find(|job| job.name == name).unwrap();
    assert_eq!((of("y").config, of("z").config, of("jb").config), (1, 2, 0));
    assert_eq!(of("z").place().file, "runtime-2.yml");
    let releases: Vec<&str> = manifest.releases.iter().map(|release| release.name.as_str()).collect();
    assert_eq!(releases, ["r", "late", "q", "p"]);
}

#[test]
fn invalid_configs_have_the_directors_messages() {
    let job = "jobs: [{name: x, release: q}]";
    let q = "releases: [{name: q, version: '2'}]";
    let cases = [
        (vec!["[]".to_owned()], "a config must be a Hash, and this document is a Array"),
        (
            vec![format!("{{addons: [{{name: a, {job}}}]}}")],
            "Manifest specifies job 'x' which is defined in 'q', but 'q' is not listed in the runtime releases section.",
        ),
        (
            vec![format!("{{{q}}}"), format!("{{addons: [{{name: a, {job}}}]}}")],
            "Manifest specifies job 'x' which is defined in 'q', but 'q' is not listed in the runtime releases section.",
        ),
        (
            vec!["{releases: [{name: q, version: latest}]}".to_owned()],
            "Runtime manifest contains the release 'q' with version as 'latest'. Please specify the actual version string.",
        ),
        (
            vec![format!("{{{q}, release: {{name: q, version: '1'}}}}")],
            "Runtime manifest contains both 'release' and 'releases' sections, please use one of the two.",
        ),
        (
            vec![
                "{releases: [{name: r, version: '2'}], addons: [{name: a, jobs: [{name: x, release: r}]}]}".to_owned(),
            ],
            "Runtime manifest specifies release 'r' with version as '2'. This conflicts with version '1' specified in the deployment manifest.",
        ),
        (
            vec![
                format!("{{{q}, addons: [{{name: a, {job}}}]}}"),
                format!("{{{q}, addons: [{{name: b, {job}}}]}}").replace("'2'", "'3'").replace("name: x", "name: y"),
            ],
            "Runtime manifest specifies release 'q' with version as '3'. This conflicts with version '2' specified in the runtime config runtime-1.yml.",
        ),
        (
            vec![format!("{{{q}, addons: [{{name: a, {job}}}, {{name: b, {job}}}]}}")],
            "Colocated job 'x' is already added to the instance group 'a'",
        ),
        (
            vec!["{tags: {a: b}}".to_owned(), "{tags: {c: d}}".to_owned()],
            "Runtime config 'tags' key cannot be defined in multiple runtime configs.",
        ),
        (vec!["{variables: [{name: own, type: rsa}]}".to_owned()], "Duplicate variable name 'own'"),
        (
            vec!["{variables: [{name: v, type: rsa}]}".to_owned(), "{variables: [{name: v, type: rsa}]}".to_owned()],
            "Duplicate variable name 'v'",
        ),
        (
            vec![format!("{{{q}, addons: [{{name: a, {job}, include: {{jobs: [{{name: x}}]}}}}]}}")],
            "Job in runtime config's include section must have both name and release.",
        ),
        (
            vec![format!("{{{q}, addons: [{{name: a, {job}, exclude: {{stemcell: [{{}}]}}}}]}}")],
            "Stemcell in runtime config's exclude section must have an os name.",
        ),
        (vec!["{addons: [{name: ((a)), jobs: []}]}".to_owned()], "unresolved variables: ((a))"),
    ];
    for (texts, message) in cases {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = messages(&texts);
        assert!(found.iter().any(|found| found == message), "{message}: {found:#?}");
    }
}

#[test]
fn the_latest_version_of_a_manifest_conflicts_with_none() {
    let late = "{releases: [{name: late, version: '7'}], addons: [{name: a, jobs: [{name: x, release: late}]}]}";
    assert_eq!(messages(&[late]), [""; 0]);
}

#[test]
fn releases_of_addons_that_do_not_apply_conflict_with_none() {
    let addon = "{releases: [{name: r, version: '2'}], addons: [{name: a, jobs: [{name: x, release: r}], include: {deployments: [c]}}]}";
    assert_eq!(messages(&[addon]), [""; 0]);
}

#[test]
fn what_has_no_meaning_is_listed() {
    let text = "{other: 1, tags: {a: b}, addons: [{name: a, jobs: [], include: {teams: [t]}}]}";
    let (config, _) = RuntimeConfig::read(&yaml(text), "runtime.yml", 1);
    let unused: Vec<String> = config.unused.into_iter().filter_map(|note| note.what).collect();
    let team = "teams: a deployment belongs to no team here, so that the filter never fits";
    assert_eq!(unused, ["other", team]);
}

#[test]
fn tags_of_a_group_count_over_the_manifest_s_and_those_over_a_config_s() {
    let text = "{name: d, releases: [], tags: {b: manifest, c: manifest}, \
                instance_groups: [{name: g, instances: 1, jobs: [], tags: {c: 3}}]}";
    let mut manifest = Manifest::parse(&yaml(text), "m.yml").unwrap();
    let (config, problems) = RuntimeConfig::read(&yaml("{tags: {a: config, b: config, c: true}}"), "runtime.yml", 1);
    assert!(problems.is_empty() && config.unused.is_empty());
    assert!(manifest.apply_runtime_configs(&[config], "d").is_empty());
    let tags = manifest.tags_of(&manifest.instance_groups[0]);
    let expected = [("a", "config"), ("b", "manifest"), ("c", "3")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    assert_eq!(tags, expected.into());
}

#[test]
fn tags_are_texts() {
    for (tags, message) in [
        ("a", "Property 'tags' value (a String) did not match the required type 'Hash'"),
        ("{a: [b]}", "Property 'a' value (a Array) did not match the required type 'String'"),
    ] {
        let (_, problems) = RuntimeConfig::read(&yaml(&format!("{{tags: {tags}}}")), "runtime.yml", 1);
        let found: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(found, [message]);
    }
}
