//! A process that is followed and is not a child: its end is read from a pidfd.

use std::io;

use nix::unistd::Pid;

use super::{Child, Running};
use crate::exit::Exit;
use crate::machine::{Role, Target};
use crate::source::Status;
use crate::sys::PidFd;

impl Running<'_> {
    /// From now on the process with this id is the main one, in place of an earlier one. It may be a child already: a start
    /// program that has become the process itself.
    pub(super) fn follow(&mut self, pid: i32) -> io::Result<()> {
        let pid = Pid::from_raw(pid);
        let followed = Some(PidFd::open(pid)?);
        self.children.retain(|child| child.role != Role::Main || child.pid == pid);
        match self.children.iter_mut().find(|child| child.pid == pid) {
            Some(child) => (child.role, child.followed) = (Role::Main, followed),
            None => self.children.push(Child { role: Role::Main, pid, followed }),
        }
        self.status = Status { pid: Some(pid), starts: self.status.starts + 1, exit: None, ..self.status };
        self.host.started(Role::Main, pid);
        Ok(())
    }

    /// A followed process that has ended and cannot be reaped here has a status that only its parent knows.
    pub(super) fn take_followed(&mut self) -> io::Result<()> {
        let has_ended = |child: &Child| child.followed.as_ref().is_some_and(PidFd::has_ended);
        if !self.children.iter().any(has_ended) {
            return Ok(());
        }
        self.reap()?;
        while let Some(at) = self.children.iter().position(has_ended) {
            let child = self.children.swap_remove(at);
            tracing::warn!(
                pid = child.pid.as_raw(),
                "the process has ended; its exit status is unknown, because it was no child"
            );
            self.exited(child.role, Exit::Code(1));
        }
        Ok(())
    }

    pub(super) fn followed(&self, target: Target) -> Option<&PidFd> {
        let is_meant = match target {
            Target::Child(role) | Target::Group(role) => role == Role::Main,
            Target::Everything => true,
        };
        self.children.iter().filter(|_| is_meant).find_map(|child| child.followed.as_ref())
    }
}
