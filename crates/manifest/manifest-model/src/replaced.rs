//! Jobs whose place boson takes.

/// The job of the release of the same name that is BPM itself. boson has a BPM of its own, so the release need not be given.
pub const BPM: &str = "bpm";

/// The job of the release of the same name that is BOSH DNS itself. boson answers the names that it would answer, and it would
/// take over the machine's DNS. The release need not be given.
pub const BOSH_DNS: &str = "bosh-dns";

/// Whether boson takes the place of a job: nothing of it is installed or run.
pub fn is_replaced(job: &str) -> bool {
    job == BPM || job == BOSH_DNS
}

/// Whether boson takes the place of a job of the release of the same name. Such a release is not needed, not even the
/// job's spec.
pub fn is_spec_unneeded(release: &str, job: &str) -> bool {
    is_replaced(job) && release == job
}
