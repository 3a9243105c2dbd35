//! Compiling in a sandbox of this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use problem::{IoContext, Problem, code};
use release::{CompileStep, Runner, Stemcell};
use sandbox::{Access, Bind, Command, InstanceSpec, Once, Stdio};

use local_state::Interrupt;

/// Runs a package's scripts in a sandbox that looks like a compilation VM, also as an ordinary user.
#[derive(Debug)]
pub struct Sandboxed {
    interrupt: Interrupt,
    base: Option<PathBuf>,
}

impl Sandboxed {
    /// Scripts see the programs of `base`, or those of the host.
    pub fn new(interrupt: &Interrupt, base: Option<&Stemcell>) -> Self {
        Sandboxed { interrupt: interrupt.clone(), base: base.map(|base| base.dir.clone()) }
    }
}

impl Runner for Sandboxed {
    fn run(&self, step: &CompileStep) -> problem::Result<u8> {
        let cannot = |e: io::Error| {
            Problem::internal(format!("cannot compile {} in a sandbox", step.package))
                .code(code::SANDBOX_UNAVAILABLE)
                .because(e)
        };
        let (compile, install) = (step.compile_target(), step.install_target());
        let command = Command {
            argv: step.argv(),
            env: step.env(&compile, &install),
            directory: compile,
            stdio: Stdio::to_file(step.log.try_clone().map_err(cannot)?).map_err(cannot)?,
            privileged: false,
        };
        let sandbox = Arc::new(Once::start(self.specification(step)?).map_err(cannot)?);
        let to_end = Arc::clone(&sandbox);
        let guard = self.interrupt.guard(move || to_end.kill());
        let exit = sandbox.run(command).map_err(cannot)?;
        drop(guard);
        Ok(exit.code())
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_asked()
    }

    fn remove(&self, dir: &Path) -> io::Result<()> {
        sandbox::remove_tree(dir)
    }
}

impl Sandboxed {
    fn specification(&self, step: &CompileStep) -> problem::Result<InstanceSpec> {
        let (vcap, mount_point) = (step.scratch_dir.join("vcap"), step.scratch_dir.join("root"));
        for dir in [&vcap, &mount_point] {
            fs::create_dir_all(dir).io("make", dir)?;
        }
        let bind = |source: &Path, target: PathBuf, access| Bind { source: source.to_path_buf(), target, access };
        let mut binds = vec![
            bind(step.compile_dir, step.compile_target(), Access::ReadWrite),
            bind(step.install_dir, step.install_target(), Access::ReadWrite),
            // `pre_packaging` gets its path.
            bind(step.release_dir, step.release_dir.to_path_buf(), Access::ReadOnly),
        ];
        binds.extend(step.dependency_targets().map(|(target, source)| bind(source, target, Access::ReadOnly)));
        Ok(InstanceSpec {
            name: step.package.to_owned(),
            hostname: "compilation".to_owned(),
            address: None,
            base: self.base.clone(),
            name_server: None,
            mount_point,
            vcap,
            hosts: None,
            memory: Vec::new(),
            binds,
            executable_names: Vec::new(),
            privileged: false,
        })
    }
}
