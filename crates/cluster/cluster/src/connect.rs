//! Finding the API server.

use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use problem::{Problem, Result, code};
use tokio::runtime::Runtime;

/// Which cluster, and which namespace of it.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub struct Connection {
    /// The file with the cluster's address and credentials [default: KUBECONFIG, ~/.kube/config, or the pod's account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in that file [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The namespace [default: the context's or the pod's]
    #[arg(short = 'n', long, env = "KUBE_NAMESPACE", value_name = "NAME")]
    pub namespace: Option<String>,
}

/// One namespace of a cluster.
pub struct Cluster {
    pub(crate) runtime: Runtime,
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl Cluster {
    /// Finds the cluster; sends nothing yet.
    ///
    /// # Errors
    /// If neither a kubeconfig nor a pod's account is found, or cannot be used.
    pub fn connect(connection: &Connection) -> Result<Cluster> {
        let failed = |error: &dyn std::fmt::Display| {
            Problem::internal("cannot find a cluster")
                .code(code::CLUSTER_UNREACHABLE)
                .because(error)
                .hint("set KUBECONFIG, or give --kubeconfig and --context")
        };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
        let found: std::result::Result<(Client, String), Problem> = runtime.block_on(async {
            let options = KubeConfigOptions { context: connection.context.clone(), ..KubeConfigOptions::default() };
            let mut config = if let Some(path) = &connection.kubeconfig {
                let file = Kubeconfig::read_from(path).map_err(|error| failed(&error))?;
                Config::from_custom_kubeconfig(file, &options).await.map_err(|error| failed(&error))?
            } else if connection.context.is_some() {
                Config::from_kubeconfig(&options).await.map_err(|error| failed(&error))?
            } else {
                Config::infer().await.map_err(|error| failed(&error))?
            };
            // The client of the crate would repeat for minutes what is repeated here for seconds, and refusals of evictions, too.
            config.default_retry = false;
            let namespace = config.default_namespace.clone();
            Ok((Client::try_from(config).map_err(|error| failed(&error))?, namespace))
        });
        let (client, default) = found?;
        let namespace = connection.namespace.clone().filter(|name| !name.is_empty()).unwrap_or(default);
        Ok(Cluster { runtime, client, namespace })
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }
}
