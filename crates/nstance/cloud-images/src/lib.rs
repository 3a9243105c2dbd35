//! Ids of cloud images: looked up with EC2's `DescribeImages`, else taken from a cache, else the configured fallback.
//!
//! Each image is resolved by itself: one that fails does not affect the others. The credentials are those that AWS's own tools
//! would use (`aws-config`), the requests are signed by `aws-sigv4`. A cache that is damaged or cannot be written costs a
//! warning.

mod cache;
mod credentials;
mod ec2;
mod http;
mod query;
mod response;

use std::path::PathBuf;

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use dialect_nstance::Image;
use fetch::Client;
use problem::Result;

use crate::cache::Cache;
use crate::ec2::Ec2;
use crate::query::Query;

/// The provider whose images are looked up.
pub const AWS: &str = "aws";

/// What a round of lookups uses of the machine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory of `etc/hosts` and `etc/resolv.conf`.
    pub root: PathBuf,
    /// A PEM file whose certificates replace Mozilla's.
    pub certificates: Option<PathBuf>,
    /// The file of the cache.
    pub cache: PathBuf,
}

/// Where an id comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The provider, in this round.
    Live,
    /// The provider, in an earlier round.
    Cache,
    /// The configuration.
    Fallback,
}

impl Source {
    /// Its name in documents: `live`, `cache`, `fallback`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Live => "live",
            Source::Cache => "cache",
            Source::Fallback => "fallback",
        }
    }
}

/// The id of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The id, such as `ami-0123`.
    pub id: String,
    /// Where it comes from.
    pub source: Source,
    /// When the provider gave it (RFC 3339); a fallback has no such time.
    pub resolved_at: Option<String>,
}

/// What a round found for an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The id, or the image's name with all reasons why it has none.
    pub result: std::result::Result<Resolved, String>,
    /// Why the provider gave no id, if it gave none.
    pub failure: Option<String>,
}

/// What identifies the lookup of an image: two images with the same key have the same id.
pub fn key(image: &Image, region: &str) -> String {
    Query::of(image, region).identity
}

/// Resolves each of the images (name and description), in one round. `region` is the provider's; it is empty if it is unknown.
///
/// # Errors
/// The certificates cannot be read.
pub fn resolve(images: &[(&str, &Image)], region: &str, settings: &Settings) -> Result<Vec<Outcome>> {
    if images.is_empty() {
        return Ok(Vec::new());
    }
    let client = Client::new(&settings.root, settings.certificates.as_deref())?;
    // What AWS's crates log may contain credentials.
    let silence = tracing::subscriber::NoSubscriber::default();
    let mut ec2 = Ec2::new(client, region);
    let mut look_up = |image: &Image, query: &Query| {
        if image.provider != AWS {
            return Err(format!("images of the provider '{}' are not looked up", image.provider.escape_debug()));
        }
        tracing::subscriber::with_default(silence, || ec2.look_up(image, query))
    };
    let mut cache = Cache::open(&settings.cache);
    let one = |(name, image): &(&str, &Image)| {
        let query = Query::of(image, region);
        match look_up(image, &query) {
            Ok(id) => {
                let at = now();
                cache.put(name, &query.identity, &id, &at);
                let resolved = Resolved { id, source: Source::Live, resolved_at: Some(at) };
                Outcome { result: Ok(resolved), failure: None }
            }
            Err(why) => {
                Outcome { result: without(name, &why, image, cache.get(name, &query.identity)), failure: Some(why) }
            }
        }
    };
    Ok(images.iter().map(one).collect())
}

/// The id of an image whose lookup failed.
fn without(
    name: &str,
    why: &str,
    image: &Image,
    cached: Option<(String, String)>,
) -> std::result::Result<Resolved, String> {
    if let Some((id, at)) = cached {
        return Ok(Resolved { id, source: Source::Cache, resolved_at: Some(at) });
    }
    match &image.fallback {
        Some(id) => Ok(Resolved { id: id.clone(), source: Source::Fallback, resolved_at: None }),
        None => {
            let name = name.escape_debug();
            Err(format!(
                "images.{name}: {why}; the cache has no id for it, and it has no fallback ({})",
                image.position
            ))
        }
    }
}

/// The time in whole seconds, as RFC 3339 writes it.
fn now() -> String {
    let now = DateTime::from(std::time::SystemTime::now());
    // Formatting fails beyond the year 9999 only.
    DateTime::from_secs(now.secs()).fmt(Format::DateTime).unwrap_or_default()
}
