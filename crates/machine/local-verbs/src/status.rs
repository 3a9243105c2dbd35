//! `boson status`: what runs.

use std::time::{Duration, SystemTime};

use clap::Args;
use problem::Result;
use startup::Common;

use local_state::Connection;
use local_state::Which;
use local_state::control::{Health, Reply, Request, Row};
use local_state::output;

/// The arguments of `status`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show every instance of a deployment that is up, and the state of its processes.\n\n\
        STATE, PID and SINCE are those of the process; EXIT is its last exit status, and RESTARTS counts how often it \
        was started again after an exit or by a rule of monit. INSTANCE STATE is what `bosh instances` shows: starting, \
        running, failing or stopped.",
    after_long_help = "Example:\n\
        \x20\x20boson status\n\n\
        Exit codes: 0 everything runs; 1 something does not; 65 the deployment is unknown, or is not up."
)]
pub struct Options {
    /// Run the jobs' bin/dns/healthy inside an instance
    #[arg(long, hide = true)]
    pub(crate) serve_dns_health: bool,
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
    let connection = Connection::expect(&options.which.find()?)?;
    connection.ask(&Request::Status, &[])?;
    let mut rows = Vec::new();
    loop {
        match connection.next()? {
            Some(Reply::Row(row)) => rows.push(row),
            Some(Reply::Exited(_)) => break,
            Some(Reply::Failed { text, code }) => {
                output::error(&text);
                return Ok(code);
            }
            Some(Reply::Line(_) | Reply::Part(_)) => {}
            // Rows that came before are not all rows.
            None => return Err(connection.closed()?.into()),
        }
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    for line in table(&rows, now) {
        output::line(&line);
    }
    Ok(u8::from(!rows.iter().all(|row| row.state.is_well() && row.health == Health::Running)))
}

/// The table's lines, head included, each column as wide as its widest entry.
fn table(rows: &[Row], now: u64) -> Vec<String> {
    let head = ["INSTANCE", "AZ", "IP", "PROCESS", "STATE", "PID", "EXIT", "SINCE", "RESTARTS", "INSTANCE STATE"]
        .map(str::to_owned);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let body = rows.iter().map(|row| {
        [
            row.instance.clone(),
            or_dash(row.az.clone()),
            row.ip.clone(),
            or_dash(row.process.clone()),
            row.state.to_string(),
            or_dash(row.pid.map(|pid| pid.to_string())),
            or_dash(row.exit.map(|exit| exit.to_string())),
            age(Duration::from_secs(now.saturating_sub(row.since))),
            or_dash(row.restarts.map(|restarts| restarts.to_string())),
            row.health.to_string(),
        ]
    });
    let all: Vec<[String; 10]> = std::iter::once(head).chain(body).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..10).map(width).collect();
    all.iter()
        .map(|row| {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect()
}

/// A duration in its largest unit.
fn age(duration: Duration) -> String {
    match duration.as_secs() {
        s @ 0..120 => format!("{s}s"),
        s @ 120..7_200 => format!("{}m", s / 60),
        s @ 7_200..172_800 => format!("{}h", s / 3_600),
        s => format!("{}d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use local_state::control::State;

    #[test]
    fn the_table_shows_what_is_known() {
        let row = Row {
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
        };
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
        assert_eq!(
            table(&[row, dead], 250),
            [
                "INSTANCE  AZ  IP          PROCESS    STATE    PID   EXIT  SINCE  RESTARTS  INSTANCE STATE",
                "nats/0    z1  10.244.0.2  nats/nats  running  4711  -     2m     0         running",
                "nats/10   -   10.244.0.2  nats/nats  exited   -     137   2m     3         failing",
            ]
        );
    }
}
