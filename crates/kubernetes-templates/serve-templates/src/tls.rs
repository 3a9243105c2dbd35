//! TLS: which certificate the server shows, and what it asks of clients.

mod authority;
mod files;
mod listener;
mod own;
mod x509;

use std::sync::{Arc, PoisonError, RwLock};

use problem::{Problem, Result};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};

pub(crate) use files::Files;
pub(crate) use listener::Listener;
pub(crate) use own::{Own, Place};
pub(crate) use x509::parts;

/// The cryptography of everything here.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The certificate that is shown at the moment.
#[derive(Debug)]
pub(crate) struct Shown(RwLock<Arc<CertifiedKey>>);

impl Shown {
    pub(crate) fn new(key: CertifiedKey) -> Shown {
        Shown(RwLock::new(Arc::new(key)))
    }

    /// Shows another one from the next connection on.
    pub(crate) fn set(&self, key: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// The configuration of the server: any client may connect.
///
/// # Errors
/// None that input causes.
pub(crate) fn config(shown: Arc<Shown>) -> Result<Arc<ServerConfig>> {
    let config = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = config.map_err(|e| Problem::internal("cannot set up TLS").because(e))?;
    let mut config = config.with_client_cert_verifier(Arc::new(AnyClient(provider()))).with_cert_resolver(shown);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Accepts every certificate whose key the client has. Who issued it is checked for each request, by the authority that is trusted
/// then (`access`): a client with another certificate may have a token.
#[derive(Debug)]
struct AnyClient(Arc<CryptoProvider>);

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> std::result::Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
