//! Random kills of every part of a deployment: it recovers, and no data of a persistent disk is lost.
//!
//! `SOAK_KILLS=200 cargo test -p e2e --test up soak` is the long form, `make soak` runs it; `SOAK_SEED` repeats a run.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::waiting::{eventually, wait_for};

use crate::deployment::Deployment;

/// The default number of kills.
const KILLS: u32 = 12;

/// The kinds of victims.
#[derive(Debug, Clone, Copy)]
enum Victim {
    /// A process of a job.
    Process,
    /// The supervisor above it.
    Supervisor,
    /// The first process of an instance.
    Instance,
    /// The boson that holds the deployment.
    Boson,
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Numbers that differ with each seed (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    fn victim(&mut self) -> Victim {
        match self.below(10) {
            0..5 => Victim::Process,
            5..7 => Victim::Supervisor,
            7..9 => Victim::Instance,
            _ => Victim::Boson,
        }
    }
}

fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The processes of jobs, by instance.
fn processes(ledger: &Deployment) -> Vec<(String, i32)> {
    let status = ledger.boson(&["status"]).stdout;
    let rows = status.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.nth(4)?.parse().ok()?))
    });
    rows.collect()
}

/// The last complete entry on an instance's disk; `None` if the instance does not answer.
fn last_entry(ledger: &Deployment, instance: &str) -> Option<u64> {
    let read = ledger.boson(&["exec", instance, "cat", "/var/vcap/store/ledger/entries"]);
    let whole = read.stdout.rfind('\n').map(|end| &read.stdout[..end]).filter(|_| read.code == Some(0))?;
    whole.lines().last()?.parse().ok()
}

fn boson_of(ledger: &Deployment) -> i32 {
    let text = std::fs::read_to_string(ledger.state().join("state.json")).expect("the deployment's record");
    let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    i32::try_from(record["boson"]["pid"].as_i64().expect("a process id")).expect("a process id")
}

fn strike(ledger: &Deployment, victim: Victim, process: i32) {
    let pid = match victim {
        Victim::Process => Some(process),
        Victim::Supervisor => parent(process),
        Victim::Instance => parent(process).and_then(parent),
        Victim::Boson => Some(boson_of(ledger)),
    };
    // Never a process of another test: the parent of a dead one is 1 or none.
    if let Some(pid) = pid.filter(|pid| *pid > 1) {
        let name = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).into_owned();
        if ["ledger", "run-process", "sandbox-process", "boson"].iter().any(|own| name.contains(own)) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
    if matches!(victim, Victim::Boson) {
        ledger.up_again();
    }
}

#[test]
fn random_kills_lose_no_data_and_everything_recovers() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_nanos();
    let seed = variable("SOAK_SEED").unwrap_or(u64::try_from(now & 0xFFFF_FFFF).expect("32 bits") | 1);
    let kills = variable("SOAK_KILLS").unwrap_or(KILLS.into());
    println!("SOAK_SEED={seed} SOAK_KILLS={kills}");
    let mut random = Random(seed);
    let ledger = Deployment::up("ledger");
    let names: Vec<String> = processes(&ledger).into_iter().map(|(instance, _)| instance).collect();
    assert_eq!(names.len(), 10);
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for number in 0..kills {
        let alive = wait_for("a process that runs", || Some(processes(&ledger)).filter(|all| !all.is_empty()));
        let chosen = usize::try_from(random.below(alive.len() as u64)).expect("an index");
        let (instance, pid) = &alive[chosen];
        if let Some(entry) = last_entry(&ledger, instance) {
            seen.insert(instance.clone(), entry);
        }
        // The short form kills boson itself, too.
        let victim = if number == kills / 2 { Victim::Boson } else { random.victim() };
        println!("{number}: {victim:?} of {instance}");
        strike(&ledger, victim, *pid);
    }
    eventually("everything runs", || ledger.boson(&["status"]).code == Some(0));
    for instance in &names {
        let entry = wait_for("the instance's entries", || last_entry(&ledger, instance));
        let before = seen.get(instance).copied().unwrap_or(0);
        assert!(entry >= before, "{instance}: entry {entry}, after it had {before}");
    }
    // It continues: the process has found no entry missing.
    let last: Vec<u64> = names.iter().map(|name| wait_for("an entry", || last_entry(&ledger, name))).collect();
    for (instance, last) in names.iter().zip(last) {
        eventually("a further entry", || last_entry(&ledger, instance).is_some_and(|entry| entry > last));
    }
    ledger.succeed(&["down", "--delete-disks"]);
    assert!(!ledger.state().exists());
}
