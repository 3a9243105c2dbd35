//! What a `monit` file says.

use std::time::Duration;

/// Where something is in a file: line and column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// A whole `monit` file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Its services, in order.
    pub services: Vec<Service>,
    /// What monit accepts and this model does not contain, in order.
    pub unsupported: Vec<Unsupported>,
}

impl Config {
    /// What has no effect where this model is carried out, in order: what it does not contain, and rules about the machine, which
    /// is not the instance's.
    pub fn without_effect(&self) -> Vec<Unsupported> {
        let of_machine = self.services.iter().filter(|service| matches!(service.kind, Kind::System | Kind::Status(_)));
        let rules = of_machine.flat_map(|service| {
            let what = if service.kind == Kind::System { "rule of check system" } else { "rule of check status" };
            let rule = move |rule: &Rule| Unsupported { service: None, what: what.to_owned(), at: rule.at };
            service.rules.iter().map(rule)
        });
        let mut all: Vec<Unsupported> = self.unsupported.iter().cloned().chain(rules).collect();
        all.sort_by_key(|unsupported| unsupported.at);
        all
    }

    /// The services that are supervised one by one: the processes that are started. In a file without any, the first of the files,
    /// directories and hosts stands for all of them.
    pub fn supervised(&self) -> Vec<&Service> {
        let started = self.services.iter().filter(|service| service.is_process() && service.is_started());
        let started: Vec<&Service> = started.collect();
        if started.is_empty() {
            self.services.iter().find(|service| service.is_watched()).into_iter().collect()
        } else {
            started
        }
    }

    /// The service of this name.
    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.iter().find(|service| service.name == name)
    }
}

/// A statement, or a part of one, that is not in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The service it belongs to; absent for `set` and `include`.
    pub service: Option<String>,
    /// What it is: `alert by mail`, `set`, `protocol mysql`.
    pub what: String,
    /// Where it is.
    pub at: Span,
}

/// A `check` statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Where the name is.
    pub at: Span,
    /// What is checked.
    pub kind: Kind,
    /// `start program`.
    pub start: Option<Program>,
    /// `stop program`.
    pub stop: Option<Program>,
    /// `depends on`, in order.
    pub depends_on: Vec<String>,
    /// `group`, in order. BOSH's agent starts the services of group `vcap`, monit itself those of other groups or none.
    pub groups: Vec<String>,
    /// `mode`.
    pub mode: Mode,
    /// `every N cycles`: checked in every Nth cycle only.
    pub every: Option<u32>,
    /// Its `if` statements, in order.
    pub rules: Vec<Rule>,
}

impl Service {
    /// Whether monit or BOSH's agent starts it: it has a start program, and is not in manual mode outside group `vcap`.
    pub fn is_started(&self) -> bool {
        self.start.is_some() && (self.mode != Mode::Manual || self.is_of_agent())
    }

    /// Whether BOSH's agent sees it, so that the instance fails with it: it is in group `vcap`.
    pub fn is_of_agent(&self) -> bool {
        self.groups.iter().any(|group| group.eq_ignore_ascii_case("vcap"))
    }

    /// Whether it is no process, but something that exists or answers, and anybody notices if it does not: BOSH's agent, which sees
    /// the services of group `vcap`, or a program of its own.
    fn is_watched(&self) -> bool {
        let checkable = !matches!(self.kind, Kind::Process(_) | Kind::System | Kind::Status(_));
        let runs = |action: &Action| matches!(action, Action::Exec(_));
        let executes =
            |rule: &Rule| runs(&rule.action) || rule.recovery.as_ref().is_some_and(|recovery| runs(&recovery.action));
        checkable && (self.is_of_agent() || self.is_started() || self.rules.iter().any(executes))
    }

    /// Whether it is a `check process`.
    pub fn is_process(&self) -> bool {
        matches!(self.kind, Kind::Process(_))
    }
}

/// What a service checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `check process`.
    Process(ProcessId),
    /// `check file`: its path.
    File(String),
    /// `check directory`: its path.
    Directory(String),
    /// `check filesystem` or `check device`: its path.
    Filesystem(String),
    /// `check fifo`: its path.
    Fifo(String),
    /// `check status`, which always succeeds: its path.
    Status(String),
    /// `check host`: its address.
    Host(String),
    /// `check system`.
    System,
}

/// How a process is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessId {
    /// By the number in this file.
    Pidfile(String),
    /// By a regular expression (POSIX, extended) on its command line; the first that matches counts.
    Matching(String),
}

/// `mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// monit acts on what it finds.
    #[default]
    Active,
    /// monit starts and stops on request, and reports what it finds.
    Passive,
    /// As `Active`, but monit does not start the service by itself.
    Manual,
}

/// A program: `start program`, `stop program` or `exec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program, an absolute path, and its arguments: at least 1 and at most 64 words.
    pub argv: Vec<String>,
    /// `as uid`; root where absent.
    pub uid: Option<Account>,
    /// `gid`; root's group where absent, also with `as uid`.
    pub gid: Option<Account>,
    /// How long monit waits for the effect of a start or stop program: `with timeout`, or 30 s. Without meaning for `exec`.
    pub timeout: Duration,
    /// Where the statement is.
    pub at: Span,
}

/// A user or group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Account {
    /// By name.
    Name(String),
    /// By number.
    Id(u32),
}

/// An `if` statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What is tested.
    pub condition: Condition,
    /// How often it must hold.
    pub rate: Rate,
    /// What happens then, again in every cycle in which it holds.
    pub action: Action,
    /// `else if recovered`.
    pub recovery: Option<Recovery>,
    /// Where the statement is.
    pub at: Span,
}

/// `for N cycles`, `for N times within M cycles`; 1 of 1 where absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many of the last cycles.
    pub count: u32,
    /// The last cycles that count, at most 64.
    pub cycles: u32,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate { count: 1, cycles: 1 }
    }
}

/// What happens when the condition of a rule no longer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// How often it must not hold.
    pub rate: Rate,
    /// What happens then.
    pub action: Action,
}

/// What a rule does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The service counts as failing.
    Alert,
    /// Stops and starts the service and what depends on it.
    Restart,
    /// Starts the service.
    Start,
    /// Stops the service and does not check it any more.
    Stop,
    /// Does not check the service any more (`unmonitor`, or `timeout` of a rule on restarts).
    Unmonitor,
    /// Runs a program as root, without waiting for it.
    Exec(Program),
}

/// What an `if` statement tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `if failed port`, `if failed unixsocket`: a connection cannot be made, or the protocol's answer is wrong.
    Connection(Connection),
    /// `if totalmem > 500 Mb`, `if cpu > 90 %`.
    Resource(ResourceLimit),
    /// `if N restarts within M cycles`: counts restarts that rules caused.
    Restarts {
        /// How many restarts.
        count: u32,
        /// Within how many cycles.
        cycles: u32,
    },
    /// `if does not exist`.
    Missing,
    /// `if changed timestamp`.
    Changed(Change),
    /// A condition that the model does not contain; it is listed in [`Config::unsupported`].
    Other,
}

/// Of what a rule reports a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The time of the last modification.
    Timestamp,
    /// The size.
    Size,
    /// The checksum of the content.
    Checksum,
    /// The id of the process.
    Pid,
    /// The id of the parent process.
    ParentPid,
}

/// A connection that is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// What it connects to.
    pub endpoint: Endpoint,
    /// `type`.
    pub transport: Transport,
    /// `protocol`.
    pub protocol: Protocol,
    /// How long it may take: `with timeout`, or 5 s.
    pub timeout: Duration,
}

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `host` (the address of a `check host`, else `localhost`) and `port`.
    Inet {
        /// The host's name or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// `unixsocket`: the path.
    Unix(String),
}

/// The kind of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// `tcp`.
    #[default]
    Tcp,
    /// `udp`.
    Udp,
    /// `tcpssl`: monit on stemcells is built without SSL, so this check cannot be activated.
    TcpSsl,
}

/// What is tested on a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Protocol {
    /// That it can be made.
    #[default]
    Default,
    /// HTTP: GET, answered with a status below 400.
    Http {
        /// `request`: the path; `/` where absent.
        request: Option<String>,
        /// `hostheader`.
        host_header: Option<String>,
    },
    /// Another one, by its name in lower case; it is listed in [`Config::unsupported`].
    Other(String),
}

/// A limit of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimit {
    /// What is measured.
    pub resource: Resource,
    /// How it is compared with the limit; the rule applies where the comparison holds.
    pub operator: Operator,
    /// The limit.
    pub limit: Limit,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// `cpu` of the process.
    Cpu,
    /// `totalcpu`, of the process and its descendants.
    TotalCpu,
    /// `cpu(user)` of the system.
    CpuUser,
    /// `cpu(system)` of the system.
    CpuSystem,
    /// `cpu(wait)` of the system.
    CpuWait,
    /// `mem`: resident memory of the process, or used memory of the system.
    Memory,
    /// `totalmem`: resident memory of the process and its descendants.
    TotalMemory,
    /// `swap` of the system.
    Swap,
    /// `children`: number of descendants.
    Children,
    /// `loadavg(1min)`.
    Load1,
    /// `loadavg(5min)`.
    Load5,
    /// `loadavg(15min)`.
    Load15,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `>`, `gt`, `greater`.
    Greater,
    /// `<`, `lt`, `less`.
    Less,
    /// `=`, `==`, `eq`, `equal`, or none.
    Equal,
    /// `!=`, `ne`, `notequal`.
    NotEqual,
}

/// The value of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes; a multiple of 1024, as monit counts kilobytes.
    Bytes(u64),
    /// Percent of the machine.
    Percent(u32),
    /// A number.
    Count(u32),
    /// A load in tenths.
    Tenths(u32),
}
