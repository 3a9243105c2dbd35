//! What `if` statements test.

use std::time::Duration;

use crate::model::{
    Change, Condition, Connection, Endpoint, Kind, Limit, Operator, Protocol, Resource, ResourceLimit, Transport,
};
use crate::parser::{Parser, Read};

/// How long a connection may take, unless the file says otherwise.
const NET_TIMEOUT: Duration = Duration::from_secs(5);

/// Protocols that monit knows and boson tests as a connection alone.
const OTHER_PROTOCOLS: [&str; 27] = [
    "apache-status",
    "dns",
    "dwp",
    "ftp",
    "imap",
    "clamav",
    "ldap2",
    "ldap3",
    "mysql",
    "sip",
    "nntp",
    "ntp3",
    "postfix-policy",
    "pop",
    "smtp",
    "ssh",
    "rdate",
    "rsync",
    "tns",
    "pgsql",
    "postgresql",
    "lmtp",
    "gps",
    "radius",
    "memcache",
    "redis",
    "mongodb",
];

impl Parser<'_> {
    /// A condition, up to its rate.
    pub(crate) fn condition(&mut self) -> Read<Condition> {
        let at = self.at();
        let kind = self.current_kind();
        if self.take(&["failed"]) {
            return self.failed(&kind);
        }
        if self.take(&["not"]) {
            if self.take(&["exist", "exists"]) {
                return Ok(Condition::Missing);
            }
            return self.content(&kind);
        }
        if self.is_number() {
            let count = self.number()?;
            self.expect(&["restart", "restarts", "restarted"])?;
            let cycles = self.number()?;
            self.expect(&["cycle", "cycles"])?;
            return Ok(Condition::Restarts { count, cycles });
        }
        if self.take(&["changed", "change"]) {
            return self.changed();
        }
        if self.is(&["match", "matching"]) {
            return self.content(&kind);
        }
        if is_path(&kind) && self.is(&["timestamp", "size", "inode", "inodes", "space"]) {
            let what = self.text()?.to_ascii_lowercase();
            self.operator();
            self.real()?;
            if !self.take_sign("%") {
                self.take(&["second", "seconds", "minute", "minutes", "hour", "hours", "day", "days"]);
                self.unit();
            }
            self.unsupported(format!("if {what}"), at);
            return Ok(Condition::Other);
        }
        let mut last = None;
        while let Some(limit) = self.resource(&kind)? {
            // Of several in one statement, monit keeps the last.
            last = Some(limit);
        }
        match last {
            Some(limit) => Ok(Condition::Resource(limit)),
            None => Err(self.syntax_error()),
        }
    }

    fn failed(&mut self, kind: &Kind) -> Read<Condition> {
        let at = self.at();
        let connects = matches!(kind, Kind::Process(_) | Kind::Host(_));
        if connects && self.is(&["host", "port"]) {
            let host = match kind {
                _ if self.take(&["host"]) => self.text()?,
                Kind::Host(address) => address.clone(),
                _ => "localhost".to_owned(),
            };
            self.expect(&["port"])?;
            let port_at = self.at();
            let port = u16::try_from(self.number()?).unwrap_or_else(|_| {
                self.report("a port must be between 0 and 65535".into(), port_at);
                0
            });
            return self.connection(Endpoint::Inet { host, port });
        }
        if matches!(kind, Kind::Process(_)) && self.take(&["unixsocket", "unix"]) {
            let path = self.path()?;
            return self.connection(Endpoint::Unix(path));
        }
        if matches!(kind, Kind::Host(_)) && self.take(&["icmp"]) {
            self.icmp()?;
            self.unsupported("if failed icmp", at);
        } else if connects && self.take(&["url"]) {
            self.url()?;
            self.unsupported("if failed url", at);
        } else {
            self.attributes(kind)?;
            self.unsupported("if failed on attributes of a file", at);
        }
        Ok(Condition::Other)
    }

    /// `type echo count N with timeout`
    fn icmp(&mut self) -> Read<()> {
        self.expect(&["type"])?;
        self.expect(&["echo"])?;
        if self.take(&["count"]) {
            self.number()?;
        }
        self.timeout().map(drop)
    }

    /// `URL content == "TEXT" with timeout`
    fn url(&mut self) -> Read<()> {
        // A URL has signs that end words.
        while !self.is(&["then", "timeout", "content"]) && !self.is_number() {
            if !self.take_sign(":") && !self.take_sign("@") && !self.take_sign("%") {
                self.text()?;
            }
        }
        if self.take(&["content"]) {
            self.operator();
            self.text()?;
        }
        self.timeout().map(drop)
    }

    /// Mode, owner or checksum of a file.
    fn attributes(&mut self, kind: &Kind) -> Read<()> {
        let is_path = is_path(kind);
        if is_path && self.take(&["permission", "perm"]) {
            self.number()?;
        } else if is_path && self.take(&["uid", "gid"]) {
            if self.is_number() {
                self.number()?;
            } else {
                self.text()?;
            }
        } else if matches!(kind, Kind::File(_)) && self.is(&["md5", "sha1", "checksum"]) {
            self.take(&["md5", "sha1"]);
            self.expect(&["checksum"])?;
            if self.take(&["expect"]) {
                self.text()?;
            }
        } else {
            return Err(self.syntax_error());
        }
        Ok(())
    }

    /// `type`, `protocol` and `timeout` behind an endpoint
    fn connection(&mut self, endpoint: Endpoint) -> Read<Condition> {
        let at = self.at();
        let mut transport = Transport::Tcp;
        if self.take(&["type"]) {
            let types = [("tcp", Transport::Tcp), ("udp", Transport::Udp), ("tcpssl", Transport::TcpSsl)];
            let Some(found) = self.one_of(&types) else { return Err(self.syntax_error()) };
            transport = found;
        }
        if transport == Transport::TcpSsl {
            self.take(&["sslv2", "sslv3", "tlsv1", "sslauto"]);
            if self.take(&["certmd5"]) {
                self.text()?;
            }
            self.unsupported("type tcpssl", at);
        }
        let at = self.at();
        let mut protocol = self.protocol()?;
        while self.take(&["send", "expect"]) {
            self.text()?;
            protocol = Protocol::Other("generic".to_owned());
        }
        if let Protocol::Other(name) = &protocol {
            self.unsupported(format!("protocol {name}"), at);
        }
        let timeout = self.timeout()?.unwrap_or(NET_TIMEOUT);
        Ok(Condition::Connection(Connection { endpoint, transport, protocol, timeout }))
    }

    fn protocol(&mut self) -> Read<Protocol> {
        if !self.take(&["protocol", "proto"]) || self.take(&["default"]) {
            return Ok(Protocol::Default);
        }
        if self.take(&["http"]) {
            let request = if self.take(&["request"]) { Some(self.path()?) } else { None };
            if request.is_some() && self.take(&["checksum"]) {
                let at = self.at();
                self.text()?;
                self.unsupported("request checksum", at);
            }
            let host_header = if self.take(&["hostheader"]) { Some(self.host_header()?) } else { None };
            return Ok(Protocol::Http { request, host_header });
        }
        if !self.is(&OTHER_PROTOCOLS) {
            return Err(self.syntax_error());
        }
        let name = self.text()?.to_ascii_lowercase();
        // What the protocols' options say is not tested.
        while !self.is(&["then", "timeout", "send", "expect"]) && !self.is_number() {
            if matches!(name.as_str(), "sip" | "radius" | "apache-status") {
                self.skip_option()?;
            } else {
                return Err(self.syntax_error());
            }
        }
        Ok(Protocol::Other(name))
    }

    /// A word of a protocol's option, with the number that it limits.
    fn skip_option(&mut self) -> Read<()> {
        self.text()?;
        self.operator();
        if self.is_number() {
            self.number()?;
            self.take_sign("%");
        }
        Ok(())
    }

    /// A host, which may have a port.
    fn host_header(&mut self) -> Read<String> {
        let mut host = self.text()?;
        if self.take_sign(":") {
            host = format!("{host}:{}", self.number()?);
        }
        Ok(host)
    }

    /// `[not] match REGEX` of a file's content
    fn content(&mut self, kind: &Kind) -> Read<Condition> {
        let at = self.at();
        if !matches!(kind, Kind::File(_)) {
            return Err(self.syntax_error());
        }
        self.expect(&["match", "matching"])?;
        self.text()?;
        self.unsupported("if match", at);
        Ok(Condition::Other)
    }

    fn changed(&mut self) -> Read<Condition> {
        let at = self.at();
        if self.take(&["fsflag", "fsflags"]) {
            self.unsupported("if changed fsflags", at);
            return Ok(Condition::Other);
        }
        if self.take(&["md5", "sha1"]) && !self.is(&["checksum"]) {
            return Err(self.syntax_error());
        }
        let change = self.one_of(&[
            ("timestamp", Change::Timestamp),
            ("size", Change::Size),
            ("checksum", Change::Checksum),
            ("pid", Change::Pid),
            ("ppid", Change::ParentPid),
        ]);
        change.map(Condition::Changed).ok_or_else(|| self.syntax_error())
    }

    /// A limit of a resource, if one comes next
    fn resource(&mut self, kind: &Kind) -> Read<Option<ResourceLimit>> {
        let of_process = matches!(kind, Kind::Process(_));
        if !of_process && !matches!(kind, Kind::System) {
            return Ok(None);
        }
        let Some(resource) = self.resource_name(of_process)? else { return Ok(None) };
        let operator = self.operator();
        let limit = self.limit(resource)?;
        Ok(Some(ResourceLimit { resource, operator, limit }))
    }

    fn resource_name(&mut self, of_process: bool) -> Read<Option<Resource>> {
        const OF_BOTH: [(&str, Resource); 6] = [
            ("totalcpu", Resource::TotalCpu),
            ("totalmem", Resource::TotalMemory),
            ("totalmemory", Resource::TotalMemory),
            ("mem", Resource::Memory),
            ("memory", Resource::Memory),
            ("loadavg", Resource::Load1),
        ];
        const OF_PROCESS: [(&str, Resource); 3] =
            [("children", Resource::Children), ("child", Resource::Children), ("cpu", Resource::Cpu)];
        const OF_SYSTEM: [(&str, Resource); 2] = [("swap", Resource::Swap), ("cpu", Resource::CpuUser)];
        const TOTALS: [(&str, Resource); 3] =
            [("cpu", Resource::TotalCpu), ("mem", Resource::TotalMemory), ("memory", Resource::TotalMemory)];
        const LOADS: [(&str, Resource); 3] =
            [("1min", Resource::Load1), ("5min", Resource::Load5), ("15min", Resource::Load15)];
        const CPUS: [(&str, Resource); 3] =
            [("user", Resource::CpuUser), ("system", Resource::CpuSystem), ("wait", Resource::CpuWait)];

        let found = match self.one_of(&OF_BOTH) {
            None if self.take(&["total"]) => self.one_of(&TOTALS),
            // What is measured is in brackets, which have no meaning of their own.
            Some(Resource::Load1) => self.one_of(&LOADS),
            None => match self.one_of(if of_process { &OF_PROCESS } else { &OF_SYSTEM as &[_] }) {
                Some(Resource::CpuUser) => self.one_of(&CPUS),
                None => return Ok(None),
                found => found,
            },
            found => found,
        };
        found.map(Some).ok_or_else(|| self.syntax_error())
    }

    fn limit(&mut self, resource: Resource) -> Read<Limit> {
        match resource {
            Resource::Children => self.number().map(Limit::Count),
            Resource::Load1 | Resource::Load5 | Resource::Load15 => {
                // monit truncates to tenths.
                self.real().map(|load| Limit::Tenths((load * 10.0) as u32))
            }
            Resource::Cpu | Resource::TotalCpu | Resource::CpuUser | Resource::CpuSystem | Resource::CpuWait => {
                let percent = self.number()?;
                if self.take_sign("%") || self.take(&["percent"]) {
                    return Ok(Limit::Percent(percent));
                }
                Err(self.syntax_error())
            }
            Resource::Memory | Resource::TotalMemory | Resource::Swap => {
                let is_number = self.is_number();
                let value = self.real()?;
                if is_number && (self.take_sign("%") || self.take(&["percent"])) {
                    return Ok(Limit::Percent(value as u32));
                }
                // monit counts whole kilobytes.
                Ok(Limit::Bytes((value * self.unit() / 1024.0) as u64 * 1024))
            }
        }
    }

    /// The bytes of the unit that comes next, 1 without one.
    fn unit(&mut self) -> f64 {
        const KB: f64 = 1024.0;
        let unit = self.one_of(&[
            ("b", 1.0),
            ("byte", 1.0),
            ("bytes", 1.0),
            ("kb", KB),
            ("kilobyte", KB),
            ("kilobytes", KB),
            ("mb", KB * KB),
            ("megabyte", KB * KB),
            ("megabytes", KB * KB),
            ("gb", KB * KB * KB),
            ("gigabyte", KB * KB * KB),
            ("gigabytes", KB * KB * KB),
        ]);
        unit.unwrap_or(1.0)
    }

    /// The comparison that comes next, `Equal` without one.
    fn operator(&mut self) -> Operator {
        let signs =
            [(">", Operator::Greater), ("<", Operator::Less), ("!=", Operator::NotEqual), ("==", Operator::Equal)];
        if let Some((_, operator)) = signs.into_iter().find(|(sign, _)| self.take_sign(sign)) {
            return operator;
        }
        let word = self.one_of(&[
            ("gt", Operator::Greater),
            ("greater", Operator::Greater),
            ("lt", Operator::Less),
            ("less", Operator::Less),
            ("ne", Operator::NotEqual),
            ("notequal", Operator::NotEqual),
            ("changed", Operator::NotEqual),
            ("eq", Operator::Equal),
            ("equal", Operator::Equal),
        ]);
        if word.is_none() {
            self.take_sign("=");
        }
        word.unwrap_or(Operator::Equal)
    }
}

/// Whether a service is something in the file system.
fn is_path(kind: &Kind) -> bool {
    matches!(kind, Kind::File(_) | Kind::Directory(_) | Kind::Filesystem(_) | Kind::Fifo(_))
}
