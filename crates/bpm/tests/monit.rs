//! Which processes of a `bpm.yml` monit keeps running.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bpm::{supervised, watches};

const BPM_YML: &str =
    "processes:\n- {name: web, executable: /a}\n- {name: side, executable: /b}\n- {name: once, executable: /c}\n";

fn running(monit: Option<&str>, has_bin_run: bool) -> Vec<String> {
    let config = bpm::parse_for_job(BPM_YML, "bpm.yml", "web").unwrap();
    supervised(&config, "web", monit, has_bin_run).into_iter().map(|process| process.name.clone()).collect()
}

#[test]
fn monit_says_which_processes_are_started() {
    let monit = |start: &str| format!("check process x\n  with pidfile /x\n  start program {start}\n  group vcap\n");
    for (start, expected) in [
        ("\"/var/vcap/jobs/bpm/bin/bpm start web\"", vec!["web"]),
        ("= '/var/vcap/jobs/bpm/bin/bpm start web -p side' with timeout 60 seconds", vec!["side"]),
        ("\"/var/vcap/jobs/bpm/bin/bpm start -p side web\"", vec!["side"]),
        ("\"/var/vcap/jobs/bpm/bin/bpm start web --process=side\"", vec!["side"]),
        ("\"/var/vcap/jobs/bpm/bin/bpm start web --process side\"", vec!["side"]),
        ("\"/var/vcap/jobs/bpm/bin/bpm start web -pside\"", vec!["side"]),
        ("\"/bin/sh -c '/var/vcap/jobs/bpm/bin/bpm start web -p side'\"", vec!["side"]),
        ("\"/var/vcap/jobs/bpm/bin/bpm start other\"", vec![]),
    ] {
        assert_eq!(running(Some(&monit(start)), false), expected, "{start}");
    }
    let two = monit("\"/x/bpm start web -p side\"") + &monit("\"/x/bpm start web\"");
    assert_eq!(running(Some(&two), false), ["web", "side"]);
    let other = monit("\"/x/bpm start web\"").replace("start program", "START\n    PROGRAM");
    assert_eq!(running(Some(&other), false), ["web"]);
}

#[test]
fn all_run_where_monit_starts_nothing_with_bpm() {
    let all = ["web", "side", "once"];
    let script = "check process web\n  start program \"/var/vcap/jobs/web/bin/ctl start\"\n";
    let commented = "# start program \"/var/vcap/jobs/bpm/bin/bpm start web\"\n";
    for monit in [None, Some(""), Some(script), Some(commented)] {
        assert_eq!(running(monit, false), all, "{monit:?}");
    }
    assert_eq!(running(Some(script), true), all);
}

#[test]
fn an_errand_runs_nothing_by_itself() {
    for monit in [None, Some(""), Some("# nothing to watch\n")] {
        assert_eq!(running(monit, true), Vec::<String>::new(), "{monit:?}");
    }
    let watched = "check process web\n  start program \"/var/vcap/jobs/bpm/bin/bpm start web\"\n";
    assert_eq!(running(Some(watched), true), ["web"]);
}

#[test]
fn odd_files_are_read_to_their_end() {
    for monit in
        ["start", "start program", "start program \"", "check", "start program \"bpm", "start \"bpm start -p\""]
    {
        assert_eq!(running(Some(monit), false).len(), 3, "{monit}");
        assert!(!watches(monit), "{monit}");
    }
    assert!(watches("<% if p('x') %>\nCHECK  process x\n<% end %>"));
    assert!(!watches("# check process x"));
}
