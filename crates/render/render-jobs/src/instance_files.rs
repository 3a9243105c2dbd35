//! `/var/vcap/instance` and `/var/vcap/bosh/spec.json`, where scripts find out which instance they run in, as on a VM; and
//! `/var/vcap/bosh/bin/monit`, which they call.

use instance_group::{Instance, Resolved};
use nix::unistd::{Gid, Uid};
use problem::{IoContext, Problem, Result, code};
use serde_json::json;
use vcap::Vcap;
use vcap::atomic::replace_file;
use vcap::own_dir::ensure_dir;

use crate::options::Request;

/// BOSH's agent: read by everybody.
const MODE: u32 = 0o644;
const DIR_MODE: u32 = 0o755;

/// Writes the files, if the rendered jobs go to the `/var/vcap` that they belong to. Where that cannot be written (a
/// read-only root file system), templates are rendered nevertheless.
pub(crate) fn write(request: &Request, group: &Resolved, instance: &Instance) {
    let vcap = Vcap::under(&request.root);
    if request.output != vcap.jobs() {
        return;
    }
    if let Err(problems) = write_all(&vcap, request, group, instance) {
        tracing::warn!(%problems, "the files that describe the instance cannot be written");
    }
}

fn write_all(vcap: &Vcap, request: &Request, group: &Resolved, instance: &Instance) -> Result<()> {
    let root = (Uid::from_raw(0), Gid::from_raw(0));
    let dir = vcap.base().join("instance");
    ensure_dir(&dir, DIR_MODE, root)?;
    let id = format!("{}-{}", group.name, instance.index);
    let az = instance.az.as_deref().unwrap_or_default();
    let deployment = &group.domain.deployment;
    // Bare text, without a line end.
    for (name, content) in [("id", id.as_str()), ("name", &group.name), ("az", az), ("deployment", deployment)] {
        replace_file(&dir.join(name), content.as_bytes(), MODE)?;
    }
    let bosh = vcap.base().join("bosh");
    ensure_dir(&bosh, DIR_MODE, root)?;
    let templates: Vec<_> =
        group.jobs.iter().map(|job| json!({"name": job.name, "version": job.release.version})).collect();
    let spec = json!({
        "deployment": deployment,
        "name": group.name,
        "id": id,
        "az": instance.az,
        "index": instance.index,
        "bootstrap": instance.bootstrap,
        "address": instance.address,
        "ip": request.pod_ip,
        "job": {"name": group.name, "templates": templates},
        "persistent_disk": group.persistent_disk,
    });
    let text = serde_json::to_string(&spec)
        .map_err(|e| Problem::internal("cannot write spec.json").code(code::IO).because(e))?;
    replace_file(&bosh.join("spec.json"), text.as_bytes(), MODE)?;
    ensure_dir(&bosh.join("bin"), DIR_MODE, root)?;
    let link = bosh.join("bin").join(Vcap::MONIT);
    // What an earlier run of this program has put there is the same.
    match std::os::unix::fs::symlink(vcap.installed().join(Vcap::MONIT), &link) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(e).io("create", &link),
        _ => Ok(()),
    }
}
