//! One `if` statement: how often it has to hold, and whether it holds now.

use std::collections::VecDeque;

use ::monit::{Condition, Limit, Operator, Rate, Rule};

/// A rule and what became of its last checks.
#[derive(Debug)]
pub(super) struct RuleState {
    pub(super) rule: Rule,
    /// The newest last; whether the check failed.
    history: VecDeque<bool>,
    /// Whether the rule applies now.
    pub(super) is_failing: bool,
}

/// What a check means for a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing to be done.
    Nothing,
    /// The action has to be carried out; for the first time, or again.
    Act { is_first: bool },
    /// It does not apply any more.
    Recovered,
}

impl RuleState {
    pub(super) fn new(rule: Rule) -> RuleState {
        RuleState { rule, history: VecDeque::new(), is_failing: false }
    }

    /// Takes note of a check. As in monit, the action is repeated in each further cycle that fails.
    pub(super) fn note(&mut self, failed: bool) -> Verdict {
        let recovery = self.rule.recovery.as_ref().map_or_else(Rate::default, |recovery| recovery.rate);
        self.history.push_back(failed);
        while self.history.len() > self.rule.rate.cycles.max(recovery.cycles) as usize {
            self.history.pop_front();
        }
        if failed && self.happened(self.rule.rate, true) {
            return Verdict::Act { is_first: !std::mem::replace(&mut self.is_failing, true) };
        }
        if self.is_failing && !failed && self.happened(recovery, false) {
            self.is_failing = false;
            return Verdict::Recovered;
        }
        Verdict::Nothing
    }

    fn happened(&self, rate: Rate, failed: bool) -> bool {
        let count = self.history.iter().rev().take(rate.cycles as usize).filter(|check| **check == failed).count();
        count >= rate.count as usize
    }

    /// The process was started again: its checks start again, too.
    pub(super) fn forget(&mut self) {
        self.history.clear();
        self.is_failing = false;
    }

    /// The rule, for messages: it has no value of the file but numbers.
    pub(super) fn describe(&self) -> &'static str {
        match &self.rule.condition {
            Condition::Connection(_) => "if failed",
            Condition::Resource(_) => "a limit of a resource",
            Condition::Restarts { .. } => "restarts",
            Condition::Missing => "if does not exist",
            Condition::Changed(_) => "if changed",
            Condition::Other => "another rule",
        }
    }
}

/// Whether a value is what the rule does not want. `all` is what 100 % are.
pub(super) fn exceeds(value: u64, operator: Operator, limit: Limit, all: Option<u64>) -> bool {
    let limit = match limit {
        Limit::Bytes(bytes) => bytes,
        Limit::Percent(percent) => match all {
            Some(all) => all / 100 * u64::from(percent),
            None => u64::from(percent),
        },
        Limit::Count(count) => u64::from(count),
        Limit::Tenths(tenths) => u64::from(tenths),
    };
    match operator {
        Operator::Greater => value > limit,
        Operator::Less => value < limit,
        Operator::Equal => value == limit,
        Operator::NotEqual => value != limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> RuleState {
        let config = ::monit::parse(&format!("check process x with pidfile /x\n{text}\n"), "monit").unwrap();
        RuleState::new(config.services[0].rules[0].clone())
    }

    fn act(is_first: bool) -> Verdict {
        Verdict::Act { is_first }
    }

    #[test]
    fn a_rule_applies_after_so_many_failed_checks_in_a_row_and_then_in_each() {
        let mut state = rule("if failed port 80 for 3 cycles then restart");
        let checks = [true, true, false, true, true, true, true, false, false, true];
        let verdicts: Vec<Verdict> = checks.into_iter().map(|failed| state.note(failed)).collect();
        let nothing = || Verdict::Nothing;
        assert_eq!(
            verdicts,
            [
                nothing(),
                nothing(),
                nothing(),
                nothing(),
                nothing(),
                act(true),
                act(false),
                Verdict::Recovered,
                nothing(),
                nothing()
            ]
        );
        state.note(true);
        state.note(true);
        state.forget();
        assert_eq!((state.note(true), state.is_failing), (Verdict::Nothing, false));
    }

    #[test]
    fn so_many_times_within_so_many_cycles_need_not_be_in_a_row() {
        let mut state = rule("if failed port 80 for 2 times within 4 cycles then alert");
        let verdicts: Vec<Verdict> =
            [true, false, false, true, false, true].into_iter().map(|failed| state.note(failed)).collect();
        let nothing = || Verdict::Nothing;
        assert_eq!(verdicts, [nothing(), nothing(), nothing(), act(true), Verdict::Recovered, act(true)]);
    }

    #[test]
    fn limits_are_compared_as_written() {
        let megabytes = |n: u64| Limit::Bytes(n << 20);
        assert!(exceeds(501 << 20, Operator::Greater, megabytes(500), None));
        assert!(!exceeds(500 << 20, Operator::Greater, megabytes(500), None));
        assert!(exceeds(81, Operator::Greater, Limit::Percent(80), None));
        assert!(exceeds(900, Operator::Greater, Limit::Percent(80), Some(1000)));
        assert!(!exceeds(700, Operator::Greater, Limit::Percent(80), Some(1000)));
        assert!(
            exceeds(1, Operator::Less, Limit::Count(2), None) && exceeds(2, Operator::Equal, Limit::Count(2), None)
        );
    }
}
