//! The image of each release.

use std::collections::BTreeMap;

/// A release as the manifest names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleaseRef {
    /// Its name.
    pub name: String,
    /// Its version; empty if the manifest has none.
    pub version: String,
    /// Its `url`.
    pub url: Option<String>,
    /// Operating system and version of its stemcell: the release's own, or the deployment's only one.
    pub stemcell: Option<(String, String)>,
    /// Whether a job of it runs, which needs its image.
    pub is_needed: bool,
}

impl ReleaseRef {
    /// The image that the manifest itself names, as for Quarks: `<url>/<release>:<os>-<stemcell version>-<version>`, if `url` is a
    /// place in a registry. The `url` of a release archive has a scheme.
    fn image_of_manifest(&self) -> Option<String> {
        let url = self.url.as_deref().filter(|url| !url.contains("://"))?.trim_end_matches('/');
        let (os, stemcell) = self.stemcell.as_ref()?;
        Some(format!("{url}/{}:{os}-{stemcell}-{}", self.name, self.version))
    }

    fn image_in(&self, registry: &str) -> String {
        let tag = if self.version.is_empty() { "latest" } else { &self.version };
        // A version of BOSH may have characters that a tag cannot have: 1.2+dev.3.
        let tag: String =
            tag.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' }).collect();
        format!("{}/{}:{tag}", registry.trim_end_matches('/'), self.name.to_lowercase())
    }
}

/// The image of each release that needs one: the given one, or that of the manifest, or `<registry>/<release>:<version>`.
///
/// # Errors
/// The releases without an image.
pub fn release_images(
    releases: &[ReleaseRef],
    given: &BTreeMap<String, String>,
    registry: Option<&str>,
) -> Result<BTreeMap<String, String>, Vec<String>> {
    let image = |release: &ReleaseRef| {
        let given = given.get(&release.name).cloned();
        given.or_else(|| release.image_of_manifest()).or_else(|| registry.map(|registry| release.image_in(registry)))
    };
    let (found, missing): (Vec<_>, Vec<_>) = releases
        .iter()
        .filter(|release| release.is_needed)
        .map(|release| (release.name.clone(), image(release)))
        .partition(|(_, image)| image.is_some());
    if missing.is_empty() {
        Ok(crate::map(found.into_iter().filter_map(|(name, image)| Some((name, image?)))))
    } else {
        Err(missing.into_iter().map(|(name, _)| name).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(name: &str, url: Option<&str>) -> ReleaseRef {
        let stemcell = Some(("opensuse-42.3".to_owned(), "36.g03b4653".to_owned()));
        ReleaseRef {
            name: name.to_owned(),
            version: "62".to_owned(),
            url: url.map(str::to_owned),
            stemcell,
            is_needed: true,
        }
    }

    #[test]
    fn a_given_image_comes_first_then_the_manifests_then_the_registrys() {
        let releases = [
            release("nats", Some("ghcr.io/releases/")),
            release("uaa", Some("https://bosh.io/d/uaa?v=62")),
            release("capi", None),
        ];
        let given = BTreeMap::from([("capi".to_owned(), "r/capi@sha256:abc".to_owned())]);
        let images = release_images(&releases, &given, Some("localhost:5000/x/")).unwrap();
        let images: Vec<&str> = images.values().map(String::as_str).collect();
        assert_eq!(
            images,
            ["r/capi@sha256:abc", "ghcr.io/releases/nats:opensuse-42.3-36.g03b4653-62", "localhost:5000/x/uaa:62"]
        );
    }

    #[test]
    fn all_releases_without_an_image_are_reported() {
        let releases = [release("a", None), release("b", Some("x.io")), release("c", Some("file:///c.tgz"))];
        assert_eq!(release_images(&releases, &BTreeMap::new(), None), Err(vec!["a".to_owned(), "c".to_owned()]));
    }

    #[test]
    fn a_version_becomes_a_valid_tag() {
        let mut release = release("nats", None);
        release.version = "62+dev.1".to_owned();
        assert_eq!(release.image_in("r"), "r/nats:62-dev.1");
        release.version.clear();
        assert_eq!(release.image_in("r"), "r/nats:latest");
    }
}
