//! A certificate by an authority of the server's own: the authority is in a Secret, so that all replicas have the same, and the API server
//! knows it from the APIService.

use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cluster::{Cluster, Method, Object, encoded};
use problem::{Problem, Result, code};
use rustls::sign::CertifiedKey;
use serde_json::json;

use super::authority::Authority;

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
/// The authority before: certificates that it issued are in use until each replica has another one.
const PREVIOUS: &str = "previous.crt";
/// Replicas may make an authority at the same time; one of them wins.
const ATTEMPTS: usize = 5;

/// Where the API server finds this server.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The Service, in the namespace of the cluster's client.
    pub(crate) service: String,
    /// The group of the API, whose version is v1.
    pub(crate) group: String,
}

/// The authority, and when the certificate that it issued is due.
pub(crate) struct Own {
    cluster: Arc<Cluster>,
    place: Place,
    /// The certificate of the authority that issued the one in use.
    issuer: String,
    renewed_at: SystemTime,
    /// What was last reported about the APIService.
    reported: String,
}

impl Own {
    /// The first certificate. An authority is made if there is none.
    ///
    /// # Errors
    /// If the Secret cannot be read or written.
    pub(crate) fn open(cluster: Arc<Cluster>, place: Place) -> Result<(Own, CertifiedKey)> {
        let (issuer, reported) = (String::new(), String::new());
        let mut own = Own { cluster, place, issuer, renewed_at: SystemTime::UNIX_EPOCH, reported };
        let key = own.renewed()?;
        let key = key.ok_or_else(|| Problem::internal("no certificate was issued"))?;
        Ok((own, key))
    }

    /// Another certificate, if it is due, or there is another authority. Sets the authority in the APIService.
    ///
    /// # Errors
    /// If the Secret cannot be read or written.
    pub(crate) fn renewed(&mut self) -> Result<Option<CertifiedKey>> {
        let now = SystemTime::now();
        let (authority, bundle) = self.authority(now)?;
        let is_known = match self.publish(&bundle) {
            Ok(()) => {
                self.reported.clear();
                true
            }
            Err(problems) => {
                let text = problems.to_string();
                if text != self.reported {
                    tracing::warn!("{text}");
                    self.reported = text;
                }
                false
            }
        };
        let is_other = authority.certificate != self.issuer;
        // The API server has to know an authority before its certificates are shown; the first one is better than none.
        let is_due = self.issuer.is_empty() || (is_other && is_known) || (!is_other && now >= self.renewed_at);
        if !is_due {
            return Ok(None);
        }
        let issued = authority.issue(&self.names(), now)?;
        self.issuer = authority.certificate;
        self.renewed_at = issued.renewed_at;
        Ok(Some(issued.key))
    }

    /// The names by which the server is reached; the API server uses the one with `svc`.
    fn names(&self) -> [String; 3] {
        let (service, namespace) = (&self.place.service, self.cluster.namespace());
        [format!("{service}.{namespace}.svc"), format!("{service}.{namespace}"), service.clone()]
    }

    /// The authority of all replicas, and the certificates that are to be trusted: its own and that of the one before.
    fn authority(&self, now: SystemTime) -> Result<(Authority, String)> {
        let collection = format!("/api/v1/namespaces/{}/secrets", self.cluster.namespace());
        let name = format!("{}-authority", self.place.service);
        let path = format!("{collection}/{}", encoded(&name));
        for _ in 0..ATTEMPTS {
            let found = match self.cluster.call(&Method::GET, &path, None)? {
                Ok(secret) => Some(secret),
                Err(refused) if refused.code == 404 => None,
                Err(refused) => return Err(refused.problem(&format!("read the Secret {name}")).into()),
            };
            let present = found.as_ref().and_then(content);
            if let Some((authority, previous)) = &present
                && authority.renewed_at().is_ok_and(|time| now < time)
            {
                return Ok((authority.clone(), format!("{}{previous}", authority.certificate)));
            }
            let new = Authority::new(&self.place.service, now)?;
            let previous = present.map(|(authority, _)| authority.certificate).unwrap_or_default();
            let secret = secret(&name, &new, &previous, found.as_ref());
            let written = match found {
                None => self.cluster.call(&Method::POST, &collection, Some(&secret))?,
                Some(_) => self.cluster.call(&Method::PUT, &path, Some(&secret))?,
            };
            match written {
                Ok(_) => tracing::info!("a new authority of certificates is in the Secret {name}"),
                // Another replica was faster, or the Secret was deleted: what there is now counts.
                Err(refused) if matches!(refused.code, 404 | 409) => {}
                Err(refused) => return Err(refused.problem(&format!("write the Secret {name}")).into()),
            }
        }
        let message = format!("the Secret {name} is changed again and again");
        Err(Problem::internal(message).code(code::CLUSTER_CONFLICT).into())
    }

    /// Sets the certificates in the APIService, if it is the one of this server.
    fn publish(&self, bundle: &str) -> Result<()> {
        let name = format!("v1.{}", self.place.group);
        let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/{name}");
        let doing = |verb: &str| format!("{verb} the APIService {name}");
        let found = self.cluster.call(&Method::GET, &path, None)?.map_err(|refused| refused.problem(&doing("read")))?;
        let spec = &found["spec"];
        let (service, namespace) = (&spec["service"]["name"], &spec["service"]["namespace"]);
        if *service != self.place.service.as_str() || *namespace != self.cluster.namespace() {
            let own = format!("{}/{}", self.cluster.namespace(), self.place.service);
            let problem = Problem::internal(format!("the APIService {name} does not name the Service {own}"));
            let hint =
                "--service names the Service of this server; with --group, several servers have groups of their own";
            return Err(problem.code(code::CLUSTER_CONFLICT).hint(hint).into());
        }
        let bundle = BASE64_STANDARD.encode(bundle);
        if spec["caBundle"] == bundle.as_str() || spec["insecureSkipTLSVerify"] == true {
            return Ok(());
        }
        // Only if it still is this server's.
        let version = &found["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"caBundle": bundle}});
        match self.cluster.call(&Method::PATCH, &path, Some(&patch))? {
            Ok(_) => Ok(()),
            Err(refused) => Err(refused.problem(&doing("change")).into()),
        }
    }
}

/// The authority of a Secret, and the certificate of the one before.
fn content(secret: &Object) -> Option<(Authority, String)> {
    let text = |key: &str| String::from_utf8(BASE64_STANDARD.decode(secret["data"][key].as_str()?).ok()?).ok();
    let authority = Authority { certificate: text(CERTIFICATE)?, key: text(KEY)? };
    Some((authority, text(PREVIOUS).unwrap_or_default()))
}

fn secret(name: &str, authority: &Authority, previous: &str, before: Option<&Object>) -> Object {
    let data = |text: &str| BASE64_STANDARD.encode(text);
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "boson"}},
        "data": {CERTIFICATE: data(&authority.certificate), KEY: data(&authority.key), PREVIOUS: data(previous)},
    });
    if let Some(before) = before {
        secret["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
        // The type of a Secret cannot change.
        secret["type"] = before["type"].clone();
    }
    secret
}
