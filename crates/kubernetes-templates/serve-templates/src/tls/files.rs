//! A certificate and a key in files, as a mounted Secret has them.

use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::provider;

/// The files `tls.crt` and `tls.key` of a directory.
pub(crate) struct Files {
    directory: PathBuf,
    /// What they had when they were last read.
    content: (Vec<u8>, Vec<u8>),
}

impl Files {
    /// The certificate of the files.
    ///
    /// # Errors
    /// If a file cannot be read, is no certificate or no key, or the two do not belong together.
    pub(crate) fn open(directory: &Path) -> Result<(Files, CertifiedKey)> {
        let mut files = Files { directory: directory.to_owned(), content: Default::default() };
        files.content = files.read()?;
        let key = files.key(&files.content)?;
        Ok((files, key))
    }

    /// The certificate, if a file has changed and both belong together.
    ///
    /// # Errors
    /// As [`Files::open`]; once for each change.
    pub(crate) fn changed(&mut self) -> Result<Option<CertifiedKey>> {
        let content = self.read()?;
        if content == self.content {
            return Ok(None);
        }
        self.content = content;
        self.key(&self.content).map(Some)
    }

    fn read(&self) -> Result<(Vec<u8>, Vec<u8>)> {
        let read = |name: &str| {
            let path = self.directory.join(name);
            std::fs::read(&path).io("read", &path)
        };
        Ok((read("tls.crt")?, read("tls.key")?))
    }

    fn key(&self, (certificates, key): &(Vec<u8>, Vec<u8>)) -> Result<CertifiedKey> {
        let wrong = |name: &str, why: String| Problem::input(format!("{}: {why}", self.directory.join(name).display()));
        let chain: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.map_err(|e| wrong("tls.crt", format!("is not a certificate in PEM: {e}")))?;
        if chain.is_empty() {
            return Err(wrong("tls.crt", "has no certificate in PEM".to_owned()).into());
        }
        // The error of the parser does not contain the key.
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| wrong("tls.key", "has no key in PEM".to_owned()))?;
        let made = CertifiedKey::from_der(chain, key, &provider());
        Ok(made.map_err(|e| wrong("tls.key", format!("does not belong to tls.crt, or cannot be used: {e}")))?)
    }
}

#[cfg(test)]
mod tests {
    use rcgen::KeyPair;

    use super::*;

    fn write(directory: &Path, name: &str, text: &str) {
        std::fs::write(directory.join(name), text).unwrap();
    }

    #[test]
    fn changed_files_are_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        assert!(Files::open(directory).is_err());
        let pair = |name: &str| {
            let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
            (made.cert.pem(), made.signing_key.serialize_pem())
        };
        let (certificate, key) = pair("a");
        write(directory, "tls.crt", &certificate);
        write(directory, "tls.key", &key);
        let (mut files, _) = Files::open(directory).unwrap();
        assert!(files.changed().unwrap().is_none());
        // Only one of the two has changed so far: reported once.
        let (certificate, key) = pair("b");
        write(directory, "tls.crt", &certificate);
        assert!(files.changed().is_err());
        assert!(files.changed().unwrap().is_none());
        write(directory, "tls.key", &key);
        let shown = files.changed().unwrap().unwrap();
        assert!(shown.cert.len() == 1);
        for (name, text) in [
            ("tls.crt", ""),
            ("tls.crt", "x"),
            ("tls.key", "x"),
            ("tls.key", &KeyPair::generate().unwrap().serialize_pem()),
        ] {
            write(directory, name, text);
            let error = files.changed().unwrap_err();
            assert_eq!(error.exit_code(), 65, "{error}");
            write(directory, "tls.crt", &certificate);
            write(directory, "tls.key", &key);
            assert!(files.changed().unwrap().is_some());
        }
    }
}
