//! The users of a sandbox.

use crate::ids::Ids;

/// The users of the host's sandboxes beside root and vcap: those that every Debian and Ubuntu has, with their fixed numbers,
/// because scripts name them (`chown`, `install -o`).
const SYSTEM_USERS: [(&str, u32, u32, &str); 18] = [
    ("daemon", 1, 1, "/usr/sbin"),
    ("bin", 2, 2, "/bin"),
    ("sys", 3, 3, "/dev"),
    ("sync", 4, 65534, "/bin"),
    ("games", 5, 60, "/usr/games"),
    ("man", 6, 12, "/var/cache/man"),
    ("lp", 7, 7, "/var/spool/lpd"),
    ("mail", 8, 8, "/var/mail"),
    ("news", 9, 9, "/var/spool/news"),
    ("uucp", 10, 10, "/var/spool/uucp"),
    ("proxy", 13, 13, "/bin"),
    ("www-data", 33, 33, "/var/www"),
    ("backup", 34, 34, "/var/backups"),
    ("list", 38, 38, "/var/list"),
    ("irc", 39, 39, "/run/ircd"),
    ("syslog", 101, 101, "/home/syslog"),
    ("messagebus", 102, 102, "/nonexistent"),
    ("nobody", 65534, 65534, "/nonexistent"),
];

/// The groups, likewise; and whether a stemcell makes vcap a member.
const GROUPS: [(&str, u32, bool); 40] = [
    ("root", 0, false),
    ("daemon", 1, false),
    ("bin", 2, false),
    ("sys", 3, false),
    ("adm", 4, true),
    ("tty", 5, false),
    ("disk", 6, false),
    ("lp", 7, false),
    ("mail", 8, false),
    ("news", 9, false),
    ("uucp", 10, false),
    ("man", 12, false),
    ("proxy", 13, false),
    ("kmem", 15, false),
    ("dialout", 20, true),
    ("fax", 21, false),
    ("voice", 22, false),
    ("cdrom", 24, true),
    ("floppy", 25, true),
    ("tape", 26, false),
    ("sudo", 27, true),
    ("audio", 29, true),
    ("dip", 30, true),
    ("www-data", 33, false),
    ("backup", 34, false),
    ("operator", 37, false),
    ("list", 38, false),
    ("irc", 39, false),
    ("src", 40, false),
    ("shadow", 42, false),
    ("utmp", 43, false),
    ("video", 44, true),
    ("plugdev", 46, true),
    ("staff", 50, false),
    ("games", 60, false),
    ("users", 100, false),
    ("syslog", 101, false),
    ("messagebus", 102, false),
    ("admin", 999, true),
    ("nogroup", 65534, false),
];

/// `/etc/passwd`: that of the base, or of a usual system, with BOSH's `vcap`, which is another name of root where no second
/// id is mapped. The users that it adds have no password, so that none needs an entry in `/etc/shadow`.
pub(super) fn passwd(base: Option<&str>, ids: Ids) -> String {
    let id = vcap(ids);
    let vcap = format!("vcap:*:{id}:{id}:BOSH System User:/home/vcap:/bin/bash\n");
    match base {
        Some(base) => with_line(base, "vcap", &vcap, ids),
        None => {
            let system: String = SYSTEM_USERS
                .iter()
                .map(|(name, user, group, home)| format!("{name}:*:{user}:{group}:{name}:{home}:/usr/sbin/nologin\n"))
                .collect();
            format!("root:*:0:0:root:/root:/bin/bash\n{vcap}{system}")
        }
    }
}

/// `/etc/group`, likewise.
pub(super) fn group(base: Option<&str>, ids: Ids) -> String {
    let vcap = format!("vcap:x:{}:\n", vcap(ids));
    match base {
        Some(base) => with_line(base, "vcap", &vcap, ids),
        None => {
            let all: String = GROUPS
                .iter()
                .map(|(name, id, has_vcap)| format!("{name}:x:{id}:{}\n", if *has_vcap { "vcap" } else { "" }))
                .collect();
            format!("{all}{vcap}")
        }
    }
}

/// The number of vcap's user and group: BOSH's stemcells use 1000.
pub(super) fn vcap(ids: Ids) -> u32 {
    match ids {
        Ids::Host | Ids::Range => 1000,
        Ids::Single => 0,
    }
}

/// The text of a base with this user's or group's line, which replaces the base's where ids are not the base's own.
fn with_line(base: &str, name: &str, line: &str, ids: Ids) -> String {
    let is_own = |other: &&str| other.split(':').next() == Some(name);
    let keeps = ids != Ids::Single && base.lines().any(|other| is_own(&other));
    let mut text: String =
        base.lines().filter(|other| keeps || !is_own(other)).map(|other| format!("{other}\n")).collect();
    if !keeps {
        text.push_str(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vcap_gets_its_own_id_if_one_is_mapped() {
        assert!(passwd(None, Ids::Host).contains("\nvcap:*:1000:1000:"));
        assert!(group(None, Ids::Range).ends_with("\nvcap:x:1000:\n"));
        assert!(passwd(None, Ids::Single).contains("\nvcap:*:0:0:"));
        assert!(group(None, Ids::Host).contains("\nsudo:x:27:vcap\n"));
    }

    #[test]
    fn users_of_the_base_are_kept_and_a_missing_vcap_is_added() {
        let base = "root:x:0:0::/root:/bin/sh\napp:x:7:7::/:/bin/sh\n";
        let text = passwd(Some(base), Ids::Host);
        assert!(text.starts_with(base) && text.contains("\nvcap:*:1000:1000:"), "{text}");
        let with_vcap = format!("{base}vcap:x:1002:1002::/home/vcap:/bin/bash\n");
        assert_eq!(passwd(Some(&with_vcap), Ids::Range), with_vcap);
        assert!(
            passwd(Some(&with_vcap), Ids::Single).ends_with("\nvcap:*:0:0:BOSH System User:/home/vcap:/bin/bash\n")
        );
    }
}
