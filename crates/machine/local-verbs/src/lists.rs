//! `boson deployments`, `errands`, `releases` and `stemcells`: what is up, with the columns of the bosh CLI.

use local_state::control::Listing;
use local_state::{Connection, Which};
use problem::Result;
use table::{Table, TableOptions};

/// The arguments of a list about one deployment.
#[derive(Debug, clap::Args)]
pub(crate) struct OfDeployment {
    #[command(flatten)]
    table: TableOptions,
    #[command(flatten)]
    which: Which,
}

fn list(options: &OfDeployment, listing: Listing, content: &'static str, titles: &[&'static str]) -> Result<u8> {
    let rows = Connection::expect(&options.which.find()?)?.list(listing)?;
    let mut table = Table::new(content, titles);
    rows.into_iter().for_each(|cells| table.push(cells));
    table.print(&options.table)?;
    Ok(0)
}

macro_rules! list {
    ($name:ident, $listing:expr, $titles:expr, $about:literal) => {
        #[doc = $about]
        pub mod $name {
            use clap::Args;
            use local_state::control::Listing;
            use problem::Result;
            use startup::Common;

            /// The arguments of the verb.
            #[derive(Debug, Args)]
            #[command(after_long_help = concat!("Example:\n\x20\x20boson ", stringify!($name)))]
            pub struct Options {
                #[command(flatten)]
                pub(crate) of_deployment: super::OfDeployment,
            }

            /// One line for `--help`.
            pub const ABOUT: &str = $about;

            /// Runs the verb; returns the exit code.
            pub fn run(options: Options, _common: &Common) -> Result<u8> {
                super::list(&options.of_deployment, $listing, stringify!($name), &$titles)
            }
        }
    };
}

list!(errands, Listing::Errands, ["Name"], "List the errands of a deployment");
list!(releases, Listing::Releases, ["Name", "Version"], "List the releases of a deployment");
list!(stemcells, Listing::Stemcells, ["Alias", "OS", "Version"], "List the stemcells of a deployment");

/// Lists the deployments of this machine.
pub mod deployments {
    use clap::Args;
    use local_state::control::Listing;
    use local_state::{Connection, StateDir};
    use problem::Result;
    use startup::Common;
    use table::{Table, TableOptions};

    /// The arguments of the verb.
    #[derive(Debug, Args)]
    #[command(
        long_about = "List the deployments of this user on this machine, with releases and stemcells of those that are up. A deployment \
            that is down is listed as long as it has persistent disks.",
        after_long_help = "Example:\n\x20\x20boson deployments"
    )]
    pub struct Options {
        #[command(flatten)]
        pub(crate) table: TableOptions,
    }

    /// One line for `--help`.
    pub const ABOUT: &str = "List the deployments of this machine";

    /// Runs the verb; returns the exit code.
    pub fn run(options: Options, _common: &Common) -> Result<u8> {
        let mut table = Table::new("deployments", &["Name", "State", "Release(s)", "Stemcell(s)", "Path"]);
        for dir in StateDir::all()? {
            let Some(record) = dir.record()? else { continue };
            let joined = |rows: Vec<Vec<String>>, from: usize| {
                let names = rows.iter().map(|cells| cells.get(from..).unwrap_or_default().join("/"));
                names.map(|name| name.trim_end_matches('/').to_owned()).collect::<Vec<_>>().join(", ")
            };
            let (state, releases, stemcells) = match Connection::open(&dir) {
                Some(connection) => {
                    let releases = joined(connection.list(Listing::Releases)?, 0);
                    let stemcells = Connection::expect(&dir)?.list(Listing::Stemcells)?;
                    ("up", releases, joined(stemcells, 1))
                }
                None => ("down", String::new(), String::new()),
            };
            table.push([record.deployment, state.to_owned(), releases, stemcells, dir.path().display().to_string()]);
        }
        table.sort();
        table.print(&options.table)?;
        Ok(0)
    }
}
