//! The name server of a deployment: BOSH's names and aliases, and the addresses of instances, as of the version that is
//! deployed now.

use std::net::IpAddr;
use std::sync::{Arc, Weak};

use dns_aliases::Answer;
use problem::{Problem, Result};
use resolver::server::{Lookup, serve_tcp, serve_udp};

use super::deployment::Deployment;
use super::running::RunningDeployment;

/// Answers from now on, as long as the deployment is held.
///
/// # Errors
/// No socket in the deployment's network, or no thread.
pub(crate) fn start(running: &Arc<RunningDeployment>) -> Result<()> {
    let failed = |e: std::io::Error| Problem::internal("cannot start the deployment's name server").because(e);
    let (datagrams, connections) = running.host.network.name_server().map_err(failed)?;
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    // Weak: the threads must not keep the deployment.
    let of_datagrams = Arc::downgrade(running);
    thread("dns udp").spawn(move || serve_udp(&datagrams, &|name| lookup(&of_datagrams, name))).map_err(failed)?;
    let of_connections = Arc::downgrade(running);
    thread("dns tcp").spawn(move || serve_tcp(&connections, &|name| lookup(&of_connections, name))).map_err(failed)?;
    Ok(())
}

fn lookup(running: &Weak<RunningDeployment>, name: &str) -> Lookup {
    running.upgrade().map_or(Lookup::Failed, |running| resolve(&running.deployment(), name))
}

/// What a name resolves to: BOSH's names first. No other server is reachable, so that any other name does not exist.
fn resolve(deployment: &Deployment, name: &str) -> Lookup {
    match deployment.zone().resolve(name) {
        Answer::Addresses(addresses) => Lookup::Addresses(addresses),
        Answer::Malformed => Lookup::Malformed,
        Answer::Recursion => Lookup::Failed,
        Answer::UnknownName | Answer::Elsewhere => {
            let own = own_addresses(deployment, name);
            if own.is_empty() { Lookup::UnknownName } else { Lookup::Addresses(own) }
        }
    }
}

/// The addresses of the instance or the group that has this name.
fn own_addresses(deployment: &Deployment, name: &str) -> Vec<IpAddr> {
    let groups = deployment.groups.iter();
    let found = groups.flat_map(|group| {
        let address = group.pod.address();
        let is_group = address.is_some_and(|address| address.eq_ignore_ascii_case(name));
        let is_own = move |own: &str| is_group || own.eq_ignore_ascii_case(name);
        group.members.iter().filter(move |m| is_own(&m.instance.address) || is_own(&m.hostname()))
    });
    found.map(|member| member.ip.into()).collect()
}
