//! The API server as a client: it authenticates users, and sends their names in headers. The headers count only beside a client
//! certificate that the authority of the ConfigMap `extension-apiserver-authentication` has issued, for one of its names.

use std::sync::Arc;

use axum::http::HeaderMap;
use cluster::{Cluster, Method, Object};
use percent_encoding::percent_decode_str;
use problem::{Problem, Result, code};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::User;
use crate::connections::Peer;
use crate::tls::{parts, provider};

const PATH: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// How the API server identifies itself, and where it puts the user.
#[derive(Debug, Clone)]
pub(crate) struct FrontProxy {
    verifier: Arc<dyn ClientCertVerifier>,
    /// The common names of its certificate; any, if there is none.
    names: Vec<String>,
    user: Vec<String>,
    uid: Vec<String>,
    group: Vec<String>,
    extra: Vec<String>,
}

impl FrontProxy {
    /// What the ConfigMap says at the moment.
    ///
    /// # Errors
    /// If it cannot be read, or the API server has no aggregation layer.
    pub(crate) fn read(cluster: &Cluster) -> Result<FrontProxy> {
        let found = cluster.call(&Method::GET, PATH, None)?;
        let found = found.map_err(|refused| {
            let problem = refused.problem("read the ConfigMap kube-system/extension-apiserver-authentication");
            problem.hint("the role extension-apiserver-authentication-reader of kube-system permits it")
        })?;
        FrontProxy::of(&found)
    }

    fn of(config: &Object) -> Result<FrontProxy> {
        let wrong = |key: &str, why: &str| {
            let message = format!("{key} of the ConfigMap kube-system/extension-apiserver-authentication {why}");
            Problem::internal(message).code(code::CLUSTER_REFUSED)
        };
        let texts = |key: &str| -> Result<Vec<String>> {
            match config["data"][key].as_str() {
                None | Some("") => Ok(Vec::new()),
                Some(text) => Ok(serde_json::from_str(text).map_err(|_| wrong(key, "is not a list of strings"))?),
            }
        };
        let key = "requestheader-client-ca-file";
        let Some(bundle) = config["data"][key].as_str().filter(|bundle| !bundle.is_empty()) else {
            let problem = wrong(key, "is missing: the API server has no aggregation layer");
            return Err(problem.hint("its flag --requestheader-client-ca-file sets it up").into());
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            let added = certificate.ok().and_then(|certificate| roots.add(certificate).ok());
            added.ok_or_else(|| wrong(key, "cannot be read"))?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build();
        let user = texts("requestheader-username-headers")?;
        if user.is_empty() {
            return Err(wrong("requestheader-username-headers", "names no header").into());
        }
        Ok(FrontProxy {
            verifier: verifier.map_err(|_| wrong(key, "has no certificate"))?,
            names: texts("requestheader-allowed-names")?,
            user,
            uid: texts("requestheader-uid-headers")?,
            group: texts("requestheader-group-headers")?,
            extra: texts("requestheader-extra-headers-prefix")?,
        })
    }

    /// The user of a request, if the API server has sent it.
    pub(crate) fn user(&self, peer: &Peer, headers: &HeaderMap, now: UnixTime) -> Option<User> {
        let (own, others) = peer.0.split_first()?;
        self.verifier.verify_client_cert(own, others, now).ok()?;
        let name = parts(own)?.common_name;
        if !self.names.is_empty() && !self.names.contains(&name) {
            return None;
        }
        // A value that is not text identifies no user.
        let texts = |name: &str| -> Option<Vec<String>> {
            let values = headers.get_all(name).iter();
            values.map(|value| Some(std::str::from_utf8(value.as_bytes()).ok()?.to_owned())).collect()
        };
        let first = |names: &[String]| -> Option<String> {
            names.iter().find_map(|name| texts(name)?.into_iter().next().filter(|value| !value.is_empty()))
        };
        let mut user = User { name: first(&self.user)?, uid: first(&self.uid).unwrap_or_default(), ..User::default() };
        for group in &self.group {
            user.groups.extend(texts(group)?);
        }
        for header in headers.keys() {
            let prefix =
                self.extra.iter().find_map(|prefix| header.as_str().strip_prefix(&prefix.to_ascii_lowercase()));
            if let Some(key) = prefix {
                let key = percent_decode_str(key).decode_utf8().ok()?.into_owned();
                user.extra.entry(key).or_default().extend(texts(header.as_str())?);
            }
        }
        Some(user)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
    use serde_json::json;

    use super::*;

    struct Authority(Issuer<'static, KeyPair>, String);

    fn authority(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Authority(Issuer::new(params, key), pem)
    }

    fn peer(authority: &Authority, name: &str, usage: ExtendedKeyUsagePurpose) -> Peer {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&KeyPair::generate().unwrap(), &authority.0).unwrap();
        Peer(Arc::from([certificate.der().clone()]))
    }

    fn config(authority: &Authority, names: &str) -> Object {
        json!({"data": {
            "requestheader-client-ca-file": authority.1, "requestheader-allowed-names": names,
            "requestheader-username-headers": "[\"X-Remote-User\"]", "requestheader-group-headers": "[\"X-Remote-Group\"]",
            "requestheader-uid-headers": "[\"X-Remote-Uid\"]", "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
        }})
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_the_front_proxy_names_users() {
        let (own, other) = (authority("front proxy"), authority("front proxy"));
        let sent = headers(&[
            ("x-remote-user", "alice"),
            ("x-remote-uid", "7"),
            ("x-remote-group", "a"),
            ("x-remote-group", "b"),
            ("x-remote-extra-example.com%2fscope", "one"),
            ("x-remote-extra-example.com%2fscope", "two"),
        ]);
        let client = || ExtendedKeyUsagePurpose::ClientAuth;
        let proxy = FrontProxy::of(&config(&own, "[\"front-proxy-client\"]")).unwrap();
        let user = |peer: &Peer| proxy.user(peer, &sent, UnixTime::now());
        let expected = User {
            name: "alice".into(),
            uid: "7".into(),
            groups: vec!["a".into(), "b".into()],
            extra: [("example.com/scope".to_owned(), vec!["one".to_owned(), "two".to_owned()])].into(),
        };
        assert_eq!(user(&peer(&own, "front-proxy-client", client())), Some(expected));
        for refused in [
            Peer::default(),
            peer(&own, "somebody", client()),
            peer(&other, "front-proxy-client", client()),
            peer(&own, "front-proxy-client", ExtendedKeyUsagePurpose::ServerAuth),
            Peer(Arc::from([CertificateDer::from(vec![0x30, 0])])),
        ] {
            assert_eq!(user(&refused), None, "{refused:?}");
        }
        let late = UnixTime::since_unix_epoch(std::time::Duration::from_secs(80_000_000_000));
        assert_eq!(proxy.user(&peer(&own, "front-proxy-client", client()), &sent, late), None);
        // Without names, every certificate of the authority counts.
        let any = FrontProxy::of(&config(&own, "[]")).unwrap();
        let somebody = peer(&own, "somebody", client());
        assert_eq!(any.user(&somebody, &sent, UnixTime::now()).unwrap().name, "alice");
        assert_eq!(any.user(&somebody, &headers(&[("x-remote-group", "a")]), UnixTime::now()), None);
        assert_eq!(any.user(&somebody, &headers(&[("x-remote-user", "")]), UnixTime::now()), None);
    }

    #[test]
    fn what_the_config_map_lacks_is_an_error() {
        let own = authority("x");
        let good = config(&own, "[]");
        for (key, value) in [
            ("requestheader-client-ca-file", json!(null)),
            ("requestheader-client-ca-file", json!("x")),
            ("requestheader-client-ca-file", json!("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n")),
            ("requestheader-allowed-names", json!("x")),
            ("requestheader-username-headers", json!("[]")),
        ] {
            let mut config = good.clone();
            config["data"][key] = value;
            let problems = FrontProxy::of(&config).unwrap_err().to_string();
            assert!(problems.contains(key), "{problems}");
        }
    }
}
