//! `post-deploy` with real scripts. What all lifecycle scripts have in common is tested with `pre-start`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[test]
fn the_scripts_of_this_name_are_run_and_reported() {
    let root = tempfile::tempdir().unwrap();
    testkit::lifecycle::check_verb(&testkit::executable!("post-deploy"), "post-deploy", root.path());
}
