//! The status of every process of the deployment, as far as it is known here.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::control::{Row, State};

/// The rows that `boson status` prints, in the deployment's order.
#[derive(Debug, Default)]
pub(crate) struct StatusTable(Mutex<Vec<Row>>);

impl StatusTable {
    /// Adds an instance, of which no process is known yet.
    pub(crate) fn add(&self, instance: &str, az: Option<&str>, ip: &str) {
        self.rows_mut().push(Row {
            instance: instance.to_owned(),
            az: az.map(str::to_owned),
            ip: ip.to_owned(),
            process: None,
            state: State::Waiting,
            pid: None,
            exit: None,
            since: now(),
        });
    }

    /// Removes an instance.
    pub(crate) fn remove(&self, instance: &str) {
        self.rows_mut().retain(|row| row.instance != instance);
    }

    /// Sets the state of an instance that has no processes yet.
    pub(crate) fn set_instance(&self, instance: &str, state: State) {
        self.change(|row| row.instance == instance && row.process.is_none(), |row| row.state = state.clone());
    }

    /// Gives an instance its processes, which are being started.
    pub(crate) fn set_processes(&self, instance: &str, names: &[String]) {
        let mut rows = self.rows_mut();
        let Some(at) = rows.iter().position(|row| row.instance == instance) else { return };
        let one = rows.remove(at);
        for (n, name) in names.iter().enumerate() {
            let row = Row { process: Some(name.clone()), state: State::Starting, since: now(), ..one.clone() };
            rows.insert(at + n, row);
        }
    }

    /// Sets the state of a process.
    pub(crate) fn set_process(&self, instance: &str, process: &str, state: State) {
        let is = |row: &Row| row.instance == instance && row.process.as_deref() == Some(process);
        self.change(is, |row| row.state = state.clone());
    }

    /// Enters that a process has exited; returns whether it was stopped or exited on its own.
    pub(crate) fn set_exited(&self, instance: &str, process: &str, exit: u8) -> State {
        let mut end = State::Exited;
        let is = |row: &Row| row.instance == instance && row.process.as_deref() == Some(process);
        self.change(is, |row| {
            if row.state == State::Stopping {
                end = State::Stopped;
            }
            row.state = end.clone();
            row.exit = Some(exit);
        });
        end
    }

    /// The rows as they are.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.rows_mut().clone()
    }

    /// The processes of an instance that are in a state.
    pub(crate) fn processes_in(&self, instance: &str, state: &State) -> Vec<String> {
        let rows = self.rows_mut();
        let wanted = rows.iter().filter(|row| row.instance == instance && row.state == *state);
        wanted.filter_map(|row| row.process.clone()).collect()
    }

    /// The processes of an instance that have exited on their own, and how.
    pub(crate) fn exited(&self, instance: &str) -> Vec<(String, u8)> {
        let rows = self.rows_mut();
        let exited = rows.iter().filter(|row| row.instance == instance && row.state == State::Exited);
        exited.filter_map(|row| Some((row.process.clone()?, row.exit.unwrap_or_default()))).collect()
    }

    /// The state of a process.
    pub(crate) fn state(&self, instance: &str, process: &str) -> Option<State> {
        let rows = self.rows_mut();
        rows.iter()
            .find(|row| row.instance == instance && row.process.as_deref() == Some(process))
            .map(|row| row.state.clone())
    }

    fn change(&self, is: impl Fn(&Row) -> bool, mut change: impl FnMut(&mut Row)) {
        for row in self.rows_mut().iter_mut().filter(|row| is(row)) {
            let before = row.state.clone();
            change(row);
            if row.state != before {
                row.since = now();
            }
        }
    }

    fn rows_mut(&self) -> MutexGuard<'_, Vec<Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_stopped_has_not_exited_on_its_own() {
        let table = StatusTable::default();
        table.add("a/0", None, "10.0.0.2");
        table.add("b/0", None, "10.0.0.3");
        table.set_processes("a/0", &["j/one".into(), "j/two".into()]);
        table.set_process("a/0", "j/one", State::Stopping);
        assert_eq!(table.set_exited("a/0", "j/one", 143), State::Stopped);
        assert_eq!(table.set_exited("a/0", "j/two", 137), State::Exited);
        assert_eq!(table.exited("a/0"), [("j/two".to_owned(), 137)]);
        assert_eq!(table.processes_in("a/0", &State::Stopped), ["j/one"]);
        let names: Vec<_> = table.rows().iter().map(|r| (r.instance.clone(), r.process.clone())).collect();
        let name = |i: &str, p: Option<&str>| (i.to_owned(), p.map(str::to_owned));
        assert_eq!(names, [name("a/0", Some("j/one")), name("a/0", Some("j/two")), name("b/0", None)]);
    }
}
