//! The levels of args and vars.

use crate::configuration::{Configuration, Group};
use crate::instance::Instance;
use crate::layers::Layer;

/// The levels of a group's instance, the lowest first.
#[derive(Debug)]
pub struct Levels<'l> {
    /// Those of the args.
    pub args: Vec<&'l Layer>,
    /// Those of the vars.
    pub vars: Vec<&'l Layer>,
}

impl<'l> Levels<'l> {
    /// Global, template, group, MachinePool, Machine; for vars the files of the secret ones.
    pub fn of(configuration: &'l Configuration, group: &'l Group, instance: &'l Instance) -> Self {
        let template = configuration.template_of(group);
        let args = [
            configuration.args.as_ref(),
            template.and_then(|template| template.args.as_ref()),
            group.args.as_ref(),
            instance.machine_pool.args.as_ref(),
            instance.machine.args.as_ref(),
        ];
        let vars = [
            template.and_then(|template| template.vars.as_ref()),
            group.vars.as_ref(),
            instance.machine_pool.vars.as_ref(),
            instance.machine.vars.as_ref(),
            instance.secret_vars.as_ref(),
        ];
        Levels {
            args: args.into_iter().flatten().collect(),
            vars: configuration.vars.iter().chain(vars.into_iter().flatten()).collect(),
        }
    }
}
