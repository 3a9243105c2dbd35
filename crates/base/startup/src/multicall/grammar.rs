//! The grammar of a whole executable: its own and those of its verbs.

use std::ffi::OsStr;

use clap::Command;

use super::{Executable, Group};

impl Executable {
    /// Returns the grammar of the command that users call by the file name `program`, with those of all verbs: what completion and manual
    /// pages are made of. `kubectl-boson` is called as `kubectl boson`.
    pub fn grammar(&self, program: &'static str) -> Command {
        if let Some(verb) = self.verb(OsStr::new(program)) {
            return (verb.command)();
        }
        let called = program.replacen("kubectl-", "kubectl ", 1);
        let whole = |stub: Command| match self.verb(OsStr::new(stub.get_name())) {
            Some(verb) => {
                let aliases = self.aliases().filter(|(_, name)| *name == verb.name).map(|(alias, _)| alias);
                (verb.command)().bin_name(format!("{called} {}", verb.name)).aliases(aliases)
            }
            None => stub,
        };
        let groups: Vec<&Group> = self.groups.iter().collect();
        self.command(&groups).name(program).bin_name(called.clone()).mut_subcommands(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::greet;
    use super::*;

    const TOOL: Executable = Executable {
        name: "tool",
        about: "A tool",
        long_version: None,
        after_help: "",
        groups: &[Group {
            title: "Talk",
            topic: None,
            verbs: crate::verbs!("tool": "greet" => greet, "wave" => greet),
        }],
    };

    #[test]
    fn the_whole_grammar_has_the_flags_of_verbs_and_the_name_of_the_call() {
        let mut whole = TOOL.grammar("kubectl-tool");
        whole.build();
        let greet = whole.find_subcommand("greet").unwrap();
        assert_eq!((whole.get_name(), greet.get_bin_name()), ("kubectl-tool", Some("kubectl tool greet")));
        assert!(greet.get_arguments().any(|arg| arg.get_long() == Some("name")));
        // A link of a verb's name is the verb.
        assert!(TOOL.grammar("wave").get_arguments().any(|arg| arg.get_long() == Some("name")));
    }
}
