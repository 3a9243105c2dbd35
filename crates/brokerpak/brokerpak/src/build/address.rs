//! Where an executable or a source comes from.

use std::path::{Path, PathBuf};

use brokerpak_model::manifest::Binary;
use fetch::shown;

use crate::build::checksum::Checksum;

/// A URL or a file, with the parameters that say what is done with it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// Where it is.
    pub(crate) place: Location,
    /// What its content has to be.
    pub(crate) checksum: Option<Checksum>,
    /// Whether it is unpacked.
    pub(crate) is_archive: bool,
    /// The name of the file.
    pub(crate) file_name: String,
}

/// Where something is.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    /// Downloaded from a URL.
    Url(String),
    /// Read from a file.
    File(PathBuf),
}

impl Location {
    /// As messages show it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Location::Url(url) => shown(url),
            Location::File(path) => path.display().to_string(),
        }
    }
}

/// Archives that other tools unpack, and this one does not.
const OTHER_ARCHIVES: [&str; 11] =
    [".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".gz", ".bz2", ".xz", ".tar.zst"];

/// The text of a binary's address for a platform.
pub(crate) fn expand(binary: &Binary, os: &str, arch: &str) -> String {
    let template = match (binary.url_template.as_str(), binary.name.as_str()) {
        ("", "tofu") => {
            "https://github.com/opentofu/opentofu/releases/download/v${version}/tofu_${version}_${os}_${arch}.zip"
        }
        ("", _) => "https://releases.hashicorp.com/${name}/${version}/${name}_${version}_${os}_${arch}.zip",
        (template, _) => template,
    };
    let parameters =
        [("${name}", binary.name.as_str()), ("${version}", &binary.version), ("${os}", os), ("${arch}", arch)];
    // In one pass: a name may contain what looks like a parameter.
    let mut text = String::new();
    let mut rest = template;
    'rest: while let Some(at) = rest.find("${") {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        for (parameter, value) in parameters {
            if let Some(after) = rest.strip_prefix(parameter) {
                text.push_str(value);
                rest = after;
                continue 'rest;
            }
        }
        text.push_str("${");
        rest = &rest[2..];
    }
    text + rest
}

impl Address {
    /// Reads an address; relative paths start at `base`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str, base: &Path) -> Result<Address, String> {
        if text.contains("::") && !text.contains("://[") {
            return Err(format!("{}: only https, http and files are read", shown(text)));
        }
        let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) else {
            let path = base.join(text);
            return Address::new(Location::File(path), text, None, None);
        };
        let (location, query) = rest
            .split('#')
            .next()
            .unwrap_or_default()
            .split_once('?')
            .unwrap_or((rest.split('#').next().unwrap_or_default(), ""));
        let mut kept = Vec::new();
        let (mut checksum, mut archive) = (None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("checksum", value)) => checksum = Some(decoded(value)?),
                Some(("archive", value)) => archive = Some(decoded(value)?),
                _ => kept.push(pair),
            }
        }
        let checksum = checksum.map(|text| Checksum::parse(&text)).transpose()?;
        let place = match scheme.to_ascii_lowercase().as_str() {
            "file" => {
                let path = location.strip_prefix("localhost").unwrap_or(location);
                if !path.starts_with('/') {
                    return Err(format!("{}: the URL of a file begins with file:///", shown(text)));
                }
                Location::File(PathBuf::from(decoded(path)?))
            }
            "http" | "https" => {
                let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
                Location::Url(format!("{scheme}://{location}{query}"))
            }
            _ => return Err(format!("{}: only https, http and files are read", shown(text))),
        };
        let path = location.split_once('/').map_or("", |(_, path)| path);
        Address::new(place, &decoded(path)?, checksum, archive.as_deref())
    }

    fn new(place: Location, path: &str, checksum: Option<Checksum>, archive: Option<&str>) -> Result<Address, String> {
        let file_name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let shown = place.shown();
        if matches!(file_name.as_str(), "" | "." | "..")
            || file_name.contains(['\\', ':'])
            || file_name.contains(char::is_control)
        {
            return Err(format!("{shown}: it does not end with the name of a file"));
        }
        let lower = file_name.to_ascii_lowercase();
        let is_archive = match archive {
            Some("false" | "0" | "") => false,
            Some("zip") => true,
            Some(other) => return Err(format!("{shown}: archives {other} are not unpacked, only zip")),
            None if OTHER_ARCHIVES.iter().any(|extension| lower.ends_with(extension)) => {
                return Err(format!("{shown}: only zip files are unpacked; archive=false packs the file as it is"));
            }
            None => lower.ends_with(".zip"),
        };
        Ok(Address { place, checksum, is_archive, file_name })
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// A part of a URL without percent encoding.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) if byte == b'%' => {
                bytes.push(value);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| "the URL is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(name: &str, url_template: &str) -> Binary {
        Binary {
            name: name.to_owned(),
            version: "1.2.3".to_owned(),
            source: String::new(),
            url_template: url_template.to_owned(),
            provider: None,
            is_default: false,
            place: problem::Place::default(),
            path: String::new(),
        }
    }

    #[test]
    fn templates_have_four_parameters_and_defaults() {
        let expand = |name: &str, template: &str| expand(&binary(name, template), "linux", "amd64");
        assert_eq!(
            expand("tofu", ""),
            "https://github.com/opentofu/opentofu/releases/download/v1.2.3/tofu_1.2.3_linux_amd64.zip"
        );
        assert_eq!(
            expand("terraform", ""),
            "https://releases.hashicorp.com/terraform/1.2.3/terraform_1.2.3_linux_amd64.zip"
        );
        assert_eq!(
            expand("terraform-provider-x", ""),
            "https://releases.hashicorp.com/terraform-provider-x/1.2.3/terraform-provider-x_1.2.3_linux_amd64.zip"
        );
        assert_eq!(expand("x", "a/${name}_${version}_${os}_${arch}_${other}_${"), "a/x_1.2.3_linux_amd64_${other}_${");
        assert_eq!(expand("${os}", "${name}"), "${os}");
    }

    #[test]
    fn addresses_are_urls_or_files() {
        let parse = |text: &str| Address::parse(text, Path::new("/base"));
        let shown = |text: &str| {
            parse(text).map(|address| {
                let place = match address.place {
                    Location::Url(url) => url,
                    Location::File(path) => path.display().to_string(),
                };
                format!("{place} {} {} {}", address.file_name, address.is_archive, address.checksum.is_some())
            })
        };
        let sum = "ab".repeat(32);
        for (text, expected) in [
            ("../build/x.zip", "/base/../build/x.zip x.zip true false".to_owned()),
            ("/abs/x", "/abs/x x false false".to_owned()),
            ("file:///a%20b/x.ZIP", "/a b/x.ZIP x.ZIP true false".to_owned()),
            ("file:///a/x.zip?archive=false", "/a/x.zip x.zip false false".to_owned()),
            ("https://h/p/x_1.zip?token=a%20b#f", "https://h/p/x_1.zip?token=a%20b x_1.zip true false".to_owned()),
            (&format!("HTTP://h/x?checksum=sha256:{sum}&archive=zip&a=b"), "HTTP://h/x?a=b x true true".to_owned()),
            (&format!("http://h/x?checksum={sum}"), "http://h/x x false true".to_owned()),
        ] {
            assert_eq!(shown(text), Ok(expected), "{text}");
        }
        for (text, expected) in [
            ("git::https://h/x", "only https, http and files are read"),
            ("s3://h/x", "only https, http and files are read"),
            ("file://relative/x", "begins with file:///"),
            ("https://h/", "does not end with the name of a file"),
            ("https://h/a/%2e%2e", "does not end with the name of a file"),
            ("dir/", "does not end with the name of a file"),
            ("https://user:canary@h/x.tar.gz?canary", "only zip files are unpacked"),
            ("https://h/x?archive=tgz", "archives tgz are not unpacked"),
            ("https://h/x?checksum=md5:00", "checksum"),
        ] {
            let error = parse(text).map(|_| ()).unwrap_err();
            assert!(error.contains(expected) && !error.contains("canary"), "{text}: {error}");
        }
    }
}
