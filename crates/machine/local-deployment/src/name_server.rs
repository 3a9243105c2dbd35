//! The name server of a deployment: BOSH's names and aliases, and the addresses of instances, as of the version that is
//! deployed now.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use dns_aliases::{Answer, Zone};
use problem::{Problem, Result};
use resolver::server::{Lookup, serve_tcp, serve_udp};

use crate::deployment::Deployment;
use crate::running::RunningDeployment;
use crate::status_table;
use local_state::control::Health;

/// How long the health of instances is remembered: a program may ask for many names in a second.
const HEALTH_TTL: Duration = Duration::from_secs(1);

/// Answers from now on, as long as the deployment is held.
///
/// # Errors
/// No socket in the deployment's network, or no thread.
pub(crate) fn start(running: &Arc<RunningDeployment>) -> Result<()> {
    let failed = |e: std::io::Error| Problem::internal("cannot start the deployment's name server").because(e);
    let (datagrams, connections) = running.host.network().name_server().map_err(failed)?;
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    // Weak: the threads must not keep the deployment.
    let names = Arc::new(Names { running: Arc::downgrade(running), known: Mutex::default() });
    let of_datagrams = Arc::clone(&names);
    thread("dns udp").spawn(move || serve_udp(&datagrams, &|name| of_datagrams.lookup(name))).map_err(failed)?;
    thread("dns tcp").spawn(move || serve_tcp(&connections, &|name| names.lookup(name))).map_err(failed)?;
    Ok(())
}

/// The names of the deployment that runs.
struct Names {
    running: Weak<RunningDeployment>,
    known: Mutex<Option<Known>>,
}

/// The names of a version, and the health of its instances at one moment.
struct Known {
    deployment: Weak<Deployment>,
    zone: Zone,
    checked: Instant,
}

impl Names {
    fn lookup(&self, name: &str) -> Lookup {
        let Some(running) = self.running.upgrade() else { return Lookup::Failed };
        let deployment = running.deployment();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = |known: &Known| {
            Weak::as_ptr(&known.deployment) == Arc::as_ptr(&deployment) && known.checked.elapsed() < HEALTH_TTL
        };
        let current = known.take().filter(is_current).unwrap_or_else(|| Known {
            deployment: Arc::downgrade(&deployment),
            zone: zone(&running, &deployment),
            checked: Instant::now(),
        });
        resolve(&deployment, &known.insert(current).zone, name)
    }
}

/// The names of a version. An instance is healthy if BOSH's agent would report it as running, and the scripts `bin/dns/healthy`
/// of its jobs have succeeded; one that does not exist is not.
fn zone(running: &RunningDeployment, deployment: &Deployment) -> Zone {
    let mut zone = deployment.zone();
    for member in deployment.members() {
        let instance = running.instance(&member.name);
        let is_healthy = instance.is_some_and(|instance| {
            status_table::health_of(&instance) == Health::Running && instance.dns_health.is_healthy()
        });
        zone.set_healthy(&member.group, member.instance.index, Some(is_healthy));
    }
    zone
}

/// What a name resolves to: BOSH's names first. No other server is reachable, so that any other name does not exist.
fn resolve(deployment: &Deployment, zone: &Zone, name: &str) -> Lookup {
    match zone.resolve(name) {
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
