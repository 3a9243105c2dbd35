//! The release `idioms` in pods: what releases do that are older than BPM, or that know VMs well. The pods are made of `workload`'s
//! description.

use std::fs;
use std::process::Command;

use e2e::here;
use serde_json::Value;

use crate::cluster::{Namespace, from_run, output};
use crate::workloads::{Group, groups, objects};

const INSTALLED: &str = "/var/vcap/all-releases/.boson/bin";

/// A deployment of `e2e/deployments` with this release, in a namespace of its own.
struct Deployed {
    namespace: Namespace,
    groups: Vec<Group>,
    shares_pids: bool,
}

impl Deployed {
    /// Plans it with these edits of its manifest, and applies its services; waits for nothing. Scripts run as root.
    fn apply(test: &str, deployment: &str, edits: &[(&str, &str)], shares_pids: bool) -> Deployed {
        let namespace = Namespace::with_standard(test, "baseline");
        let mut manifest = fs::read_to_string(here().join(format!("deployments/{deployment}.yml"))).unwrap();
        for (from, to) in edits {
            assert!(manifest.contains(from), "{from:?} is not in the manifest");
            manifest = manifest.replace(from, to);
        }
        let groups = plan(&namespace.name, &manifest);
        let deployed = Deployed { namespace, groups, shares_pids };
        deployed.groups.iter().filter(|group| !group.pod.is_errand()).for_each(|group| deployed.apply_group(group));
        deployed
    }

    fn apply_group(&self, group: &Group) {
        self.namespace.apply(&objects(group, self.shares_pids).to_string());
    }

    /// Runs a script of bash in a container.
    fn try_exec(&self, pod: &str, container: &str, script: &str) -> Result<String, String> {
        self.namespace.try_kubectl(&["exec", pod, "--container", container, "--", "/bin/bash", "-ec", script])
    }

    #[track_caller]
    fn exec(&self, pod: &str, container: &str, script: &str) -> String {
        self.try_exec(pod, container, script).unwrap_or_else(|e| panic!("{pod} {container}: {script}: {e}"))
    }

    fn logs(&self, pod: &str, container: &str) -> String {
        self.namespace.kubectl(&["logs", pod, "--container", container])
    }

    /// Waits until the container has logged this line, as a whole or at the end of a line.
    fn wait_for_line(&self, pod: &str, container: &str, line: &str) {
        self.namespace.wait_until(&format!("{container} of {pod} logs {line:?}"), || {
            let logs = self.namespace.try_kubectl(&["logs", pod, "--container", container]);
            logs.is_ok_and(|logs| logs.lines().any(|logged| logged.ends_with(line)))
        });
    }

    /// How often each container has been restarted.
    fn restarts(&self, pod: &str) -> Vec<(String, u64)> {
        let pod = self.namespace.try_pod(pod).unwrap_or_default();
        let all = pod["status"]["containerStatuses"].as_array().cloned().unwrap_or_default();
        let of =
            |status: &Value| (status["name"].as_str().unwrap().to_owned(), status["restartCount"].as_u64().unwrap());
        all.iter().map(of).collect()
    }

    /// Waits until this container, and no other, has been restarted, and the pod is ready.
    fn wait_for_restart(&self, pod: &str, container: &str) {
        self.namespace.wait_until(&format!("{container} is started again"), || {
            self.restarts(pod).iter().any(|(name, count)| name == container && *count == 1)
        });
        self.namespace.wait_until_ready(pod);
        let others = self.restarts(pod).into_iter().filter(|(name, count)| name != container && *count > 0);
        assert_eq!(others.collect::<Vec<_>>(), []);
    }
}

/// What the executable of the image plans.
fn plan(namespace: &str, manifest: &str) -> Vec<Group> {
    let boson = from_run("E2E_BOSON");
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("manifest.yml"), manifest).unwrap();
    let boson = |args: &[&str]| output(Command::new(&boson).args(args).current_dir(dir.path())).unwrap();
    let jobs = here().join("releases/idioms/jobs");
    boson(&["copy-jobs", "--from", jobs.to_str().unwrap(), "--to", "jobs-src/idioms"]);
    let input = ["--bosh-manifest-path", "manifest.yml", "--base-dir", ".", "--kube-namespace", namespace];
    boson(&[&["plan", "--output-dir", "output"][..], &input].concat());
    groups(&dir.path().join("output"))
}

/// A script that prints what a port answers.
fn ask(host: &str, port: u16) -> String {
    format!("exec 3<>/dev/tcp/{host}/{port}; cat <&3")
}

#[test]
fn daemons_of_monit_scripts_and_errands_work_in_pods() {
    let idioms = Deployed::apply("idioms", "idioms", &[], false);
    for pod in ["servers-0", "servers-1"] {
        idioms.namespace.wait_until_ready(pod);
    }
    // Each daemon is in a container of its own; `late` depends on `early`.
    let containers = ["daemon-early", "daemon-late", "mixed-mixed", "mixed-side", "plain-plain"];
    assert_eq!(idioms.restarts("servers-1"), containers.map(|name| (name.to_owned(), 0)));
    assert_eq!(idioms.exec("servers-0", "daemon-late", &ask("idioms-servers-1", 7002)), "hello\n");
    assert_eq!(idioms.exec("servers-0", "daemon-early", "ls /var/vcap/sys/log/daemon | grep order || true"), "");

    // Which instance it is, for scripts.
    let files = "cd /var/vcap/instance; echo $(cat id) $(cat name) $(cat deployment) $(wc -c <az); cat /var/vcap/bosh/spec.json";
    let printed = idioms.exec("servers-1", "daemon-late", files);
    let (instance, spec) = printed.split_once('\n').unwrap();
    assert_eq!(instance, "servers-1 servers idioms 0");
    let spec: Value = serde_json::from_str(spec).unwrap();
    assert_eq!((&spec["index"], &spec["job"]["name"]), (&Value::from(1), &Value::from("servers")));

    // What pre-start printed, through tee and through logger, to its last line.
    for line in ["[daemon/tee.log] last line", " daemon.pre-start: first line", " daemon.pre-start: last line"] {
        idioms.wait_for_line("servers-0", "tail-logs", line);
    }
    idioms.exec("servers-0", "daemon-early", "logger -t test 'from a container'");
    idioms.wait_for_line("servers-0", "tail-logs", " test: from a container");
    // A container has a root file system of its own: pre-start has written to another one.
    assert!(idioms.try_exec("servers-0", "daemon-late", "cat /etc/profile.d/idioms.sh").is_err());

    // A job's containers run as root if one of its scripts does so beside a process; its processes run as vcap.
    let users = ["mixed-mixed", "mixed-side", "plain-plain"].map(|name| idioms.exec("servers-0", name, "id -u"));
    assert_eq!(users, ["0\n", "0\n", "1000\n"]);
    for line in [
        "[mixed/pre-start.stdout.log] pre-start as 0",
        "[mixed/mixed.stdout.log] mixed as 1000",
        "[mixed/side.stdout.log] side as 1000",
        "[mixed/post-start.stdout.log] post-start as 0, in servers-0",
        " mixed: hello from 1000",
        " side: hello from 1000",
        "[plain/pre-start.stdout.log] pre-start as 0",
        "[plain/plain.stdout.log] plain as 1000",
        " plain: hello from 1000",
    ] {
        idioms.wait_for_line("servers-0", "tail-logs", line);
    }

    // A daemon that dies takes its container along, and is started again.
    idioms.exec("servers-1", "daemon-late", "kill -KILL $(cat /var/vcap/sys/run/daemon/late.pid)");
    idioms.wait_for_restart("servers-1", "daemon-late");
    assert_eq!(idioms.exec("servers-0", "daemon-late", &ask("idioms-servers-1", 7002)), "hello\n");

    // An errand beside the service: in a container of its release.
    let run = format!("{INSTALLED}/run-process --errand --job writer");
    assert_eq!(idioms.exec("servers-0", "daemon-late", &run), "writer of 0 in /var/vcap/bosh\n");
    let failed = idioms.try_exec("servers-1", "daemon-late", &run).unwrap_err();
    assert!(failed.starts_with("exit status: 3\nwriter of 1 in /var/vcap/bosh\n"), "{failed}");

    // An instance that is replaced has its data, and has stopped its daemons.
    let boots = "cat /var/vcap/store/boots";
    assert_eq!(idioms.exec("servers-1", "daemon-late", boots), "boot 1\n");
    idioms.namespace.kubectl(&["delete", "pod", "servers-1"]);
    idioms.namespace.wait_until_ready("servers-1");
    assert_eq!(idioms.exec("servers-1", "daemon-late", boots), "boot 1\nboot 1\n");
    run_errand_group(&idioms);
}

/// In a pod of its own, with a colocated service that starts before it.
fn run_errand_group(idioms: &Deployed) {
    let report = idioms.groups.iter().find(|group| group.pod.is_errand()).unwrap();
    idioms.apply_group(report);
    let pods = || {
        idioms.namespace.kubectl(&["get", "pods", "--selector", "app.kubernetes.io/name=report", "--output", "name"])
    };
    idioms.namespace.wait_until("the pod of the errand exists", || !pods().is_empty());
    let pod = pods().trim().trim_start_matches("pod/").to_owned();
    let status = || idioms.namespace.try_pod(&pod).unwrap_or_default()["status"].clone();
    idioms.namespace.wait_until("the errand's pod has ended", || status()["phase"] == "Failed");
    assert_eq!(idioms.logs(&pod, "report-run"), "addon\nhello\nhello\n");
    let status = status();
    let ended = &status["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(ended["exitCode"], 7, "{ended}");
    let expected = "job \"report\", process \"run\": exit status 7; see /var/vcap/sys/log/report/run.stderr.log";
    let message = ended["message"].as_str().unwrap_or_default();
    assert!(message.starts_with(expected) && message.ends_with("hello"), "{message}");
}

#[test]
fn a_start_program_has_su_capabilities_and_etc() {
    // Where containers share a pid namespace, run-process is not the first process, and pid files are valid everywhere.
    let legacy = Deployed::apply("legacy", "legacy", &[], true);
    legacy.namespace.wait_until_ready("legacy-0");
    let answer = || legacy.exec("legacy-0", "legacy-legacy", &ask("127.0.0.1", 80));
    assert_eq!(answer(), "legacy of vcap\n");
    legacy.wait_for_line("legacy-0", "tail-logs", "[legacy/pre-start.stdout.log] preparing legacy-0-legacy");
    // A new tail-logs makes a new socket, which containers get that start later.
    let kill = "for process in /proc/[0-9]*; do
        [[ $(tr '\\0' ' ' <$process/cmdline) != 'tail-logs '* ]] || kill -KILL ${process#/proc/}
        done 2>/dev/null; true";
    legacy.exec("legacy-0", "legacy-legacy", kill);
    legacy.namespace.wait_until("tail-logs is started again", || {
        let pod = legacy.namespace.try_pod("legacy-0").unwrap_or_default();
        let all = pod["status"]["initContainerStatuses"].as_array().cloned().unwrap_or_default();
        all.iter().any(|c| c["name"] == "tail-logs" && c["restartCount"] == 1 && c["state"].get("running").is_some())
    });
    legacy.exec("legacy-0", "legacy-legacy", "kill -KILL $(cat /var/vcap/sys/run/legacy/legacy.pid)");
    legacy.wait_for_restart("legacy-0", "legacy-legacy");
    assert_eq!(answer(), "legacy of vcap\n");
    // The stop program runs, and its message still arrives.
    std::thread::scope(|scope| {
        let (namespace, follow) = (&legacy.namespace, ["logs", "--follow", "legacy-0", "--container", "tail-logs"]);
        let logs = scope.spawn(move || namespace.kubectl(&follow));
        legacy.wait_for_line("legacy-0", "tail-logs", "(to vcap) root on none");
        legacy.namespace.kubectl(&["delete", "pod", "legacy-0"]);
        let logs = logs.join().unwrap();
        assert_eq!(logs.matches(" legacy.ctl: stopped\n").count(), 1, "{logs}");
    });
}

#[test]
fn a_failed_script_is_reported_with_its_job_and_the_end_of_its_output() {
    let edit = ("    release: idioms\n", "    release: idioms\n    properties: {fail: true}\n");
    let legacy = Deployed::apply("fails", "legacy", &[edit], false);
    let status = || {
        let pod = legacy.namespace.try_pod("legacy-0").unwrap_or_default();
        let all = pod["status"]["initContainerStatuses"].as_array().cloned().unwrap_or_default();
        let own = all.into_iter().find(|status| status["name"] == "pre-start-idioms").unwrap_or_default();
        // The kubelet tries again.
        [&own["state"], &own["lastState"]].into_iter().find_map(|state| state.get("terminated").cloned())
    };
    legacy.namespace.wait_until("pre-start has failed", || status().is_some());
    let ended = status().unwrap();
    let message = ended["message"].as_str().unwrap();
    assert_eq!(ended["exitCode"], 70);
    assert!(message.starts_with("error: 1 of 1 pre-start scripts failed. Failed Jobs: legacy.\n"), "{message}");
    assert!(message.contains("legacy: exit status 3; see /var/vcap/sys/log/legacy/pre-start.stderr.log"), "{message}");
    assert!(message.contains("the end of its output:") && message.contains("the last line"), "{message}");
    let logs = legacy.logs("legacy-0", "pre-start-idioms");
    assert_eq!(logs.lines().filter(|line| *line == "[legacy] the last line").count(), 1, "{logs}");
    legacy.wait_for_line("legacy-0", "tail-logs", "[legacy/pre-start.stderr.log] the last line");
}
