//! A command as another user of the instance, in which this runs.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use nix::unistd::{Gid, Uid, getuid, setgid, setgroups, setuid};
use problem::{IoContext, Problem, Result, code};

use local_state::output;

/// A line of `/etc/passwd`.
#[derive(Debug, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
    home: String,
}

/// Becomes the user, and then the command; returns only if that fails.
///
/// # Errors
/// A user that does not exist, or that this instance has no id for.
pub(super) fn exec(name: &str, command: &[String]) -> Result<u8> {
    let read = |path: &str| fs::read_to_string(path).io("read", Path::new(path));
    let users = read("/etc/passwd")?;
    let user = find_user(&users, name).ok_or_else(|| {
        let problem = Problem::input(format!("there is no user '{name}' in the instance")).code(code::INPUT_INVALID);
        problem.hint("/etc/passwd in the instance lists its users")
    })?;
    // Where all users are one, there is nothing to change.
    if getuid().as_raw() != user.uid {
        let groups: Vec<Gid> = group_ids(&read("/etc/group")?, name, user.gid).into_iter().map(Gid::from_raw).collect();
        setgroups(&groups)
            .and_then(|()| setgid(Gid::from_raw(user.gid)))
            .and_then(|()| setuid(Uid::from_raw(user.uid)))
            .map_err(|e| Problem::internal(format!("cannot become the user '{name}'")).because(e))?;
    }
    let Some((program, arguments)) = command.split_first() else { return Ok(0) };
    let error =
        Command::new(program).args(arguments).env("HOME", user.home).env("USER", name).env("LOGNAME", name).exec();
    let (text, exit_code) = output::not_run(program, error.kind() == io::ErrorKind::NotFound);
    output::error(&text);
    Ok(exit_code)
}

fn find_user(passwd: &str, name: &str) -> Option<User> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [own, _, uid, gid, _, home, ..] = fields[..] else { return None };
        let user = User { uid: uid.parse().ok()?, gid: gid.parse().ok()?, home: home.to_owned() };
        (own == name).then_some(user)
    })
}

/// The user's own group, and those that list the user.
fn group_ids(group: &str, name: &str, own: u32) -> Vec<u32> {
    let listing = group.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, gid, members] = fields[..] else { return None };
        members.split(',').any(|member| member == name).then(|| gid.parse().ok()).flatten()
    });
    let mut ids: Vec<u32> = std::iter::once(own).chain(listing).collect();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_groups_that_list_it() {
        let passwd =
            "root:x:0:0:root:/root:/bin/bash\nbroken\nvcap:*:1000:1000:BOSH System User:/home/vcap:/bin/bash\n";
        let expected = User { uid: 1000, gid: 1000, home: "/home/vcap".to_owned() };
        assert_eq!(find_user(passwd, "vcap"), Some(expected));
        assert_eq!(find_user(passwd, "broken"), None);
        let group = "root:x:0:\nadm:x:4:syslog,vcap\nvcap:x:1000:syslog\nother:x:7:vcapx\nlast:x:9:vcap\n";
        assert_eq!(group_ids(group, "vcap", 1000), [1000, 4, 9]);
    }
}
