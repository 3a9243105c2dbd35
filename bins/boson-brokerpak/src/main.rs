//! The executable for brokerpaks: no Ruby, no token.

use std::process::ExitCode;

use startup::multicall::{Executable, Group};

const EXECUTABLE: Executable = Executable {
    name: "boson-brokerpak",
    about: "Check brokerpaks and resolve requests to their services",
    long_version: None,
    after_help: "",
    groups: &[Group {
        title: "Verbs",
        topic: None,
        verbs: startup::verbs!("boson-brokerpak": "brokerpak" => brokerpak),
    }],
};

fn main() -> ExitCode {
    command_line::main(&EXECUTABLE, std::env::args_os())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_definitions_are_valid() {
        super::EXECUTABLE.check();
    }
}
