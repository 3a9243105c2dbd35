//! The deployment and the instances of it that exist now.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::deployment::{Deployment, Group};
use super::host::Host;
use super::instance::Instance;
use super::publish::Publish;

/// A deployment that is up, or is being started.
#[derive(Debug)]
pub(crate) struct RunningDeployment {
    pub(crate) host: Arc<Host>,
    pub(crate) deployment: Deployment,
    /// The ports of this machine that are taken for instances.
    pub(crate) published: Vec<(Publish, TcpListener)>,
    instances: Mutex<BTreeMap<String, Arc<Instance>>>,
}

impl RunningDeployment {
    pub(crate) fn new(host: Host, deployment: Deployment, published: Vec<(Publish, TcpListener)>) -> Self {
        RunningDeployment { host: Arc::new(host), deployment, published, instances: Mutex::default() }
    }

    /// The instance of this name (`group/index`).
    pub(crate) fn instance(&self, name: &str) -> Option<Arc<Instance>> {
        self.lock().get(name).cloned()
    }

    /// All instances, by name.
    pub(crate) fn instances(&self) -> Vec<Arc<Instance>> {
        self.lock().values().cloned().collect()
    }

    /// The instances of a group, by index.
    pub(crate) fn instances_of(&self, group: &Group) -> Vec<Arc<Instance>> {
        group.members.iter().filter_map(|member| self.instance(&member.name)).collect()
    }

    pub(crate) fn add(&self, instance: &Arc<Instance>) {
        self.lock().insert(instance.name().to_owned(), Arc::clone(instance));
    }

    pub(crate) fn remove(&self, name: &str) {
        self.lock().remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Instance>>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
