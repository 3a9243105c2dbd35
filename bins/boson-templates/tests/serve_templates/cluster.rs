//! A server with TLS and authentication, and the API server that it asks.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use testkit::api_server::{ApiServer, Request};

use e2e::tls_client::Client;

/// The names by which the API server finds the servers.
pub(crate) const NAME: &str = "templates-api.test.svc";
pub(crate) const SERVICE: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1.template.openshift.io";
const CONFIG_MAP: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
const AUTHORITY: &str = "/api/v1/namespaces/test/secrets/templates-api-authority";

/// An authority of client certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) certificate: String,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "front proxy");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), certificate }
    }

    /// A certificate and its key.
    pub(crate) fn client(&self, name: &str) -> (String, String) {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// A cluster with the users `alice` (who may do everything in the namespace `shop`) and `bob` (nothing), who have tokens of their names.
pub(crate) struct Cluster {
    pub(crate) api: ApiServer,
    pub(crate) proxy: Authority,
    directory: tempfile::TempDir,
    /// The questions about access.
    pub(crate) questions: Arc<Mutex<Vec<Value>>>,
}

impl Cluster {
    pub(crate) fn new() -> Cluster {
        let (api, proxy) = (ApiServer::start(), Authority::new());
        let questions: Arc<Mutex<Vec<Value>>> = Arc::default();
        let asked = questions.clone();
        api.set_hook(Box::new(move |request, store| match request.path.as_str() {
            "/apis/authentication.k8s.io/v1/tokenreviews" => Some((201, token_review(request))),
            "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                asked.lock().unwrap().push(request.body["spec"].clone());
                Some((201, access_review(request)))
            }
            SERVICE if request.method == "PATCH" => {
                let mut service = store.objects.get(SERVICE)?.clone();
                service["spec"]["caBundle"] = request.body["spec"]["caBundle"].clone();
                store.objects.insert(SERVICE.to_owned(), service.clone());
                Some((200, service))
            }
            _ => None,
        }));
        let cluster = Cluster { api, proxy, directory: tempfile::tempdir().unwrap(), questions };
        cluster.api.write_kubeconfig(&cluster.path("kubeconfig"));
        cluster.trust(&cluster.proxy);
        cluster.put(SERVICE, json!({"spec": {"service": {"namespace": "test", "name": "templates-api"}}}));
        cluster.put("/api/v1/namespaces/shop", json!({"metadata": {"name": "shop"}}));
        cluster
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn put(&self, path: &str, object: Value) {
        self.api.store().objects.insert(path.to_owned(), object);
    }

    /// Makes an authority the one of the front proxy.
    pub(crate) fn trust(&self, authority: &Authority) {
        self.put(
            CONFIG_MAP,
            json!({"data": {
                "requestheader-client-ca-file": authority.certificate,
                "requestheader-allowed-names": "[\"front-proxy-client\"]",
                "requestheader-username-headers": "[\"X-Remote-User\"]",
                "requestheader-group-headers": "[\"X-Remote-Group\"]",
                "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
            }}),
        );
    }

    /// The certificates that the API server trusts.
    pub(crate) fn bundle(&self) -> Option<String> {
        let store = self.api.store();
        let bundle = store.objects.get(SERVICE)?["spec"]["caBundle"].as_str()?.to_owned();
        Some(String::from_utf8(BASE64_STANDARD.decode(bundle).unwrap()).unwrap())
    }

    /// The API server itself, in the name of a user.
    pub(crate) fn front_proxy(&self) -> Client {
        let (certificate, key) = self.proxy.client("front-proxy-client");
        Client::new(&self.bundle().unwrap(), NAME, Some((&certificate, &key)))
    }

    /// Somebody without a certificate.
    pub(crate) fn anybody(&self) -> Client {
        Client::new(&self.bundle().unwrap(), NAME, None)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-templates"));
        command.args(["serve-templates", "--listen", "127.0.0.1:0", "--kubeconfig"]).arg(self.path("kubeconfig"));
        command.args(arguments);
        command
    }

    pub(crate) fn serve(&self, arguments: &[&str]) -> Secured {
        let mut child = self.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Secured { child, address: line.strip_prefix("listening on https://").unwrap().trim_end().to_owned() }
    }

    /// Forgets the authority of the servers.
    pub(crate) fn forget_authority(&self) {
        self.api.store().remove(AUTHORITY).unwrap();
    }
}

/// A server, until this is dropped.
pub(crate) struct Secured {
    child: Child,
    pub(crate) address: String,
}

impl Drop for Secured {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token_review(request: &Request) -> Value {
    let token = request.body["spec"]["token"].as_str().unwrap_or_default();
    let user = json!({"username": token, "uid": "7", "groups": ["staff"], "extra": {"scopes": ["all"]}});
    match token {
        "alice" | "bob" => json!({"status": {"authenticated": true, "user": user}}),
        _ => json!({"status": {"authenticated": false}}),
    }
}

fn access_review(request: &Request) -> Value {
    let spec = &request.body["spec"];
    let allowed = spec["user"] == "alice" && spec["resourceAttributes"]["namespace"] == "shop";
    json!({"status": {"allowed": allowed}})
}
