//! Rules: `if CONDITION for N cycles then ACTION`.

use super::{MAX_CYCLES, Parser, Read};
use crate::model::{Action, Condition, Rate, Recovery, Rule, Span};

impl Parser<'_> {
    pub(super) fn rule(&mut self, at: Span) -> Read<()> {
        let condition = self.condition()?;
        let is_restarts = matches!(condition, Condition::Restarts { .. });
        let rate = if is_restarts { Rate::default() } else { self.rate()? };
        self.expect(&["then"])?;
        let action = if is_restarts && self.take(&["timeout"]) { Action::Unmonitor } else { self.action()? };
        let recovery = if self.take(&["else"]) {
            self.expect(&["if"])?;
            self.expect(&["recovered", "passed", "succeeded"])?;
            let rate = self.rate()?;
            self.expect(&["then"])?;
            Some(Recovery { rate, action: self.action()? })
        } else {
            None
        };
        self.with_service(|service| service.rules.push(Rule { condition, rate, action, recovery, at }));
        Ok(())
    }

    /// `[for] N cycles`, `[for] N times within M cycles`, or nothing
    pub(super) fn rate(&mut self) -> Read<Rate> {
        if !self.is_number() {
            return Ok(Rate::default());
        }
        let at = self.at();
        let count = self.number()?;
        let cycles = if self.is_number() { self.number()? } else { count };
        self.expect(&["cycle", "cycles"])?;
        if !(1..=MAX_CYCLES).contains(&cycles) {
            self.report(format!("the number of cycles must be between 1 and {MAX_CYCLES}"), at);
        } else if !(1..=cycles).contains(&count) {
            let message = "the number of events must be bigger then 0 and less than poll cycles";
            self.report(message.into(), at);
        }
        Ok(Rate { count, cycles })
    }

    pub(super) fn action(&mut self) -> Read<Action> {
        if self.is(&["exec", "execute"]) {
            return Ok(Action::Exec(self.program(false)?));
        }
        let actions = [
            ("alert", Action::Alert),
            ("restart", Action::Restart),
            ("start", Action::Start),
            ("stop", Action::Stop),
            ("unmonitor", Action::Unmonitor),
        ];
        let found = actions.into_iter().find(|(keyword, _)| self.take(&[keyword]));
        found.map(|(_, action)| action).ok_or_else(|| self.syntax_error())
    }
}
