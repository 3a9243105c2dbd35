//! What a manifest says about pods has its effect there: `env.bosh.agent.settings`, `properties.quarks`, sizes, errands beside
//! services, post-deploy scripts, standbys.

use serde_json::{Value, json};

use crate::gathered::{Gathered, RESTRICTED};

const WEB: &str = "settings-web-0";

fn settings(test: &str) -> Gathered {
    let settings = Gathered::new(test, "settings");
    let metadata = |name: &str| json!({"name": name});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata("token"), "stringData": {"value": "from-a-secret"}});
    let extra = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("extra"),
        "data": {"colour": "blue", "file": "from a volume"}});
    settings.namespace.apply(&secret.to_string());
    settings.namespace.apply(&extra.to_string());
    settings
}

fn logs(settings: &Gathered, pod: &str, container: &str) -> String {
    settings.namespace.kubectl(&["logs", pod, "--container", container])
}

/// The container with this name, of any list.
fn container<'a>(pod: &'a Value, name: &str) -> &'a Value {
    let lists = ["containers", "initContainers"].map(|list| pod["spec"][list].as_array().unwrap());
    lists.into_iter().flatten().find(|of| of["name"] == name).unwrap_or_else(|| panic!("no container {name}"))
}

#[test]
fn every_setting_of_pods_has_its_effect() {
    let settings = settings("settings");
    let flags = [&RESTRICTED[..], &["--vm-type", "small=1,256,64"]].concat();
    let job = settings.run(&flags);
    settings.assert_complete(&job);

    let pod = settings.namespace.try_pod(WEB).unwrap();
    check_pod(&pod);
    // Variables of a Secret and of the pod, and values that no object shows.
    let web = logs(&settings, WEB, "web-web");
    assert!(web.contains(&format!("token from-a-secret, pod {WEB}, level debug, extra more\n")), "{web}");
    assert!(logs(&settings, WEB, "web-side").contains("side with level debug\n"));
    assert!(!pod.to_string().contains("debug"), "a value may be a secret");
    let read = ["exec", WEB, "--container", "web-web", "--", "/bin/cat", "/etc/extra/file"];
    assert_eq!(settings.namespace.kubectl(&read), "from a volume");
    check_volumes(&settings);

    // `late` has waited for `web`.
    let late = settings.namespace.try_pod("settings-late-0").unwrap();
    let command = container(&late, "wait-for")["command"].to_string();
    assert!(command.contains("dns:settings-web."), "{command}");

    // It has the job of an addon.
    assert!(logs(&settings, "settings-late-0", "leader-leader").contains("round 7\n"));

    // Post-deploy ran once, the errands at the end, and those beside services on request.
    let deployed = |log: &str| log.matches("[web] everything is deployed\n").count();
    assert_eq!(deployed(&logs(&settings, WEB, "web-requests")), 1);
    let job = settings.namespace.kubectl(&[
        "get",
        "jobs",
        "--selector",
        "quarks.cloudfoundry.org/kind=errand-run",
        "-o=jsonpath={.items[*].metadata.name}",
    ]);
    assert!(job.starts_with("settings-once-"), "{job}");
    let once = settings.namespace.kubectl(&["logs", &format!("job/{job}"), "--container", "once-run"]);
    assert_eq!(once, "once, with blue\n");
    let printed = settings.kubectl_boson(&["errand", "check", "--pod", WEB]).unwrap();
    assert!(printed.contains(&format!("[{WEB}] check in web: ")), "{printed}");
    assert!(
        printed.contains("token from-a-secret\n") && printed.contains(&format!("[{WEB}] succeeded\n")),
        "{printed}"
    );
    let both = settings.kubectl_boson(&["errand", "check"]).unwrap();
    assert!(both.contains("[settings-late-0] check in late: "), "{both}");

    // One leader is ready. Standbys keep no update from going on.
    let ready = || {
        let path =
            "-o=jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=='Ready')].status} {end}";
        let selector = "quarks.cloudfoundry.org/instance-group-name=leader";
        settings.namespace.kubectl(&["get", "pods", "--selector", selector, path])
    };
    assert_eq!(ready(), "settings-leader-0=True settings-leader-1=False ");
    settings.edit("      round: 1\n", "      round: 2\n");
    let job = settings.run(&flags);
    settings.assert_complete(&job);
    for pod in ["settings-leader-0", "settings-leader-1"] {
        assert!(logs(&settings, pod, "leader-leader").contains("round 2\n"), "{pod}");
    }
    // What was deployed has changed, so post-deploy runs again; the pod is still the first one.
    assert_eq!(deployed(&logs(&settings, WEB, "web-requests")), 2);

    // What has no effect is in the log of plan, with its place.
    let plan = settings.namespace.kubectl(&["logs", &format!("job/{job}"), "--container", "plan"]);
    assert!(plan.contains("1 setting of pods has no effect:") && plan.contains("injectReplicasEnv"), "{plan}");
}

fn check_pod(pod: &Value) {
    let metadata = &pod["metadata"];
    assert_eq!(
        (&metadata["annotations"]["example.org/team"], &metadata["labels"]["tier"]),
        (&json!("web"), &json!("front"))
    );
    let spec = &pod["spec"];
    assert_eq!(spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["weight"], 1);
    let tolerations = spec["tolerations"].as_array().unwrap();
    assert!(tolerations.iter().any(|of| of["key"] == "example.org/dedicated"), "{tolerations:?}");
    let labels = &spec["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"];
    assert_eq!(labels["quarks.cloudfoundry.org/instance-group-name"], "web");
    assert_eq!(
        (&spec["terminationGracePeriodSeconds"], &spec["hostAliases"][0]["ip"]),
        (&json!(45), &json!("192.0.2.1"))
    );
    assert_eq!(spec["dnsConfig"]["options"][0]["name"], "ndots");
    let web = container(pod, "web-web");
    assert_eq!(web["livenessProbe"]["periodSeconds"], 20);
    // Two processes share the VM; requests of the manifest come before that.
    assert_eq!(web["resources"]["requests"], json!({"cpu": "20m", "memory": "128Mi"}));
    assert_eq!(container(pod, "web-side")["resources"]["requests"], json!({"cpu": "500m", "memory": "128Mi"}));
}

fn check_volumes(settings: &Gathered) {
    let claims = "-o=jsonpath={range .items[*]}{.metadata.name} {.spec.storageClassName} {.spec.resources.requests.storage};{end}";
    let claims = settings.namespace.kubectl(&["get", "persistentvolumeclaims", claims]);
    for claim in [
        "archive-settings-web-0 standard 64Mi;",
        "settings-web-0-data standard 64Mi;",
        "store-settings-web-0 standard 10Gi;",
    ] {
        assert!(claims.contains(claim), "{claim} in {claims}");
    }
}

/// Wrong settings change nothing in the cluster, and the message names their place.
#[test]
fn wrong_settings_change_nothing() {
    let settings = settings("settings-wrong");
    settings.edit("          tolerations:", "          tolerration:");
    let job = settings.run(&RESTRICTED);
    assert_eq!(settings.ended(&job).as_deref(), Some("Failed"));
    let message = settings.messages(&job);
    assert!(
        message.contains("unknown setting 'tolerration'") && message.contains("did you mean 'tolerations'?"),
        "{message}"
    );
    assert!(message.contains("manifest.yaml:"), "{message}");
    assert_eq!(settings.namespace.kubectl(&["get", "statefulsets", "--output", "name"]), "");
}
