//! Ports of instances on the host.

use std::net::TcpListener;
use std::str::FromStr;

use problem::{Problem, Result, code};

/// `HOSTPORT:GROUP/INDEX:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Publish {
    /// The port of 127.0.0.1.
    pub(crate) host_port: u16,
    /// `group/index`.
    pub(crate) instance: String,
    /// The port of the instance.
    pub(crate) port: u16,
}

impl FromStr for Publish {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Publish, String> {
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        let parts: Vec<&str> = text.split(':').collect();
        let [host_port, instance, inner] = parts[..] else {
            return Err("it is not of the form HOSTPORT:GROUP/INDEX:PORT".to_owned());
        };
        if !instance.rsplit_once('/').is_some_and(|(group, index)| !group.is_empty() && index.parse::<u32>().is_ok()) {
            return Err(format!("{instance} is no instance: GROUP/INDEX, such as nats/0"));
        }
        let wrong = |text: &str| format!("{text} is no port: a number from 1 to 65535");
        Ok(Publish {
            host_port: port(host_port).ok_or_else(|| wrong(host_port))?,
            instance: instance.to_owned(),
            port: port(inner).ok_or_else(|| wrong(inner))?,
        })
    }
}

impl Publish {
    /// Listens on the host's port.
    pub(crate) fn listen(&self) -> Result<TcpListener> {
        Ok(TcpListener::bind(("127.0.0.1", self.host_port)).map_err(|e| {
            Problem::internal(format!("cannot listen on 127.0.0.1:{}", self.host_port))
                .code(code::PORT_UNAVAILABLE)
                .because(e)
                .hint("choose another host port for --publish")
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_port_is_read() {
        let read: Publish = "8222:nats/1:222".parse().unwrap();
        assert_eq!(read, Publish { host_port: 8222, instance: "nats/1".into(), port: 222 });
        for wrong in ["", "1:nats/0", "0:nats/0:1", "1:nats:1", "1:nats/x:1", "1:/0:1", "70000:nats/0:1", "1:a/0:2:3"] {
            assert!(wrong.parse::<Publish>().is_err(), "{wrong}");
        }
    }
}
