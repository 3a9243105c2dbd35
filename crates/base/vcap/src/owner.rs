//! Who owns what boson writes.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::unistd::{Gid, Uid, fchown, fchownat};
use problem::{IoContext, Result};

/// The id of vcap, user and group, where no passwd has an entry for it (BOSH's stemcells).
const VCAP_ID: u32 = 1000;

/// User and group `vcap` as `<root>/etc/passwd` and `<root>/etc/group` know them, else 1000:1000.
///
/// The files are read as they are (no NSS): the root may be that of another system, and the executables are static.
pub fn vcap_ids(root: &Path) -> (Uid, Gid) {
    let passwd = fields_of_vcap(&root.join("etc/passwd"));
    let group = fields_of_vcap(&root.join("etc/group"));
    let id = |fields: &Option<Vec<String>>, at: usize| -> Option<u32> { fields.as_ref()?.get(at)?.parse().ok() };
    let uid = id(&passwd, 2).unwrap_or(VCAP_ID);
    let gid = id(&group, 2).or_else(|| id(&passwd, 3)).unwrap_or(VCAP_ID);
    (Uid::from_raw(uid), Gid::from_raw(gid))
}

/// The fields of the line of `vcap` in a colon-separated database; an unreadable one has none.
fn fields_of_vcap(file: &Path) -> Option<Vec<String>> {
    let text = fs::read(file).ok()?;
    String::from_utf8_lossy(&text)
        .lines()
        .map(|line| line.split(':').map(str::to_owned).collect::<Vec<_>>())
        .find(|fields| fields[0] == "vcap")
}

/// Gives `path` (a link itself, not its target) to this owner as far as the platform allows.
///
/// An unprivileged user, or a user namespace without the id, cannot give files away: that is not an error.
/// Where the user cannot be changed the group still is, if it can be.
pub fn chown_where_possible(path: &Path, owner: (Uid, Gid)) -> Result<()> {
    lchown_where_possible(path, owner).io("change the owner of", path)
}

/// As [`chown_where_possible`], for a caller who reports the failure.
pub(crate) fn lchown_where_possible(path: &Path, (uid, gid): (Uid, Gid)) -> std::io::Result<()> {
    let chown = |uid, gid| fchownat(nix::fcntl::AT_FDCWD, path, uid, gid, AtFlags::AT_SYMLINK_NOFOLLOW);
    where_possible(chown, uid, gid).map_err(std::io::Error::from)
}

/// As [`chown_where_possible`], for an open file.
pub fn fchown_where_possible(file: impl AsFd, (uid, gid): (Uid, Gid)) -> std::io::Result<()> {
    where_possible(|uid, gid| fchown(file.as_fd(), uid, gid), uid, gid).map_err(std::io::Error::from)
}

fn where_possible(
    chown: impl Fn(Option<Uid>, Option<Gid>) -> nix::Result<()>,
    uid: Uid,
    gid: Gid,
) -> std::result::Result<(), Errno> {
    let tolerate = |e| if matches!(e, Errno::EPERM | Errno::EINVAL) { Ok(()) } else { Err(e) };
    match chown(Some(uid), Some(gid)) {
        Err(Errno::EPERM | Errno::EINVAL) => chown(None, Some(gid)).or_else(tolerate),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(passwd: Option<&str>, group: Option<&str>) -> (u32, u32) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        for (name, text) in [("passwd", passwd), ("group", group)] {
            if let Some(text) = text {
                fs::write(root.path().join("etc").join(name), text).unwrap();
            }
        }
        let (uid, gid) = vcap_ids(root.path());
        (uid.as_raw(), gid.as_raw())
    }

    #[test]
    fn vcap_is_looked_up_below_the_root() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nvcap:x:2000:2001::/home/vcap:/bin/sh\n";
        assert_eq!(ids(Some(passwd), Some("root:x:0:\nvcap:x:2002:\n")), (2000, 2002));
        assert_eq!(ids(Some(passwd), None), (2000, 2001));
        assert_eq!(ids(Some("root:x:0:0::/:/bin/sh\n"), Some("vcap:x:1500:\n")), (1000, 1500));
        assert_eq!(ids(Some("vcap:x:many:few\n"), None), (1000, 1000));
        assert_eq!(ids(None, None), (1000, 1000));
    }

    #[test]
    fn an_owner_that_cannot_be_set_is_not_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let ids = (Uid::from_raw(1000), Gid::from_raw(1000));
        chown_where_possible(dir.path(), ids).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        chown_where_possible(&link, ids).unwrap();
        assert!(chown_where_possible(&dir.path().join("missing"), ids).is_err());
    }
}
