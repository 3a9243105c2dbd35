//! The garbage of templates is collected, however large it is.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::process::Command;

/// Creates 3 GB of Strings, all of them short-lived.
const WASTEFUL: &str = "<% 3_000.times { |i| (i.to_s * 200_000).size } %><%= p('text') %>\n";

#[test]
fn a_template_may_allocate_more_memory_than_available_over_time() {
    let work = tempfile::tempdir().unwrap();
    let apart = format!("<% $waste = 1 %>{WASTEFUL}");
    let render = e2e::lone_job(work.path(), &[("shared", WASTEFUL), ("apart", &apart)]);
    // Address space for a third of it.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh"]).arg(render.get_program()).args(render.get_args());
    limited.envs(render.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(work.path());
    let limited = limited.output().unwrap();
    assert!(limited.status.success(), "{}", String::from_utf8_lossy(&limited.stderr));
    for name in ["shared", "apart"] {
        assert_eq!(fs::read_to_string(work.path().join("jobs/lone").join(name)).unwrap(), "kept\n");
    }
}
