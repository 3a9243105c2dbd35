//! `boson status`: what runs.

use std::time::{Duration, SystemTime};

use clap::Args;
use problem::Result;
use startup::Common;

use local_state::Connection;
use local_state::Which;
use local_state::control::{Health, Row};
use table::{Table, TableOptions};

use crate::vitals::{Vitals, measure, of_all_memory, percent, uptime};

/// The arguments of `status`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show every instance of a deployment that is up, and the state of its processes.\n\n\
        STATE, PID and SINCE are those of the process; EXIT is its last exit status, and RESTARTS counts how often it \
        was started again after an exit or by a rule of monit. INSTANCE STATE is what `bosh instances` shows: starting, \
        running, failing or stopped.",
    after_long_help = "Examples:\n\
        \x20\x20boson status\n\
        \x20\x20boson status --json\n\
        \x20\x20boson status --vitals\n\
        \x20\x20boson status --column instance --column instance_state\n\n\
        Exit codes: 0 everything runs; 1 something does not; 3 what does not run was stopped on request; 65 the \
        deployment is unknown, or is not up."
)]
pub struct Options {
    /// Run the jobs' bin/dns/healthy inside an instance
    #[arg(long, hide = true)]
    pub(crate) serve_dns_health: bool,
    /// Accepted as of `bosh instances`: processes are always shown
    #[arg(long)]
    pub(crate) ps: bool,
    /// Show how long processes run and what they use, with their children: CPU of all processors, resident memory
    #[arg(long)]
    pub(crate) vitals: bool,
    #[command(flatten)]
    pub(crate) table: TableOptions,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// One line for `--help`.
pub const ABOUT: &str = "Show what runs";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    if options.serve_dns_health {
        return local_deployment::serve_dns_health().map(|()| 0);
    }
    let rows = Connection::expect(&options.which.find()?)?.status()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let vitals = options.vitals.then(|| measure(&rows));
    table(&rows, vitals.as_deref(), now).print(&options.table)?;
    Ok(exit_code(&rows))
}

/// 0 if everything runs, 1 if anything is failing or not running yet, 3 if the rest was stopped on request.
fn exit_code(rows: &[Row]) -> u8 {
    let is_running = |row: &Row| row.state.is_well() && row.health == Health::Running;
    if rows.iter().any(|row| !is_running(row) && row.health != Health::Stopped) {
        1
    } else if rows.iter().any(|row| row.health == Health::Stopped) {
        STOPPED
    } else {
        0
    }
}

/// The exit code of services that do not run on purpose (LSB: `status` of init scripts).
const STOPPED: u8 = 3;

/// The columns that `--vitals` adds, named as by the bosh CLI.
const VITALS: [&str; 3] = ["Uptime", "CPU Total", "Memory Usage"];

/// The table of instances and processes, with what each process uses if that is wanted.
fn table(rows: &[Row], vitals: Option<&[Option<Vitals>]>, now: u64) -> Table {
    let mut titles =
        vec!["Instance", "AZ", "IP", "Process", "State", "PID", "Exit", "Since", "Restarts", "Instance State"];
    titles.extend(vitals.iter().flat_map(|_| VITALS));
    let mut table = Table::new("instances", &titles);
    let or_nothing = |number: Option<String>| number.unwrap_or_default();
    for (at, row) in rows.iter().enumerate() {
        let mut cells = vec![
            row.instance.clone(),
            or_nothing(row.az.clone()),
            row.ip.clone(),
            or_nothing(row.process.clone()),
            row.state.to_string(),
            or_nothing(row.pid.map(|pid| pid.to_string())),
            or_nothing(row.exit.map(|exit| exit.to_string())),
            age(Duration::from_secs(now.saturating_sub(row.since))),
            or_nothing(row.restarts.map(|restarts| restarts.to_string())),
            row.health.to_string(),
        ];
        if let Some(vitals) = vitals {
            cells.extend(cells_of(row, vitals.get(at).copied().flatten(), now));
        }
        table.push(cells);
    }
    table
}

/// The cells below [`VITALS`].
fn cells_of(row: &Row, vitals: Option<Vitals>, now: u64) -> [String; 3] {
    let Some(vitals) = vitals else { return [const { String::new() }; 3] };
    let cpu = vitals.cpu.map(percent).unwrap_or_default();
    [uptime(now.saturating_sub(row.since)), cpu, of_all_memory(vitals.memory)]
}

/// A duration in its largest unit.
pub(crate) fn age(duration: Duration) -> String {
    match duration.as_secs() {
        s @ 0..120 => format!("{s}s"),
        s @ 120..7_200 => format!("{}m", s / 60),
        s @ 7_200..172_800 => format!("{}h", s / 3_600),
        s => format!("{}d", s / 86_400),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use local_state::control::State;

    /// A process that runs.
    pub(crate) fn row() -> Row {
        Row {
            instance: "nats/0".into(),
            az: Some("z1".into()),
            ip: "10.244.0.2".into(),
            process: Some("nats/nats".into()),
            state: State::Running,
            pid: Some(4711),
            exit: None,
            since: 100,
            restarts: Some(0),
            health: Health::Running,
        }
    }

    #[test]
    fn the_table_shows_what_is_known() {
        let row = row();
        let dead = Row {
            instance: "nats/10".into(),
            az: None,
            state: State::Exited,
            pid: None,
            exit: Some(137),
            restarts: Some(3),
            health: Health::Failing,
            ..row.clone()
        };
        let text = table(&[row.clone(), dead.clone()], None, 250).text(&TableOptions::default()).unwrap();
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "INSTANCE  AZ  IP          PROCESS    STATE    PID   EXIT  SINCE  RESTARTS  INSTANCE STATE",
                "nats/0    z1  10.244.0.2  nats/nats  running  4711  -     2m     0         running",
                "nats/10   -   10.244.0.2  nats/nats  exited   -     137   2m     3         failing",
            ]
        );
        let vitals = [Some(Vitals { cpu: Some(15), memory: 0 }), None];
        let text = table(&[row.clone(), dead.clone()], Some(&vitals), 250).text(&TableOptions::default()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("UPTIME        CPU TOTAL  MEMORY USAGE"), "{text}");
        assert!(lines[1].ends_with("0d 0h 2m 30s  1.5%       0.0% (0 B)"), "{text}");
        let stopped = Row { state: State::Stopped, health: Health::Stopped, ..row.clone() };
        let code = |rows: &[&Row]| exit_code(&rows.iter().map(|&row| row.clone()).collect::<Vec<_>>());
        assert_eq!([code(&[&row]), code(&[]), code(&[&row, &stopped]), code(&[&stopped, &dead])], [0, 0, 3, 1]);
    }
}
