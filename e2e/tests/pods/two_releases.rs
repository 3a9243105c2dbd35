//! Two releases in one instance group: a job of the first runs a program of the second's package, in a script that a patch changes.

use std::fs;

use crate::gathered::{Gathered, RESTRICTED};

const BOTH: &str = "\
- {type: replace, path: /releases/-, value: {name: counter, version: latest}}
- {type: replace, path: /instance_groups/name=nats/persistent_disk?, value: 100}
- {type: replace, path: /instance_groups/name=nats/jobs/-, value: {name: counter, release: counter}}
";
const PATCH: &str = "\
diff --git a/jobs/nats/templates/pre-start.erb b/jobs/nats/templates/pre-start.erb
--- a/jobs/nats/templates/pre-start.erb
+++ b/jobs/nats/templates/pre-start.erb
@@ -8,3 +8,4 @@
 \"$server\" --version
 \"$server\" -t --config \"$config\"
+perl -c /var/vcap/packages/counter/bin/counter
 <% if_link('nats') do |nats| -%>
";
const IMAGE: [&str; 2] = ["--image", "counter=boson-e2e/counter:latest"];

#[test]
fn a_patched_job_runs_a_program_of_another_release() {
    let nats = Gathered::new("two-releases", "nats").with_ops_file(BOTH);
    let directory = tempfile::tempdir().unwrap();
    let flag = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        format!("nats={}", path.display())
    };
    let (patch, other) = (flag("perl.diff", PATCH), flag("other.diff", &PATCH.replace("--version", "-v")));
    let wrong = nats.run(&[&IMAGE[..], &RESTRICTED, &["--patch", &other]].concat());
    let messages = nats.messages(&wrong);
    assert!(messages.contains("the patch does not apply to nats/templates/pre-start.erb"), "{messages}");
    assert!(nats.pods("nats").is_empty());

    let flags = [&IMAGE[..], &RESTRICTED, &["--patch", &patch]].concat();
    nats.assert_complete(&nats.run(&flags));
    let log = nats.namespace.kubectl(&["logs", "nats-nats-z1-0", "--container", "pre-start-nats"]);
    assert!(log.contains("counter syntax OK"), "{log}");
    let status = nats.kubectl_boson(&["status"]).unwrap();
    assert!(status.contains("nats has packages of the release counter: counter"), "{status}");
    nats.delete();
}
