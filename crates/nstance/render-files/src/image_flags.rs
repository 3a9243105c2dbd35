//! The flags of image lookups.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use cloud_images::Settings;
use dialect_nstance::Configuration;
use problem::{Problem, Result};
use startup::{Common, parse_duration};

const CACHE: &str = "/var/lib/nstance/images.db";
const INTERVAL: Duration = Duration::from_secs(6 * 60 * 60);

/// The flags of image lookups.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImageFlags {
    /// The SQLite file with the ids of earlier lookups [default: /var/lib/nstance/images.db]
    #[arg(long, env = "IMAGE_CACHE", value_name = "FILE")]
    image_cache: Option<PathBuf>,
    /// With --watch: the time between lookups; 0 means only at the start [default: shard.image_refresh_interval of the
    /// configuration, else 6h]
    #[arg(long, env = "IMAGE_REFRESH_INTERVAL", value_name = "TIME", value_parser = parse_duration)]
    image_refresh_interval: Option<Duration>,
}

impl ImageFlags {
    /// The time between lookups.
    ///
    /// # Errors
    /// The configuration's is not a time.
    pub(crate) fn interval(&self, configuration: &Configuration) -> Result<Duration> {
        let node = configuration.image_refresh_interval.as_ref();
        let text = node.and_then(|node| node.as_str()).filter(|text| !text.is_empty());
        let configured = match (node, text.map(parse_duration)) {
            (Some(node), Some(Err(why))) => {
                let message = format!("shard.image_refresh_interval {why}");
                return Err(Problem::input(message).at(node.position.place()).into());
            }
            (_, configured) => configured.and_then(std::result::Result::ok),
        };
        Ok(self.image_refresh_interval.or(configured).unwrap_or(INTERVAL))
    }

    /// What lookups use of the machine; `certificates` replace the built-in ones.
    pub(crate) fn settings(&self, certificates: Option<&Path>, common: &Common) -> Settings {
        Settings {
            root: common.root.clone(),
            certificates: certificates.map(Path::to_path_buf),
            cache: common.path(self.image_cache.as_deref(), CACHE),
        }
    }
}
