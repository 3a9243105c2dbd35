//! The executable with Ruby: plan, render-jobs and the verbs of one machine.

fn main() {}
