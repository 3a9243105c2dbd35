//! RSA keys, and their forms.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use getrandom::SysRng;
use md5::{Digest, Md5};
use pem::{EncodeConfig, LineEnding, Pem};
use rsa::PrivateKey;
use rsa::pkcs1::EncodeRsaPrivateKey;
use rsa::pkcs8::EncodePublicKey;
use rsa::traits::PublicKeyParts;

/// A new key of so many bits.
///
/// # Errors
/// A system without random numbers.
pub(crate) fn generate(bits: u32) -> Result<PrivateKey, String> {
    PrivateKey::new(&mut SysRng, bits as usize).map_err(|e| e.to_string())
}

/// A block of PEM, with line feeds.
pub(crate) fn block(tag: &str, content: Vec<u8>) -> String {
    pem::encode_config(&Pem::new(tag, content), EncodeConfig::new().set_line_ending(LineEnding::LF))
}

/// The key in the form of PKCS#1, PEM.
pub(crate) fn private(key: &PrivateKey) -> Result<String, String> {
    let document = key.to_pkcs1_der().map_err(|e| e.to_string())?;
    Ok(block("RSA PRIVATE KEY", document.as_bytes().to_vec()))
}

/// Its public key, PEM.
pub(crate) fn public(key: &PrivateKey) -> Result<String, String> {
    let document = key.to_public_key().to_public_key_der().map_err(|e| e.to_string())?;
    Ok(block("PUBLIC KEY", document.into_vec()))
}

/// Its public key as a line of `authorized_keys`, and the MD5 fingerprint of it.
pub(crate) fn ssh(key: &PrivateKey, comment: Option<&str>) -> (String, String) {
    let parts = [b"ssh-rsa".to_vec(), integer(&key.e_bytes()), integer(&key.n_bytes())];
    let mut blob = Vec::new();
    for part in parts {
        blob.extend((part.len() as u32).to_be_bytes());
        blob.extend(part);
    }
    let comment = comment.map(|comment| format!(" {comment}")).unwrap_or_default();
    let line = format!("ssh-rsa {}{comment}\n", STANDARD.encode(&blob));
    let digits: Vec<String> = Md5::digest(&blob).iter().map(|byte| format!("{byte:02x}")).collect();
    (line, digits.join(":"))
}

/// An integer of SSH, which would be negative if its first bit were set.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let sign = bytes.first().filter(|byte| **byte > 127).map(|_| 0);
    sign.into_iter().chain(bytes.iter().copied()).collect()
}
