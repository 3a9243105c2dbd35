//! The deployment and the instances of it that exist now.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use problem::{Problem, Result, code};
use sandbox::ProcessId;

use crate::addresses::Addresses;
use crate::deployment::Deployment;
use crate::errand_runs::ErrandRuns;
use crate::host::Host;
use crate::instance::Instance;
use crate::publish::Published;
use local_state::Record;

/// A deployment that is up, or is being started.
#[derive(Debug)]
pub(crate) struct RunningDeployment {
    pub(crate) host: Arc<Host>,
    /// The ports of this machine that are taken for instances.
    pub(crate) published: Published,
    /// The errands that have succeeded.
    pub(crate) errand_runs: ErrandRuns,
    /// Whether instances stop without pre-stop and drain.
    skips_drain: AtomicBool,
    inner: Mutex<Inner>,
    /// Held while the deployment changes.
    changing: Mutex<()>,
}

#[derive(Debug)]
struct Inner {
    deployment: Arc<Deployment>,
    addresses: Addresses,
    instances: BTreeMap<String, Arc<Instance>>,
}

impl RunningDeployment {
    /// Nothing of the deployment runs yet.
    ///
    /// # Errors
    /// Too many instances for one machine.
    pub(crate) fn new(
        host: Host,
        mut deployment: Deployment,
        mut addresses: Addresses,
        published: Published,
    ) -> Result<Self> {
        deployment.assign(&mut addresses)?;
        let inner = Inner { deployment: Arc::new(deployment), addresses, instances: BTreeMap::new() };
        Ok(RunningDeployment {
            host: Arc::new(host),
            published,
            errand_runs: ErrandRuns::default(),
            skips_drain: AtomicBool::default(),
            inner: Mutex::new(inner),
            changing: Mutex::default(),
        })
    }

    /// Whether instances that are replaced, removed or stopped with the deployment leave out pre-stop and drain from now on.
    pub(crate) fn skip_drain(&self, skip: bool) {
        self.skips_drain.store(skip, Ordering::SeqCst);
    }

    /// What was said to [`RunningDeployment::skip_drain`] last.
    pub(crate) fn skips_drain(&self) -> bool {
        self.skips_drain.load(Ordering::SeqCst)
    }

    /// The version that was deployed last, or is being deployed.
    pub(crate) fn deployment(&self) -> Arc<Deployment> {
        Arc::clone(&self.lock().deployment)
    }

    /// Takes another version, whose instances get addresses.
    ///
    /// # Errors
    /// Too many instances for one machine.
    pub(crate) fn replace(&self, mut deployment: Deployment) -> Result<()> {
        let mut inner = self.lock();
        deployment.assign(&mut inner.addresses)?;
        inner.deployment = Arc::new(deployment);
        Ok(())
    }

    /// Takes back a version that was taken before.
    ///
    /// # Errors
    /// Only internal ones.
    pub(crate) fn take_back(&self, deployment: &Arc<Deployment>) -> Result<()> {
        let mut inner = self.lock();
        let kept = deployment.members().map(|member| (member.name.clone(), member.ip)).collect();
        inner.addresses = Addresses::new(kept);
        inner.deployment = Arc::clone(deployment);
        Ok(())
    }

    /// Writes down what other verbs need if this process is killed.
    ///
    /// # Errors
    /// Only those of the machine.
    pub(crate) fn record(&self) -> Result<()> {
        let (deployment, addresses) = {
            let inner = self.lock();
            (inner.deployment.name.clone(), inner.addresses.all().clone())
        };
        let network = self.host.network().process();
        self.host.dir.write(&Record { deployment, boson: ProcessId::own(), network, addresses })
    }

    /// The right to change the deployment.
    ///
    /// # Errors
    /// Another request changes it.
    pub(crate) fn change(&self) -> Result<MutexGuard<'_, ()>> {
        match self.changing.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let problem = Problem::input(format!("the deployment {} is being changed", self.deployment().name));
                Err(problem
                    .code(code::ALREADY_RUNNING)
                    .hint("repeat the command when the other one has finished")
                    .into())
            }
        }
    }

    /// Waits until no request changes it any more.
    pub(crate) fn wait_for_change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The instance of this name (`group/index`).
    pub(crate) fn instance(&self, name: &str) -> Option<Arc<Instance>> {
        self.lock().instances.get(name).cloned()
    }

    /// As [`RunningDeployment::instance`].
    ///
    /// # Errors
    /// An unknown name.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Instance>> {
        self.instance(name).ok_or_else(|| {
            let names: Vec<String> = self.lock().instances.keys().cloned().collect();
            Problem::input(format!("unknown instance '{name}'"))
                .code(code::INSTANCE_UNKNOWN)
                .hint(format!("the instances are: {}", names.join(", ")))
                .into()
        })
    }

    /// All instances, by name.
    pub(crate) fn instances(&self) -> Vec<Arc<Instance>> {
        self.lock().instances.values().cloned().collect()
    }

    pub(crate) fn add(&self, instance: &Arc<Instance>) {
        self.lock().instances.insert(instance.name().to_owned(), Arc::clone(instance));
    }

    pub(crate) fn remove(&self, name: &str) {
        self.lock().instances.remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
