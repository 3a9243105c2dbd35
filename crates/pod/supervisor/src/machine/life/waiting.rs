//! Waiting for what has to run before the process: before its first start, and whenever it does not run any more.

use super::{Life, Request, Stage, Then};

impl Life {
    /// Everything runs that has to run before.
    pub(super) fn may_start(&mut self) {
        if std::mem::take(&mut self.waits) && self.stage == Stage::Up {
            self.start();
        }
    }

    /// Something that has to run before does not run any more: the process is stopped, and started again when that runs.
    pub(super) fn must_wait(&mut self) {
        match self.stage {
            Stage::Up if self.plan.process && !self.waits => {
                self.waits = true;
                self.halt(true);
            }
            Stage::Halting { restart: true } | Stage::Sweep { then: Then::Start, .. } => self.waits = true,
            // It is stopped already, or for good.
            _ => {}
        }
    }

    /// The process has been stopped for another start.
    pub(super) fn start_again(&mut self) {
        if self.waits {
            (self.stage, self.in_hook) = (Stage::Up, true);
        } else {
            self.start();
        }
    }

    /// A request for the start does not wait for others.
    pub(super) fn requested_while_waiting(&mut self, request: Request) {
        match (request, self.stage) {
            (Request::Start | Request::Restart, Stage::Up) => self.start(),
            (Request::Stop, Stage::Up) => {
                (self.waits, self.in_hook) = (false, false);
                self.stage = Stage::Halted;
            }
            (Request::Signal(_) | Request::Run(_), Stage::Up) => {}
            (Request::Start | Request::Restart, _) => {
                self.waits = false;
                self.obey(request);
            }
            _ => self.obey(request),
        }
    }
}
