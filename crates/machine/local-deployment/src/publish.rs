//! Ports of instances on the host.

use std::net::{SocketAddrV4, TcpListener};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use problem::{Problem, Result, code};
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::host::Host;
use crate::report;

/// `HOSTPORT:GROUP/INDEX:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publish {
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
            return Err("not of the form HOSTPORT:GROUP/INDEX:PORT".to_owned());
        };
        if !instance.rsplit_once('/').is_some_and(|(group, index)| !group.is_empty() && index.parse::<u32>().is_ok()) {
            return Err(format!("'{instance}' is not an instance: GROUP/INDEX, such as nats/0"));
        }
        let wrong = |text: &str| format!("'{text}' is not a port: a number from 1 to 65535");
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

/// The ports of this machine that belong to instances.
#[derive(Debug, Default)]
pub(crate) struct Published(Mutex<Vec<Port>>);

#[derive(Debug)]
struct Port {
    publish: Publish,
    listener: TcpListener,
    /// Whether connections are forwarded already.
    forwarded: bool,
}

impl Published {
    /// Listens on ports; on one that is published for the same instance already, nothing happens.
    ///
    /// # Errors
    /// A port that is taken: all ports stay as they were.
    pub(crate) fn add(&self, wanted: &[Publish]) -> Result<()> {
        let mut ports = self.lock();
        let is_new = |publish: &&Publish| !ports.iter().any(|port| port.publish == **publish);
        let new = wanted
            .iter()
            .filter(is_new)
            .map(|publish| Ok(Port { publish: publish.clone(), listener: publish.listen()?, forwarded: false }));
        let new = new.collect::<Result<Vec<_>>>()?;
        ports.extend(new);
        Ok(())
    }

    /// Forwards the connections of all ports to their instances.
    ///
    /// # Errors
    /// Only those of the machine.
    pub(crate) fn forward(&self, host: &Host, deployment: &Deployment) -> Result<()> {
        for port in self.lock().iter_mut().filter(|port| !port.forwarded) {
            let Some(member) = deployment.member(&port.publish.instance) else { continue };
            host.network().forward(&port.listener, SocketAddrV4::new(member.ip, port.publish.port)).map_err(|e| {
                Problem::internal(format!("cannot publish port {}", port.publish.port))
                    .code(code::PORT_UNAVAILABLE)
                    .because(e)
            })?;
            port.forwarded = true;
            host.progress.line(&report::published(&port.publish.instance, port.publish.port, port.publish.host_port));
        }
        Ok(())
    }

    /// As [`Published::forward`], in another network.
    ///
    /// # Errors
    /// Only those of the machine.
    pub(crate) fn forward_again(&self, host: &Host, deployment: &Deployment) -> Result<()> {
        self.lock().iter_mut().for_each(|port| port.forwarded = false);
        self.forward(host, deployment)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Port>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
