//! `kubectl boson deployments`, `errands`, `releases`, `stemcells` and `disks`: lists with the columns of the bosh CLI, as `boson` has them.

use std::collections::BTreeSet;

use clap::Args;
use cluster::{Kind, Object, label, name};
use deploy::requests;
use handoff::deployment::Deployment as Document;
use handoff::requests::What;
use kubernetes_objects as objects;
use problem::Result;
use table::TableOptions;

use crate::target::{Deployment, Target};

/// The arguments of a list about one deployment.
#[derive(Debug, Args)]
pub(crate) struct OfDeployment {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    table: TableOptions,
}

macro_rules! list {
    ($name:ident, $titles:expr, $rows:expr, $about:literal, $long:literal) => {
        #[doc = $about]
        pub mod $name {
            use clap::Args;
            use problem::Result;
            use startup::Common;
            use table::Table;

            /// The arguments of the verb.
            #[derive(Debug, Args)]
            #[command(
                long_about = concat!($long, "\n\nExit codes: 0 done; 2 usage; 65 the deployment does not exist; 70 the API server failed or cannot be reached."),
                after_long_help = concat!("Example:\n\x20\x20kubectl boson ", stringify!($name), " -d nats")
            )]
            pub struct Options {
                #[command(flatten)]
                pub(crate) of_deployment: super::OfDeployment,
            }

            /// One line for `--help`.
            pub const ABOUT: &str = $about;

            /// Runs the verb; returns the exit code.
            pub fn run(options: Options, _common: &Common) -> Result<u8> {
                let super::OfDeployment { target, table: form } = options.of_deployment;
                let mut table = Table::new(stringify!($name), &$titles);
                let rows: fn(&super::Deployment) -> Result<Vec<Vec<String>>> = $rows;
                rows(&target.find()?)?.into_iter().for_each(|cells| table.push(cells));
                table.print(&form)?;
                Ok(0)
            }
        }
    };
}

list!(
    errands,
    ["Name"],
    super::errands_of,
    "List the errands of a deployment",
    "List what `kubectl boson errand` can run: instance groups that are errands, and jobs with a script `bin/run` in running instances."
);
list!(
    releases,
    ["Name", "Version"],
    |deployment| super::of_document(deployment, |document| {
        document.releases.iter().map(|release| vec![release.name.clone(), release.version.clone()]).collect()
    }),
    "List the releases of a deployment",
    "List the releases of the present run of a deployment."
);
list!(
    stemcells,
    ["Alias", "OS", "Version"],
    |deployment| super::of_document(deployment, |document| {
        let row = |stemcell: &handoff::deployment::Stemcell| {
            vec![stemcell.alias.clone(), stemcell.os.clone(), stemcell.version.clone()]
        };
        document.stemcells.iter().map(row).collect()
    }),
    "List the stemcells of a deployment",
    "List the stemcells of the present run of a deployment. Images of releases are built for one; nothing is installed from it."
);
list!(
    disks,
    ["Instance", "Size", "State", "Claim"],
    super::disks_of,
    "List the persistent disks of a deployment",
    "List the persistent disks of a deployment: claims of volumes. A disk without an instance is orphaned: it stays until it is deleted with \
     `kubectl delete pvc`, and an instance of the same name gets it back."
);

fn errands_of(deployment: &Deployment) -> Result<Vec<Vec<String>>> {
    let jobs = deployment.list(Kind::JOB)?;
    let groups = jobs.iter().filter(|job| label(job, objects::KIND) == Some("errand"));
    let mut names: BTreeSet<String> = groups.filter_map(|job| label(job, objects::GROUP)).map(str::to_owned).collect();
    let servers = requests::of_deployment(&deployment.cluster, &deployment.name, &What::Errand, None)?;
    names.extend(servers.into_iter().map(|server| server.job));
    Ok(names.into_iter().map(|name| vec![name]).collect())
}

fn of_document(deployment: &Deployment, rows: fn(&Document) -> Vec<Vec<String>>) -> Result<Vec<Vec<String>>> {
    let (versions, _) = deployment.versions()?;
    let Some(run) = versions.runs.first() else { return Ok(Vec::new()) };
    Ok(rows(&deploy::deployment_of_run(&deployment.cluster, run)?))
}

fn disks_of(deployment: &Deployment) -> Result<Vec<Vec<String>>> {
    let pods = deployment.pods()?;
    let mounts = |pod: &Object, claim: &str| {
        let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        volumes.into_iter().any(|volume| volume["persistentVolumeClaim"]["claimName"] == claim)
    };
    let services = deployment.list(Kind::SERVICE)?;
    let row = |claim: &Object| {
        let text = |value: &Object| value.as_str().unwrap_or_default().to_owned();
        let user = pods.iter().find(|pod| mounts(pod, name(claim)));
        let instance = user.map(|pod| match crate::status::instance(pod, &services) {
            Some((group, index)) => format!("{group}/{index}"),
            None => name(pod).to_owned(),
        });
        let state = if instance.is_some() { text(&claim["status"]["phase"]).to_lowercase() } else { "orphaned".into() };
        let size = text(&claim["spec"]["resources"]["requests"]["storage"]);
        vec![instance.unwrap_or_default(), size, state, name(claim).to_owned()]
    };
    Ok(deployment.list(Kind::CLAIM)?.iter().map(row).collect())
}

/// Lists the deployments of a namespace.
pub mod deployments {
    use clap::Args;
    use cluster::{Cluster, Connection};
    use problem::Result;
    use startup::Common;
    use table::{Table, TableOptions};

    use crate::target;

    /// The arguments of the verb.
    #[derive(Debug, Args)]
    #[command(
        long_about = "List the deployments of a namespace, with the number and the releases of their present run.\n\n\
            Exit codes: 0 done; 2 usage; 70 the API server failed or cannot be reached.",
        after_long_help = "Example:\n\x20\x20kubectl boson deployments -n cf"
    )]
    pub struct Options {
        #[command(flatten)]
        table: TableOptions,
        /// The cluster
        #[command(flatten)]
        connection: Connection,
    }

    /// One line for `--help`.
    pub const ABOUT: &str = "List the deployments of a namespace";

    /// Runs the verb; returns the exit code.
    pub fn run(options: Options, _common: &Common) -> Result<u8> {
        let cluster = Cluster::connect(&options.connection)?;
        let mut table = Table::new("deployments", &["Name", "Run", "Release(s)", "Stemcell(s)"]);
        for (name, _) in target::anchors(&cluster)? {
            let Some(run) = deploy::present_run(&cluster, &name)? else {
                table.push([name, String::new(), String::new(), String::new()]);
                continue;
            };
            let document = deploy::deployment_of_run(&cluster, &run)?;
            let joined = |names: Vec<String>| names.join(", ");
            let releases = document.releases.iter().map(|release| format!("{}/{}", release.name, release.version));
            let stemcells = document.stemcells.iter().map(|stemcell| format!("{}/{}", stemcell.os, stemcell.version));
            table.push([name, run.run.to_string(), joined(releases.collect()), joined(stemcells.collect())]);
        }
        table.sort();
        table.print(&options.table)?;
        Ok(0)
    }
}
