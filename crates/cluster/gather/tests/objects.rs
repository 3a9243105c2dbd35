//! What is printed for a manifest, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;

use clap::Parser;
use gather::{Options, PrintOptions, objects};
use kubernetes_objects::Object;
use problem::Problems;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: Options,
}

#[derive(Parser)]
struct PrintCommand {
    #[command(flatten)]
    print: PrintOptions,
}

const MANIFEST: &str = "name: shop\nreleases:\n- {name: web, version: 1.10}\n- {name: db, version: 2+dev.1}\n\
                        instance_groups:\n- {name: shop, jobs: [{name: web, release: web}, {name: db, release: db}]}\n\
                        properties: {password: hunter2}\n";

fn gather(manifest: &str, arguments: &[&str]) -> Result<Vec<Object>, Problems> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("manifest.yml");
    fs::write(&path, manifest).unwrap();
    let arguments = [&["gather", path.to_str().unwrap()], arguments].concat();
    objects(&Command::parse_from(arguments).options)
}

fn job(objects: &[Object]) -> &Object {
    objects.iter().find(|object| object["kind"] == "Job").unwrap()
}

fn text<'a>(value: &'a Object, path: &str) -> &'a str {
    value.pointer(path).and_then(Object::as_str).unwrap()
}

#[test]
fn the_jobs_name_changes_with_the_content_alone() {
    let name = |manifest: &str, arguments: &[&str]| {
        text(job(&gather(manifest, arguments).unwrap()), "/metadata/name").to_owned()
    };
    let registry = ["--registry", "r"];
    let first = name(MANIFEST, &registry);
    assert!(first.starts_with("shop-gather-"), "{first}");
    assert_eq!(name(MANIFEST, &registry), first);
    assert_ne!(name(&MANIFEST.replace("hunter2", "other"), &registry), first);
    assert_ne!(name(MANIFEST, &["--registry", "s"]), first);
    assert_ne!(name(MANIFEST, &["--registry", "r", "--image", "db=r/db@sha256:1"]), first);
}

#[test]
fn only_what_talks_to_the_cluster_has_a_token_and_no_value_is_outside_of_a_secret() {
    let all = gather(MANIFEST, &["--registry", "r", "--namespace", "ns"]).unwrap();
    for object in &all {
        assert_eq!(object["metadata"]["namespace"], "ns", "{object}");
        assert!(object["kind"] == "Secret" || !object.to_string().contains("hunter2"), "{object}");
    }
    let spec = &job(&all)["spec"]["template"]["spec"];
    let containers = ["initContainers", "containers"].iter().flat_map(|list| spec[list].as_array().unwrap());
    let with_token = containers
        .filter(|container| container["volumeMounts"].as_array().unwrap().iter().any(|m| m["name"] == "token"));
    let names: Vec<&str> = with_token.map(|container| text(container, "/name")).collect();
    assert_eq!(names, ["check", "write-secrets", "deploy"]);
    let images: Vec<&str> =
        spec["initContainers"].as_array().unwrap().iter().map(|container| text(container, "/image")).collect();
    assert_eq!(&images[1..3], ["r/web:1.1", "r/db:2-dev.1"]);
}

#[test]
fn a_manifest_with_variables_is_refused_with_their_places() {
    let manifest = MANIFEST.replace("hunter2", "((password))");
    let problems = gather(&manifest, &["--registry", "r"]).unwrap_err();
    assert_eq!(problems.exit_code(), 65);
    let message = problems.to_string();
    assert!(
        message.contains("a variable without a value") && message.contains("manifest.yml:7: ((password))"),
        "{message}"
    );
    let all = gather(&manifest, &["--registry", "r", "-v", "password=x"]).unwrap();
    assert_eq!(text(job(&all), "/spec/template/spec/serviceAccountName"), "shop-gather");
}

/// boson takes the place of `bpm` and `bosh-dns`; a release without a job is not run.
#[test]
fn only_releases_whose_jobs_run_need_an_image() {
    let manifest = MANIFEST
        .replace("releases:\n", "releases:\n- {name: bpm, version: 1}\n- {name: unused, version: 1}\n")
        .replace("jobs: [", "jobs: [{name: bpm, release: bpm}, ");
    let all = gather(&manifest, &["--image", "web=r/web", "--image", "db=r/db", "--image", "unused=r/unused"]).unwrap();
    let spec = &job(&all)["spec"]["template"]["spec"];
    let names: Vec<&str> =
        spec["initContainers"].as_array().unwrap().iter().map(|container| text(container, "/name")).collect();
    assert_eq!(names, ["install", "copy-jobs-web", "copy-jobs-db", "plan", "check", "write-secrets"]);
    // One list of images serves several deployments.
    let of_others = ["--registry", "r", "--image", "webb=r/web", "--image", "other=r/other"];
    assert_eq!(gather(&manifest, &of_others).unwrap(), gather(&manifest, &["--registry", "r"]).unwrap());
}

/// Patches are in a ConfigMap for each release, which copy-jobs applies in the gather Job, and deploy in pods.
#[test]
fn patches_are_kept_beside_the_manifest() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let diff = write("fix it.diff", "--- a/jobs/web/monit\n+++ b/jobs/web/monit\n@@ -1 +1 @@\n-a\n+b\n");
    let flags = [format!("web={diff}"), format!("web={diff}")];
    let all = gather(MANIFEST, &["--registry", "r", "--patch", &flags[0], "--patch", &flags[1]]).unwrap();
    let config_map = all.iter().find(|object| text(object, "/metadata/name").starts_with("shop-patches-web-")).unwrap();
    let keys: Vec<&String> = config_map["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["001-fix-it.diff", "002-fix-it.diff"]);
    assert_eq!(config_map["immutable"], true);
    let spec = &job(&all)["spec"]["template"]["spec"];
    let copy = |number: usize| spec["initContainers"][number]["command"].to_string();
    assert!(copy(1).ends_with("\"web\",\"--patch\",\"/var/vcap/patches/web\"]") && !copy(2).contains("--patch"));
    let name = text(config_map, "/metadata/name");
    let deploy = spec["containers"][0]["command"].to_string();
    assert!(deploy.contains(&format!("\"--patches=web={name}\"")), "{deploy}");
    let volumes = spec["volumes"].as_array().unwrap();
    assert!(
        volumes.iter().any(|volume| volume["name"] == "patches-web" && volume["configMap"]["name"] == name),
        "{volumes:?}"
    );

    let other = write("other.diff", "text\n");
    let manifest = MANIFEST.replace("releases:\n", "releases:\n- {name: unused, version: 1}\n");
    let flags = [
        format!("webb={diff}"),
        format!("unused={diff}"),
        format!("db={other}"),
        "db=missing".to_owned(),
        "db".to_owned(),
    ];
    let flags = flags.iter().flat_map(|flag| ["--patch", flag]).chain(["--registry", "r"]).collect::<Vec<_>>();
    let message = gather(&manifest, &flags).unwrap_err().to_string();
    for part in [
        "the manifest has no release 'webb'",
        "did you mean 'web'?",
        "no job of release 'unused' runs",
        "not a unified diff",
        "other.diff:1",
        "cannot read the patch",
        "--patch must be RELEASE=FILE, not 'db'",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

/// `plan` has no token: the Job mounts the Secrets of the links that the manifest names.
#[test]
fn links_of_other_deployments_are_mounted_into_plan() {
    let with = |consumes: &str| {
        MANIFEST.replace("{name: web, release: web}", &format!("{{name: web, release: web, consumes: {consumes}}}"))
    };
    let manifest = with("{db: {from: main.sql, deployment: cf-db}, own: {deployment: shop}, other: {from: x}}");
    let all = gather(&manifest, &["--registry", "r", "--plan-containers", "group"]).unwrap();
    let spec = &job(&all)["spec"]["template"]["spec"];
    let volumes = spec["volumes"].as_array().unwrap();
    let links: Vec<&Object> = volumes.iter().filter(|volume| text(volume, "/name").starts_with("link-")).collect();
    assert_eq!(links.len(), 1);
    assert_eq!(text(links[0], "/secret/secretName"), "link-cf-db-sql");
    assert_eq!(links[0]["secret"]["optional"], true);
    for container in spec["initContainers"].as_array().unwrap() {
        let mounts = container["volumeMounts"].as_array().unwrap().iter();
        let paths: Vec<&str> = mounts
            .filter(|mount| text(mount, "/name").starts_with("link-"))
            .map(|mount| text(mount, "/mountPath"))
            .collect();
        let name = text(container, "/name");
        let plans = name == "plan" || name.starts_with("ig-resolved-") || name.starts_with("bpm-");
        assert_eq!(paths, if plans { vec!["/var/run/secrets/links/cf-db/sql"] } else { Vec::new() }, "{name}");
    }
    let message = gather(&with("{db: {ip_addresses: true}, x: {deployment: ../y}}"), &["--registry", "r"])
        .unwrap_err()
        .to_string();
    for part in [
        "asks for IP addresses, which are not known before pods run",
        "DNS addresses resolve to the pods",
        "manifest.yml:6",
        "'x' has a `deployment` or `from` that is not a name",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

/// Configs are in the Secret beside the manifest, with their variables replaced, and `plan` reads them there.
#[test]
fn configs_are_planned_with_the_manifest() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (runtime, cloud) = (path("runtime.yml"), path("cloud.yml"));
    let addon = "releases: [{name: agent, version: 3}]\naddons:\n- {name: a, jobs: [{name: a, release: agent, properties: {p: ((p))}}]}\n";
    fs::write(&runtime, addon).unwrap();
    fs::write(&cloud, "azs: [{name: z1}]\n").unwrap();
    let configs = ["--registry", "r", "--runtime-config", &runtime, "--cloud-config", &cloud];
    let message = gather(MANIFEST, &configs).unwrap_err().to_string();
    assert!(message.contains("runtime.yml:3: ((p))"), "{message}");
    let all = gather(MANIFEST, &[&configs[..], &["-v", "p=hunter3"]].concat()).unwrap();
    let secret = all.iter().find(|object| object["kind"] == "Secret").unwrap();
    let keys: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["cloud-config-1.yaml", "manifest.yaml", "runtime-config-1.yaml"]);
    let init = job(&all)["spec"]["template"]["spec"]["initContainers"].as_array().unwrap();
    assert!(init.iter().any(|container| container["image"] == "r/agent:3"), "{init:?}");
    let plan = init.iter().find(|container| container["name"] == "plan").unwrap();
    let command: Vec<&str> = plan["command"].as_array().unwrap().iter().filter_map(Object::as_str).collect();
    let expected = [
        "--runtime-config",
        "/var/run/secrets/deployment/runtime-config-1.yaml",
        "--cloud-config",
        "/var/run/secrets/deployment/cloud-config-1.yaml",
    ];
    assert_eq!(command[3..], expected);
}

/// `manifests/nats` is what this prints for the demo's manifest.
#[test]
fn the_example_is_what_is_printed() {
    let manifest = fs::read_to_string(e2e::here().join("deployments/nats.yml")).unwrap();
    let flags = ["--registry", "registry.example/releases", "--boson-image", "registry.example/boson:latest"];
    let yaml = kubernetes_objects::to_yaml(&gather(&manifest, &flags).unwrap());
    e2e::check(&e2e::here().join("../manifests/nats/gather.yaml"), &yaml).unwrap();
}

/// The specification's form: for each group two containers, each with the one document that it writes.
#[test]
fn groups_can_be_planned_by_containers_of_their_own() {
    let all = gather(MANIFEST, &["--registry", "r", "--plan-containers", "group"]).unwrap();
    let init = job(&all)["spec"]["template"]["spec"]["initContainers"].as_array().unwrap();
    for kind in ["ig-resolved", "bpm"] {
        let name = format!("{kind}-shop");
        let plan = init
            .iter()
            .find(|container| container["name"] == name.as_str())
            .unwrap_or_else(|| panic!("no {name}: {init:?}"));
        assert_eq!(plan["command"], serde_json::json!(["plan", kind]));
        let group =
            plan["env"].as_array().unwrap().iter().find(|variable| variable["name"] == "INSTANCE_GROUP_NAME").unwrap();
        assert_eq!(group["value"], "shop");
        let mounts = plan["volumeMounts"].as_array().unwrap();
        let output = mounts.iter().find(|mount| mount["mountPath"] == "/mnt/quarks").unwrap();
        assert_eq!(output["subPath"], format!("shop/{kind}"));
        assert!(mounts.iter().all(|mount| mount["name"] != "token"));
    }
    let names: Vec<&str> = init.iter().map(|container| text(container, "/name")).collect();
    assert_eq!(names.last(), Some(&"write-secrets"));
}

#[test]
fn network_policies_are_made_on_request() {
    let flags = ["--registry", "r", "--network-policies", "--api-server", "10.0.0.1/32"];
    let kinds = |all: &[Object]| all.iter().map(|object| text(object, "/kind").to_owned()).collect::<Vec<_>>();
    assert!(!kinds(&gather(MANIFEST, &flags[..2]).unwrap()).contains(&"NetworkPolicy".to_owned()));
    let all = gather(MANIFEST, &flags).unwrap();
    let policy = all.iter().find(|object| object["kind"] == "NetworkPolicy").unwrap();
    assert_eq!(policy["spec"]["egress"][0]["to"][0]["ipBlock"]["cidr"], "10.0.0.1/32");
    let selected = policy["spec"]["podSelector"]["matchLabels"].as_object().unwrap();
    let labels = &job(&all)["spec"]["template"]["metadata"]["labels"];
    assert!(selected.iter().all(|(label, value)| labels[label] == *value), "{labels}");
    // Before the Job, whose pod it restricts.
    assert_eq!(kinds(&all).last().map(String::as_str), Some("Job"));
    let deploy = job(&all)["spec"]["template"]["spec"]["containers"][0]["command"].to_string();
    assert!(deploy.contains("--network-policies"), "{deploy}");
}

#[test]
fn what_pods_need_is_explained_by_group() {
    let directory = tempfile::tempdir().unwrap();
    let source = e2e::here().join("scenarios/nats/3-output");
    let put = |path: &str, key: &str, file: &str| {
        let path = directory.path().join(path);
        fs::create_dir_all(&path).unwrap();
        let text = fs::read_to_string(source.join(file)).unwrap();
        fs::write(path.join("output.json"), handoff::output::encode(key, &text)).unwrap();
    };
    put("deployment", "deployment.yaml", "deployment.yaml");
    let explain = |user: &str| {
        let planned = directory.path().to_str().unwrap();
        let arguments = ["gather", "x.yml", "--explain-security", planned, "--run-hooks-as", user];
        gather::explain_security(&PrintCommand::parse_from(arguments).print).unwrap()
    };
    put("nats/bpm", "bpm.yaml", "nats/bpm.yaml");
    put("smoke-tests/bpm", "bpm.yaml", "smoke-tests/bpm.yaml");
    let expected = "nats: baseline\n  pre-start/nats: root: pre-start\n\
                    smoke-tests: baseline\n  smoke-tests/run: root: bin/run of the errand\n";
    assert_eq!(explain("root"), Some(expected.to_owned()));
    assert_eq!(explain("vcap"), Some("nats: restricted\nsmoke-tests: restricted\n".to_owned()));
}

#[test]
fn everything_that_a_manifest_lacks_is_reported_together() {
    let message = gather("instance_groups: []\n", &["--registry", "r"]).unwrap_err().to_string();
    assert!(message.contains("has no name") && message.contains("has no releases"), "{message}");
    let message = gather(MANIFEST, &[]).unwrap_err().to_string();
    assert!(message.contains("'web' has no image") && message.contains("'db' has no image"), "{message}");
}

/// What `kubectl apply` can apply: it copies each object into one of its annotations, which have 262,144 bytes together.
#[test]
fn a_large_manifest_is_divided_into_objects_that_kubectl_applies() {
    const MAX_ANNOTATIONS: usize = 262_144;
    let mut state = 1_u64;
    let mut key = || {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(state >> 58) as usize])
        };
        (0..4000).map(|_| next()).collect::<String>()
    };
    for (keys, expected) in [(0, 1), (30, 1), (100, 2), (1200, 21)] {
        let keys: String = (0..keys).map(|number| format!("  key{number}: {}\n", key())).collect();
        let manifest =
            MANIFEST.replace("properties: {password: hunter2}", &format!("properties:\n  password: hunter2\n{keys}"));
        let objects = gather(&manifest, &["--registry", "r"]).unwrap();
        for object in &objects {
            let size = object.to_string().len();
            assert!(size + 1000 < MAX_ANNOTATIONS, "{}: {size}", object["metadata"]["name"]);
        }
        let secrets: Vec<&Object> = objects.iter().filter(|object| object["kind"] == "Secret").collect();
        assert_eq!(secrets.len(), expected);
        let file = |end: &str| {
            let data = secrets.iter().find_map(|secret| secret["data"].get(format!("manifest.yaml{end}")));
            Ok(data.map(|data| serde_json::from_value::<k8s_openapi::ByteString>(data.clone()).unwrap().0))
        };
        assert!(object_basics::packed::unpack(file).unwrap().unwrap() == manifest.as_bytes());
        // plan sees all of them in one directory.
        let volumes = job(&objects)["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
        let volume = volumes.iter().find(|volume| volume["name"] == "manifest").unwrap();
        let mounted: Vec<&Object> = match volume["projected"]["sources"].as_array() {
            Some(sources) => sources.iter().map(|source| &source["secret"]["name"]).collect(),
            None => vec![&volume["secret"]["secretName"]],
        };
        assert_eq!(mounted, secrets.iter().map(|secret| &secret["metadata"]["name"]).collect::<Vec<_>>());
    }
    let huge = MANIFEST.replace("hunter2", &"x".repeat(10_000_000));
    let message = gather(&huge, &["--registry", "r"]).unwrap_err().to_string();
    assert!(message.contains("bytes, and at most 10000000 are supported"), "{message}");
}
