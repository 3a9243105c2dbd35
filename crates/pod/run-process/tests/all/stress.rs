//! Every exit code, every signal, thousands of orphans, and many killed supervisors.

use std::time::{Duration, Instant};

use crate::support::{Job, output, text};

#[test]
fn every_exit_code_is_forwarded() {
    let job = Job::new("processes: [{name: web, executable: ROOT/web}]");
    for code in 0..=255 {
        job.write("web", &format!("#!/bin/sh\nexit {code}\n"), 0o755);
        let output = job.run();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "nothing is wrong with run-process itself");
    }
}

#[test]
fn every_signal_becomes_128_plus_its_number() {
    // Signals that do not terminate: CHLD, CONT, STOP, TSTP, TTIN, TTOU, URG, WINCH. The C library reserves 32 and 33.
    let harmless = [17, 18, 19, 20, 21, 22, 23, 28, 32, 33];
    let job = Job::new("processes: [{name: web, executable: ROOT/web, limits: {core_file_size: 0}}]");
    for signal in (1..=64).filter(|signal| !harmless.contains(signal)) {
        job.write("web", &format!("#!/bin/sh\nkill -{signal} $$\nsleep 1000\n"), 0o755);
        let output = job.run();
        assert_eq!(output.status.code(), Some(128 + signal), "{signal}: {}", text(&output.stderr));
        let state = job.read("var/vcap/sys/run/boson/web/web.state");
        assert!(state.contains(&format!("\"exit_code\":{},\"signal\":{signal},", 128 + signal)), "{state}");
    }
}

#[test]
fn ten_thousand_orphans_are_reaped() {
    // Each subshell ends before its own children do, some of which take a moment.
    let script = "
        i=0
        while [ $i -lt 1000 ]; do
            (: & : & : & : & : & : & : & : & : & : &)
            [ $((i % 10)) = 0 ] && (sleep 0.01 &)
            i=$((i + 1))
        done
        # Nothing is left but this one, and whoever looks.
        until [ \"$(cat /proc/$PPID/task/$PPID/children)\" = \"$$ \" ]; do sleep 0.01; done
        echo reaped
        exit 9";
    let output = Job::script(script, "").run();
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("reaped\n", Some(9)), "{output:?}");
}

/// A cheap generator, the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn a_restart_succeeds_after_each_of_a_thousand_kills() {
    let job = Job::script("[ -e ../../../../last ] && exit 7; exec sleep 1000", "");
    // Up to a little longer than the start takes, so that the kill hits any of its steps.
    let start = Instant::now();
    drop(job.start_quietly());
    let longest = u64::try_from(start.elapsed().as_micros()).unwrap().clamp(2_000, 50_000);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 1..=1000 {
        let mut child = job.command().spawn().unwrap();
        let until = Instant::now() + Duration::from_micros(random.below(longest));
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        assert_eq!(child.try_wait().unwrap(), None, "round {round}: it refused to start");
        child.kill().unwrap();
        child.wait().unwrap();
        if round % 100 == 0 {
            job.write("last", "", 0o644);
            let output = output(&mut job.command());
            assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(7), ""), "after {round} kills");
            std::fs::remove_file(job.path("last")).unwrap();
        }
    }
    let states: Vec<_> = std::fs::read_dir(job.path("var/vcap/sys/run/boson/web")).unwrap().flatten().collect();
    assert!(states.len() < 200, "files that nobody clears away: {}", states.len());
}
