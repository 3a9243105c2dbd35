//! Resource limits in a sandbox: a script whose `ulimit` is above the hard limit gets the hard limit instead of an error, where
//! nobody in the sandbox may raise it. On a VM scripts run as root, which may.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::sys::seccomp::{LimitCall, LimitCalls};

/// From now on, limits that the processes of the sandbox set are lowered to what they can have; `warn` is called for each, from
/// a thread of its own. Does nothing where hard limits can be raised, or where the kernel cannot do it: then the call fails, as
/// it would without a sandbox.
///
/// # Errors
/// No thread.
pub(crate) fn clamp(warn: impl Fn(String) + Send + 'static) -> io::Result<()> {
    if can_be_raised() {
        return Ok(());
    }
    let Ok(calls) = LimitCalls::watch() else { return Ok(()) };
    let serve = move || {
        let mut known = BTreeSet::new();
        while let Ok(call) = calls.next() {
            let warning = lower(&calls, &call).ok().flatten();
            if let Some(warning) = warning.filter(|warning| known.insert(warning.clone())) {
                warn(warning);
            }
            calls.proceed(&call);
        }
    };
    std::thread::Builder::new().name("limits".to_owned()).spawn(serve).map(drop)
}

/// Whether this process may raise hard limits: a capability of a user namespace does not count, so it is tried, with a limit
/// that is 0 almost everywhere.
fn can_be_raised() -> bool {
    const TRIED: Resource = Resource::RLIMIT_RTPRIO;
    getrlimit(TRIED).is_ok_and(|(soft, hard)| {
        setrlimit(TRIED, soft, hard.saturating_add(1)).is_ok() && setrlimit(TRIED, soft, hard).is_ok()
    })
}

/// Lowers the limits that the caller is about to set, if they are above the hard limit; returns what to warn of.
fn lower(calls: &LimitCalls, call: &LimitCall) -> io::Result<Option<String>> {
    // boson itself sets the limits that it can.
    if is_this_program(call.caller)? {
        return Ok(None);
    }
    let memory = File::options().read(true).write(true).open(format!("/proc/{}/mem", call.caller))?;
    let limits = fs::read_to_string(format!("/proc/{}/limits", call.process))?;
    if !calls.waits(call) {
        return Ok(None);
    }
    let mut wanted = [0; 16];
    memory.read_exact_at(&mut wanted, call.address)?;
    let (soft, hard) = wanted.split_at(8);
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).map_err(io::Error::other);
    let (soft, hard) = (number(soft)?, number(hard)?);
    let Some((name, most)) = usize::try_from(call.resource).ok().and_then(|n| hard_limit(&limits, n)) else {
        return Ok(None);
    };
    if hard <= most {
        return Ok(None);
    }
    let attainable = [soft.min(most).to_ne_bytes(), most.to_ne_bytes()].concat();
    memory.write_all_at(&attainable, call.address)?;
    let program = fs::read_to_string(format!("/proc/{}/comm", call.caller)).unwrap_or_default();
    Ok(Some(format!("{name} {} is above the hard limit; {} gets {most}", text(hard), program.trim_end())))
}

fn is_this_program(pid: u32) -> io::Result<bool> {
    let file = |of: &str| fs::metadata(format!("/proc/{of}/exe")).map(|meta| (meta.dev(), meta.ino()));
    Ok(file(&pid.to_string())? == file("self")?)
}

/// Name and hard limit of a resource, by its number, in the text of `/proc/PID/limits`: a table with fixed columns, in the
/// order of the numbers.
fn hard_limit(text: &str, resource: usize) -> Option<(&str, u64)> {
    const NAME: usize = 26;
    const HARD: std::ops::Range<usize> = 47..67;
    let line = text.lines().nth(resource + 1)?;
    let hard = match line.get(HARD)?.trim() {
        "unlimited" => u64::MAX,
        number => number.parse().ok()?,
    };
    Some((line.get(..NAME)?.trim(), hard))
}

fn text(limit: u64) -> String {
    if limit == u64::MAX { "unlimited".to_owned() } else { limit.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_has_the_hard_limit_of_each_resource() {
        let table = fs::read_to_string("/proc/self/limits").unwrap();
        for resource in
            [Resource::RLIMIT_NOFILE, Resource::RLIMIT_CORE, Resource::RLIMIT_MEMLOCK, Resource::RLIMIT_RTPRIO]
        {
            let (_, hard) = getrlimit(resource).unwrap();
            assert_eq!(hard_limit(&table, resource as usize).map(|(_, hard)| hard), Some(hard), "{resource:?}");
        }
        assert_eq!(hard_limit(&table, Resource::RLIMIT_NOFILE as usize).unwrap().0, "Max open files");
        assert_eq!(hard_limit(&table, 16), None);
        assert_eq!(text(u64::MAX), "unlimited");
    }
}
