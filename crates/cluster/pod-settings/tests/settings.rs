//! What is right and wrong in a manifest's settings of pods.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use pod_settings::{Fault, GroupSettings, JobSettings, env_vars};
use serde_json::json;

fn lines(faults: &[Fault]) -> Vec<String> {
    let hint = |fault: &Fault| fault.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    faults.iter().map(|fault| format!("{}: {}{}", fault.name(), fault.message, hint(fault))).collect()
}

#[test]
fn settings_are_typed() {
    let (settings, faults) = GroupSettings::read(&json!({
        "annotations": {"a": "b", "quarks.cloudfoundry.org/wait-for": "[\"database\"]"},
        "labels": {"app": "web"},
        "tolerations": [{"key": "dedicated", "operator": "Exists", "tolerationSeconds": 5}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]}},
        "disks": [{"pvc": {"metadata": {"name": "more"}, "spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": 1024}}}}, "volumeMount": {"name": "more", "mountPath": "/more"},
            "filters": {"job_name": "web"}}],
        "ephemeralAsPVC": true, "jobBackoffLimit": 2, "terminationGracePeriodSeconds": 90,
        "dns": {"nameservers": ["10.0.0.1"]}, "wait_for": ["queue"],
        "pod_template": {"spec": {"runtimeClassName": "gvisor", "hostname": null,
            "containers": [{"name": "web-web", "$patch": "delete"}]}},
    }));
    assert_eq!(lines(&faults), [""; 0]);
    assert_eq!(settings.wait_for, ["queue", "database"]);
    assert_eq!(settings.annotations.len(), 1);
    assert_eq!(settings.dns_policy.as_deref(), Some("None"));
    assert_eq!(settings.disks[0].job.as_deref(), Some("web"));
    let claim = settings.disks[0].claim.as_ref().unwrap().spec.as_ref().unwrap();
    assert_eq!(claim.resources.as_ref().unwrap().requests.as_ref().unwrap()["storage"].0, "1024");
}

#[test]
fn everything_that_is_wrong_with_a_group_is_reported_with_its_path() {
    let (_, faults) = GroupSettings::read(&json!({
        "tolerance": [], "labels": {"quarks.cloudfoundry.org/deployment-name": "x", "app": 1},
        "annotations": {"quarks.cloudfoundry.org/wait-for": "database", "job-name": "x"},
        "affinity": {"podAntiAfinity": {}},
        "tolerations": [{"key": "a", "effekt": "NoSchedule"}],
        "nodeSelector": ["hunter2"],
        "jobBackoffLimit": -1, "terminationGracePeriodSeconds": "hunter2", "dnsPolicy": "hunter2",
        "disks": [{"volume": {"name": "a", "emptyDir": {}}, "volumeMount": {"name": "b", "mountPath": ""}},
            {"filter": {}}, {"filters": {"jobname": "x"}, "volumeMount": {"name": "c", "mountPath": "/c"}}],
        "pod_template": {"metadata": {"name": "x", "labels": {"statefulset.kubernetes.io/pod-name": "x"}},
            "spec": {"hostnmae": "x", "containers": [{"name": "a", "imag": "hunter2"}]}},
    }));
    let lines = lines(&faults);
    assert!(!lines.join("\n").contains("hunter2"), "{lines:#?}");
    let expected = [
        "tolerance: unknown setting 'tolerance'",
        "annotations.quarks.cloudfoundry.org/wait-for: must be a list of names as JSON: '[\"database\"]'",
        "labels.app: must be a string, not an integer",
        "affinity.podAntiAfinity: unknown key 'podAntiAfinity' (did you mean 'podAntiAffinity'?)",
        "tolerations.0.effekt: unknown key 'effekt' (did you mean 'effect'?)",
        "nodeSelector: must be a map, not a list",
        "disks.0.volumeMount: needs a 'mountPath'",
        "disks.0.volumeMount: must have the name of its volume: 'a'",
        "disks.1.filter: unknown key 'filter' (did you mean 'filters'?)",
        "disks.1: has neither 'pvc' nor 'volume' nor 'volumeMount'",
        "disks.2.filters.jobname: unknown filter 'jobname' (did you mean 'job_name'?)",
        "terminationGracePeriodSeconds: must be u32, not a string",
        "dnsPolicy: must be one of ClusterFirst, ClusterFirstWithHostNet, Default, None",
        "pod_template.spec.containers.0.imag: unknown key 'imag' (did you mean 'image'?)",
        "pod_template.spec.hostnmae: unknown key 'hostnmae' (did you mean 'hostname'?)",
        "pod_template.metadata.labels.statefulset.kubernetes.io/pod-name: \
         'statefulset.kubernetes.io/pod-name' is reserved: pods are selected and found by it",
        "pod_template.metadata.name: cannot be set: only 'labels' and 'annotations' of a pod can",
        "annotations.job-name: 'job-name' is reserved: pods are selected and found by it",
        "jobBackoffLimit: must not be negative",
    ];
    let (mut found, mut expected) = (lines.clone(), expected.map(str::to_owned).to_vec());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_patch_cannot_delete_what_selects_pods() {
    for patch in [json!({"spec": null}), json!({"metadata": null}), json!({"metadata": {"labels": null}})] {
        let (_, faults) = GroupSettings::read(&json!({"pod_template": patch}));
        assert!(lines(&faults)[0].ends_with(": cannot be deleted"), "{faults:?}");
    }
}

#[test]
fn a_probe_checks_in_one_way() {
    let (settings, faults) = JobSettings::read(&json!({
        "healthcheck": {"web": {
            "readiness": {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}},
            "liveness": {"periodSeconds": 5},
            "startup": {"httpGet": {"port": "http", "pth": "/"}},
            "lifeness": {},
        }, "other": []},
        "security_context": {"runAsUser": 1000, "capabilites": {}},
        "helthcheck": {},
    }));
    let expected = [
        "healthcheck.other: must be a mapping of probes",
        "healthcheck.web.lifeness: unknown probe 'lifeness' (did you mean 'liveness'?)",
        "healthcheck.web.liveness: checks nothing: it needs one of exec, grpc, httpGet, tcpSocket",
        "healthcheck.web.readiness: must have one of exec, tcpSocket, not several",
        "healthcheck.web.startup.httpGet.pth: unknown key 'pth' (did you mean 'path'?)",
        "helthcheck: unknown key 'helthcheck' (did you mean 'healthcheck'?)",
        "security_context.capabilites: unknown key 'capabilites' (did you mean 'capabilities'?)",
    ];
    let mut found = lines(&faults);
    found.sort();
    assert_eq!(found, expected);
    assert_eq!(settings.security_context.unwrap().run_as_user, Some(1000));
}

#[test]
fn variables_have_one_source() {
    let secret = json!({"secretKeyRef": {"name": "s", "key": "k"}});
    let two = json!({"secretKeyRef": {"name": "s", "key": "k"}, "fieldRef": {"fieldPath": "x"}});
    let misspelt = json!({"secretKeyReff": {"name": "s", "key": "k"}});
    let variables = [
        ("A", true, None),
        ("A", false, Some(&secret)),
        ("B", true, Some(&secret)),
        ("C", false, None),
        ("D", false, Some(&two)),
        ("E", false, Some(&misspelt)),
        ("1-x", true, None),
        ("BOSON_X", true, None),
    ];
    let expected = [
        "1.name: the variable 'A' is set twice",
        "2: 'B' has both 'value' and 'valueFrom'",
        "3: 'C' has neither 'value' nor 'valueFrom'",
        "4.valueFrom: must have exactly one of configMapKeyRef, fieldRef, resourceFieldRef, secretKeyRef",
        "5.valueFrom.secretKeyReff: unknown key 'secretKeyReff' (did you mean 'secretKeyRef'?)",
        "6.name: a variable's name has letters, digits and '_' only",
        "7.name: names that begin with BOSON_ are reserved",
    ];
    assert_eq!(lines(&env_vars(variables.into_iter())), expected);
}
