//! The executable for brokerpaks: no Ruby, no token.

use std::process::ExitCode;

use startup::multicall::Executable;

const EXECUTABLE: Executable = Executable {
    name: "boson-brokerpak",
    about: "Checks brokerpaks and resolves requests to their services",
    long_version: None,
    after_help: "",
    verbs: startup::verbs!("boson-brokerpak": "brokerpak" => brokerpak),
};

fn main() -> ExitCode {
    EXECUTABLE.main(std::env::args_os())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_definitions_are_valid() {
        super::EXECUTABLE.check();
    }
}
