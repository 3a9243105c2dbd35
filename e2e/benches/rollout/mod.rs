//! What the containers of a gather Job do, without a cluster: an API server of this machine stores the objects, and instances are ready at
//! once.

#![allow(dead_code, reason = "each user uses a part")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use serde_json::json;
use testkit::api_server::controllers::make_ready;
use testkit::api_server::{ApiServer, Request, Store};

use crate::generate::foundation::Foundation;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const NAME: &str = "generated";

/// A cluster, and the files of a gather pod.
pub(crate) struct Rollout {
    pub(crate) server: ApiServer,
    directory: PathBuf,
}

impl Rollout {
    /// A cluster without objects; `directory` does not exist yet.
    pub(crate) fn new(directory: PathBuf) -> Rollout {
        let server = ApiServer::start();
        if let Err(error) = fs::create_dir_all(&directory) {
            panic!("{}: {error}", directory.display());
        }
        server.write_kubeconfig(&directory.join("kubeconfig"));
        server.set_hook(Box::new(|request, store| {
            finish(request, store);
            None
        }));
        Rollout { server, directory }
    }

    /// `kubectl boson apply`: everything until the gather Job exists, which is complete at once.
    pub(crate) fn apply(&self, foundation: &Foundation) -> Result<String> {
        let mut command = self.cluster("apply");
        command.arg(&foundation.input.manifest).args(foundation.flags()).args(["--registry", "registry.example"]);
        run(command)
    }

    /// The container `plan`, with the Secrets that the Job mounts.
    pub(crate) fn plan(&self, foundation: &Foundation) -> Result<String> {
        let mounted = self.directory.join("deployment");
        let _ = fs::remove_dir_all(&mounted);
        fs::create_dir_all(&mounted)?;
        let store = self.server.store();
        let secrets = store.objects.iter().filter(|(path, _)| path.contains("-gather-manifest-"));
        for (file, content) in secrets.flat_map(|(_, secret)| secret["data"].as_object().into_iter().flatten()) {
            let content = base64::engine::general_purpose::STANDARD.decode(content.as_str().unwrap_or_default())?;
            fs::write(mounted.join(file), content)?;
        }
        drop(store);
        let mut plan = Command::new(testkit::executable("plan"));
        plan.arg("--bosh-manifest-path").arg(mounted.join("manifest.yaml"));
        plan.arg("--runtime-config").arg(mounted.join("runtime-config-1.yaml"));
        plan.arg("--base-dir").arg(&foundation.input.base).arg("--output-dir").arg(self.directory.join("planned"));
        run(plan)
    }

    /// The containers `check`, `write-secrets` and `deploy`.
    pub(crate) fn deploy(&self) -> Result<String> {
        let planned = self.directory.join("planned");
        let images = ["--deployment-name", NAME, "--registry", "registry.example"];
        let mut check = self.cluster("deploy");
        check.args(images).arg("--check").arg(&planned);
        let mut log = run(check)?;
        let mut write_secrets = self.cluster("write-secrets");
        write_secrets.arg("--from").arg(&planned);
        log.push_str(&run(write_secrets)?);
        let mut deploy = self.cluster("deploy");
        deploy.args(images);
        log.push_str(&run(deploy)?);
        Ok(log)
    }

    fn cluster(&self, verb: &str) -> Command {
        let mut command = Command::new(testkit::executable("boson-cluster"));
        command.arg(verb).arg("--kubeconfig").arg(self.directory.join("kubeconfig"));
        command
    }
}

/// All pods of a StatefulSet are ready as soon as somebody looks, a gather Job has ended, and the server of aliases answers.
fn finish(request: &Request, store: &mut Store) {
    make_ready(request, store);
    let is_gather = request.path.contains("/jobs/") && request.path.contains("-gather-");
    if let Some(job) = store.objects.get_mut(&request.path).filter(|_| is_gather) {
        job["status"] = json!({"conditions": [{"type": "Complete", "status": "True"}]});
    }
}

/// Runs a command; gives what it logged.
fn run(mut command: Command) -> Result<String> {
    let output = command.output()?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(log) } else { Err(format!("{command:?}: {}\n{log}", output.status).into()) }
}
