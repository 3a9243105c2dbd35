//! `/etc` of a sandbox: a copy in memory of what programs need of the host's, and files of its own.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::account;
use super::layer::copy_tree;
use super::release;
use crate::hosts::hosts_file;
use crate::ids::Ids;
use crate::spec::InstanceSpec;

/// What programs need of the host's `/etc`. Nothing in it is particular to the host or secret: of TLS the certificates,
/// not the keys; of PAM the rules, not the passwords. What an administrator may have put a password into is not in the list
/// (`environment`, `profile.d`, `cron.d`, `sudoers`, `wgetrc`, package managers' settings).
const SETTINGS: [&str; 43] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "default/useradd",
    "gai.conf",
    "inputrc",
    "iproute2",
    "issue",
    "issue.net",
    "java-17-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "login.defs",
    "logrotate.conf",
    "lsb-release",
    "mime.types",
    "networks",
    "os-release",
    "pam.conf",
    "pam.d",
    "perl",
    "pki/ca-trust",
    "pki/java",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "pki/trust",
    "profile",
    "protocols",
    "rpc",
    "security",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
];

/// Directories into which scripts write on a VM; made where the base has none.
const DIRECTORIES: [(&str, u32); 15] = [
    ("cron.d", 0o755),
    ("cron.daily", 0o755),
    ("cron.hourly", 0o755),
    ("default", 0o755),
    ("init.d", 0o755),
    ("ld.so.conf.d", 0o755),
    ("logrotate.d", 0o755),
    ("pam.d", 0o755),
    ("profile.d", 0o755),
    ("rsyslog.d", 0o755),
    ("security/limits.d", 0o755),
    ("ssh", 0o755),
    ("ssl/certs", 0o755),
    ("sudoers.d", 0o750),
    ("sysctl.d", 0o755),
];

/// Copies the host's settings to `etc`: only what every user of the host may read, and no file that is named as a key.
pub(super) fn of_host(etc: &Path) -> io::Result<()> {
    let is_public = |path: &Path, meta: &Metadata| {
        let is_key = path.extension().is_some_and(|extension| extension == "key");
        meta.is_symlink() || !is_key && meta.mode() & 0o004 != 0
    };
    for name in SETTINGS {
        copy_tree(&Path::new("/etc").join(name), &etc.join(name), &is_public)?;
    }
    write(&etc.join("sudoers"), "root ALL=(ALL:ALL) ALL\n#includedir /etc/sudoers.d\n", 0o440)
}

/// Writes the files that are specific to the sandbox.
pub(super) fn own(etc: &Path, spec: &InstanceSpec, ids: Ids) -> io::Result<()> {
    fs::create_dir_all(etc)?;
    for (name, mode) in DIRECTORIES {
        let path = etc.join(name);
        if !path.is_dir() {
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
        }
    }
    let of_base = |name: &str| spec.base.is_some().then(|| fs::read_to_string(etc.join(name)).ok()).flatten();
    write(&etc.join("passwd"), &account::passwd(of_base("passwd").as_deref(), ids), 0o644)?;
    write(&etc.join("group"), &account::group(of_base("group").as_deref(), ids), 0o644)?;
    write(&etc.join("nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n", 0o644)?;
    // glibc gives only the first address of a name without it.
    write(&etc.join("host.conf"), "multi on\n", 0o644)?;
    if !etc.join("environment").exists() {
        write(&etc.join("environment"), "", 0o644)?;
    }
    for (name, text) in release::files(&fs::read_to_string(etc.join("os-release")).unwrap_or_default()) {
        if !etc.join(name).exists() {
            write(&etc.join(name), &text, 0o644)?;
        }
    }
    write(&etc.join("resolv.conf"), &resolv_conf(spec), 0o644)?;
    write(&etc.join("hostname"), &format!("{}\n", spec.hostname), 0o644)?;
    let hosts = match &spec.hosts {
        Some(path) => fs::read_to_string(path)?,
        None => hosts_file([]),
    };
    write(&etc.join("hosts"), &hosts, 0o644)
}

fn resolv_conf(spec: &InstanceSpec) -> String {
    match spec.name_server {
        // No retries and no search domains, as on a VM: every query has an answer at once.
        Some(server) => format!("nameserver {server}\noptions timeout:2 attempts:1\n"),
        None => "# A sandbox has no way to a name server; /etc/hosts lists every instance.\n".to_owned(),
    }
}

/// Replaces a file, or a link of the base that leads elsewhere.
fn write(path: &Path, content: &str, mode: u32) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    fs::write(path, content)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}
