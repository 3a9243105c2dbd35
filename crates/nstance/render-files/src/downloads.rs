//! Userdata from URLs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use dialect_nstance::{Configuration, Group, userdata_url};
use fetch::{Bounds, Fetcher, Origin};
use problem::{Problem, Result};
use startup::{Common, parse_size};

/// How long a download takes at most, with all its redirects.
const TIME: Duration = Duration::from_secs(30);

/// The flags of downloads.
#[derive(Debug, Clone, Args)]
pub(crate) struct Flags {
    /// The largest download of userdata, in bytes; inflated it may be 8 times larger
    #[arg(long, env = "USERDATA_LIMIT", value_name = "SIZE", default_value = "1M", value_parser = parse_size)]
    pub(crate) userdata_limit: u64,
    /// Origins, such as http://10.0.0.7:8080, that may have plain http and loopback or link-local addresses; spaces between
    #[arg(long, env = "USERDATA_ALLOW", value_name = "ORIGINS", default_value = "", hide_default_value = true,
        value_parser = parse_origins)]
    userdata_allow: Origins,
    /// A PEM file with the certificates to trust instead of Mozilla's
    #[arg(long, env = "SSL_CERT_FILE", value_name = "FILE")]
    pub(crate) ssl_cert_file: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct Origins(Vec<Origin>);

fn parse_origins(text: &str) -> std::result::Result<Origins, String> {
    text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>().map(Origins)
}

/// What is at the URLs of some groups.
#[derive(Debug, Default)]
pub(crate) struct Downloads {
    contents: BTreeMap<String, Vec<u8>>,
    /// Those that failed.
    pub(crate) problems: Vec<Problem>,
}

impl Downloads {
    /// Downloads the userdata of all these groups, each URL once.
    ///
    /// # Errors
    /// The certificates to trust cannot be read.
    pub(crate) fn of(configuration: &Configuration, groups: &[&Group], flags: &Flags, common: &Common) -> Result<Self> {
        let mut wanted = BTreeMap::new();
        for group in groups {
            if let Some(userdata) = userdata_url(configuration, group) {
                wanted.entry(userdata.url).or_insert(userdata);
            }
        }
        let mut downloads = Downloads::default();
        if wanted.is_empty() {
            return Ok(downloads);
        }
        let bounds = Bounds { time: TIME, size: flags.userdata_limit, allow: flags.userdata_allow.0.clone() };
        let fetcher = Fetcher::new(&common.root, flags.ssl_cert_file.as_deref(), bounds)?;
        for (url, userdata) in wanted {
            match fetcher.get(url) {
                Ok(content) => {
                    downloads.contents.insert(url.to_owned(), content);
                }
                Err(why) => {
                    let message = format!("{}: cannot download the userdata", userdata.path);
                    downloads.problems.push(Problem::internal(message).at(userdata.place).because(why));
                }
            }
        }
        Ok(downloads)
    }

    /// What is at a URL.
    pub(crate) fn get(&self, url: &str) -> Option<&[u8]> {
        self.contents.get(url).map(Vec::as_slice)
    }
}
