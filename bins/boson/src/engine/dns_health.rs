//! Whether an instance is healthy by the scripts `bin/dns/healthy` of its jobs.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use problem::{Problem, Result};
use sandbox::{Process, Stdio};

use crate::dns_health::HEALTHY;

/// The result of the last check.
#[derive(Debug, Clone, Default)]
pub(crate) struct DnsHealth {
    has_failed: Arc<AtomicBool>,
    is_watched: Arc<AtomicBool>,
}

impl DnsHealth {
    /// Whether all scripts have succeeded, or no job has one.
    pub(crate) fn is_healthy(&self) -> bool {
        !self.has_failed.load(Ordering::Relaxed)
    }

    /// Takes the results from now on, until the instance ends; `start` starts a command in the instance. Does nothing the next time.
    ///
    /// # Errors
    /// Only those of the machine.
    pub(crate) fn watch(&self, start: impl FnOnce(&[&str], Stdio) -> Result<Process>) -> Result<()> {
        if self.is_watched.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let failed = |e| Problem::internal("cannot watch the health of an instance").because(e);
        let (results, writer) = std::io::pipe().map_err(failed)?;
        let null = || File::options().read(true).write(true).open("/dev/null");
        let stdio = Stdio {
            input: null().map_err(failed)?.into(),
            output: writer.into(),
            error: null().map_err(failed)?.into(),
        };
        start(&["boson", "status", "--serve-dns-health"], stdio)?;
        let has_failed = Arc::clone(&self.has_failed);
        let read = move || {
            for line in BufReader::new(results).lines().map_while(std::io::Result::ok) {
                has_failed.store(line != HEALTHY, Ordering::Relaxed);
            }
        };
        std::thread::Builder::new().name("dns health".to_owned()).spawn(read).map_err(failed)?;
        Ok(())
    }
}
