//! The executable with TLS and cloud credentials: no Ruby, no token.

use std::process::ExitCode;

use startup::multicall::{Executable, Group};

const EXECUTABLE: Executable = Executable {
    name: "boson-cloud",
    about: "Render Nstance's args, vars, userdata and files",
    long_version: None,
    after_help: "",
    groups: &[Group {
        title: "Verbs",
        topic: None,
        verbs: startup::verbs!("boson-cloud": "render-files" => render_files),
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
