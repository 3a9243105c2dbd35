//! A flag and a variable for each field of the template data: `--instance-ip4`, `INSTANCE_IP4`.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use dialect_nstance::Instance;

/// The fields that are given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts(Vec<(&'static str, &'static str, String)>);

impl Facts {
    /// Sets the fields of an instance.
    pub(crate) fn apply(&self, instance: &mut Instance) {
        self.0.iter().for_each(|(part, field, value)| instance.set(part, field, value.clone()));
    }
}

impl Args for Facts {
    fn augment_args(command: Command) -> Command {
        let arg = |(part, field, variable): (&str, &str, String)| {
            let help = format!("Set .{part}.{field} of the template data");
            let flag = variable.to_ascii_lowercase().replace('_', "-");
            // Names of flags live as long as the process; they are made once or twice in it.
            let (variable, flag) = (variable.leak(), flag.leak());
            Arg::new(&*variable).long(&*flag).env(&*variable).value_name("TEXT").help(help).help_heading("Instance")
        };
        command.args(Instance::variables().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Facts {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |variable: &str| matches.get_one::<String>(variable).filter(|text| !text.is_empty()).cloned();
        let given = Instance::variables().filter_map(|(part, field, name)| Some((part, field, value(&name)?)));
        Ok(Facts(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
