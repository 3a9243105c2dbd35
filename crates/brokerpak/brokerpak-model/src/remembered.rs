//! Random values and times that stay with an instance: what an expression has made once, it makes again.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::configuration::Machine;

/// Results of `rand.base64` and `time.nano`, by the variable and the number of the call.
pub type Results = BTreeMap<String, Json>;

/// A machine that gives the results of earlier evaluations, and remembers new ones.
pub struct Remembered<'m> {
    machine: &'m mut dyn Machine,
    results: Results,
    variable: String,
    /// Calls of the variable so far.
    calls: usize,
}

impl<'m> Remembered<'m> {
    /// A machine with the results of earlier evaluations.
    pub fn new(machine: &'m mut dyn Machine, results: Results) -> Remembered<'m> {
        Remembered { machine, results, variable: String::new(), calls: 0 }
    }

    /// All results, old and new.
    pub fn into_results(self) -> Results {
        self.results
    }

    fn key(&mut self, function: &str) -> String {
        self.calls += 1;
        format!("{} {function} {}", self.variable, self.calls)
    }
}

impl Machine for Remembered<'_> {
    fn time_nano(&mut self) -> i128 {
        let key = self.key("time.nano");
        if let Some(time) = self.results.get(&key).and_then(Json::as_str).and_then(|text| text.parse().ok()) {
            return time;
        }
        let time = self.machine.time_nano();
        self.results.insert(key, time.to_string().into());
        time
    }

    fn random(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let key = self.key(&format!("rand.base64({count})"));
        let stored = self.results.get(&key).and_then(Json::as_array);
        let stored: Option<Vec<u8>> = stored
            .and_then(|bytes| bytes.iter().map(|byte| byte.as_u64().and_then(|b| u8::try_from(b).ok())).collect());
        if let Some(bytes) = stored.filter(|bytes| bytes.len() == count) {
            return Ok(bytes);
        }
        let bytes = self.machine.random(count)?;
        self.results.insert(key, bytes.clone().into());
        Ok(bytes)
    }

    fn variable(&mut self, name: &str) {
        name.clone_into(&mut self.variable);
        self.calls = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(u8);

    impl Machine for Counting {
        fn time_nano(&mut self) -> i128 {
            self.0 += 1;
            i128::from(self.0)
        }

        fn random(&mut self, count: usize) -> Result<Vec<u8>, String> {
            self.0 += 1;
            Ok(vec![self.0; count])
        }
    }

    fn draw(machine: &mut Remembered<'_>, variable: &str) -> (Vec<u8>, Vec<u8>, i128) {
        machine.variable(variable);
        (machine.random(2).unwrap(), machine.random(2).unwrap(), machine.time_nano())
    }

    #[test]
    fn results_stay_with_their_variable() {
        let mut counting = Counting(0);
        let mut machine = Remembered::new(&mut counting, Results::new());
        let (a, b) = (draw(&mut machine, "a"), draw(&mut machine, "b"));
        assert_eq!((&a, &b), (&(vec![1, 1], vec![2, 2], 3), &(vec![4, 4], vec![5, 5], 6)));
        let text = serde_json::to_string(&machine.into_results()).unwrap();
        let mut machine = Remembered::new(&mut counting, serde_json::from_str(&text).unwrap());
        assert_eq!((draw(&mut machine, "b"), draw(&mut machine, "a")), (b, a));
        machine.variable("a");
        assert_eq!(machine.random(3), Ok(vec![7, 7, 7]), "another length is another value");
    }
}
