//! A sandbox for one command, without a network: for compiling a package.

use std::io;
use std::process::Child;

use crate::exit::Exit;
use crate::ids;
use crate::instance::{Command, Instance};
use crate::message::Setup;
use crate::spawn::{done, start_shim};
use crate::spec::InstanceSpec;

/// A sandbox without a network, which ends when this is dropped.
#[derive(Debug)]
pub struct Once {
    // Dropped first: the shim waits for its end.
    instance: Option<Instance>,
    shim: Child,
}

impl Once {
    /// Creates it; `spec.address` is not used. The calling thread must run as long as the sandbox.
    pub fn start(spec: InstanceSpec) -> io::Result<Once> {
        let (shim, channel, ids) = start_shim(&Setup::Once { user_namespace: !ids::is_root() }, None)?;
        done(&channel)?;
        Ok(Once { instance: Some(Instance::start(channel, spec, ids, None)?), shim })
    }

    /// Runs a command and waits for its end.
    pub fn run(&self, command: Command) -> io::Result<Exit> {
        let instance = self.instance.as_ref().ok_or_else(|| io::Error::other("the sandbox has ended"))?;
        Ok(instance.run(command)?.wait())
    }

    /// Ends everything in it at once.
    pub fn kill(&self) {
        if let Some(instance) = &self.instance {
            instance.kill();
        }
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        self.instance.take();
        let _ = self.shim.wait();
    }
}

/// Runs one command in a sandbox of its own.
pub fn once(spec: InstanceSpec, command: Command) -> io::Result<Exit> {
    Once::start(spec)?.run(command)
}
