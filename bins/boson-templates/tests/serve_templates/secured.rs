//! Who may do what, and the certificates of servers.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::{Value, json};
use testkit::api_server::failure;
use testkit::waiting::eventually;

use crate::cluster::{Authority, Cluster, NAME, SERVICE, Secured};
use e2e::tls_client::{Client, answer};

const BASE: &str = "/apis/template.openshift.io/v1/namespaces/shop";

fn reason(answer: &(u16, String)) -> (u16, String) {
    let status: Value = serde_json::from_str(&answer.1).unwrap_or_else(|e| panic!("{e}: {}", answer.1));
    assert_eq!((&status["kind"], &status["code"]), (&json!("Status"), &json!(answer.0)));
    (answer.0, status["reason"].as_str().unwrap().to_owned())
}

#[test]
fn nobody_is_trusted_without_the_certificate_of_the_front_proxy() {
    let cluster = Cluster::new();
    let server = cluster.serve(&["--store", "memory"]);
    let all = format!("{BASE}/templates");
    let (forged, token) = (["X-Remote-User: alice", "X-Remote-Group: system:masters"], "Authorization: Bearer alice");
    let with = |own: Option<(&str, &str)>, headers: &[&str]| {
        Client::new(&cluster.bundle().unwrap(), NAME, own).get(&server.address, &all, headers)
    };
    let other = Authority::new();
    let (stranger, wrong_name) = (other.client("front-proxy-client"), cluster.proxy.client("somebody"));
    let own = rcgen::generate_simple_self_signed(vec![]).unwrap();
    let own = (own.cert.pem(), own.signing_key.serialize_pem());
    for certificate in [None, Some(&stranger), Some(&wrong_name), Some(&own)] {
        let certificate = certificate.map(|(certificate, key)| (certificate.as_str(), key.as_str()));
        assert_eq!(reason(&with(certificate, &forged)), (401, "Unauthorized".into()), "{certificate:?}");
        assert_eq!(with(certificate, &[token]).0, 200);
        // The token counts, not the headers.
        let both = with(certificate, &[forged[0], forged[1], "Authorization: Bearer bob"]);
        assert_eq!(reason(&both), (403, "Forbidden".into()));
        assert!(both.1.contains(r#"User \"bob\" cannot list resource \"templates\""#), "{}", both.1);
    }
    assert_eq!(
        cluster.questions.lock().unwrap()[0],
        json!({
            "user": "alice", "uid": "7", "groups": ["staff"], "extra": {"scopes": ["all"]},
            "resourceAttributes": {"verb": "list", "group": "template.openshift.io", "version": "v1", "resource": "templates", "subresource": "", "namespace": "shop", "name": ""},
        })
    );
    for headers in
        [&["Authorization: Bearer x"][..], &["Authorization: Basic YWxpY2U6"], &[token, "Authorization: Bearer bob"]]
    {
        assert_eq!(reason(&with(None, headers)), (401, "Unauthorized".into()), "{headers:?}");
    }
    assert_eq!(reason(&with(None, &[token, "Impersonate-User: bob"])), (403, "Forbidden".into()));
    // The front proxy names the user; a new authority of its certificate counts soon, and the old one no longer.
    let proxy = cluster.front_proxy();
    let extra = "X-Remote-Extra-Example.com%2Fscope: one";
    assert_eq!(proxy.get(&server.address, &all, &[forged[0], forged[1], extra]).0, 200);
    let asked = cluster.questions.lock().unwrap().last().unwrap().clone();
    assert_eq!(
        (&asked["groups"], &asked["extra"]),
        (&json!(["system:masters"]), &json!({"example.com/scope": ["one"]}))
    );
    assert_eq!(reason(&proxy.get(&server.address, &all, &[])), (401, "Unauthorized".into()));
    cluster.trust(&other);
    let is_replaced = || with(Some((&stranger.0, &stranger.1)), &forged).0 == 200;
    eventually("the new authority counts", is_replaced);
    assert_eq!(proxy.get(&server.address, &all, &forged).0, 401);
}

#[test]
fn every_request_is_about_what_its_path_says() {
    let cluster = Cluster::new();
    let server = cluster.serve(&["--store", "memory"]);
    let proxy = cluster.front_proxy();
    let send = |line: &str, body: &str| {
        let headers = ["X-Remote-User: bob", "Content-Type: application/json"];
        answer(proxy.send(&server.address, line, &headers, body).unwrap())
    };
    let base = "/apis/template.openshift.io/v1";
    let (of, one) = (format!("{BASE}/templates"), format!("{BASE}/templates/web"));
    for (line, expected) in [
        (format!("GET {base}/templates"), ["list", "templates", "", "", ""]),
        (format!("GET {base}/templates?watch=true"), ["watch", "templates", "", "", ""]),
        (format!("GET {of}"), ["list", "templates", "", "shop", ""]),
        (format!("GET {of}?fieldSelector=metadata.name%3Dweb&watch=1"), ["watch", "templates", "", "shop", "web"]),
        (format!("POST {of}"), ["create", "templates", "", "shop", ""]),
        (format!("DELETE {of}"), ["deletecollection", "templates", "", "shop", ""]),
        (format!("GET {one}"), ["get", "templates", "", "shop", "web"]),
        (format!("HEAD {one}"), ["get", "templates", "", "shop", "web"]),
        (format!("GET {of}/w%65b"), ["get", "templates", "", "shop", "web"]),
        (format!("PUT {one}"), ["update", "templates", "", "shop", "web"]),
        (format!("PATCH {one}"), ["patch", "templates", "", "shop", "web"]),
        (format!("DELETE {one}"), ["delete", "templates", "", "shop", "web"]),
        (format!("POST {one}/processed"), ["create", "templates", "processed", "shop", "web"]),
        (format!("POST {BASE}/processedtemplates"), ["create", "processedtemplates", "", "shop", ""]),
        (format!("POST {BASE}/processedtemplates?as=list"), ["create", "processedtemplates", "", "shop", ""]),
    ] {
        let (status, body) = send(&line, "{}");
        assert_eq!(status, 403, "{line}: {body}");
        let asked = cluster.questions.lock().unwrap().last().unwrap()["resourceAttributes"].clone();
        let found =
            ["verb", "resource", "subresource", "namespace", "name"].map(|key| asked[key].as_str().unwrap().to_owned());
        assert_eq!(found, expected, "{line}");
    }
    let count = cluster.questions.lock().unwrap().len();
    // What is the same for all is open; there is nothing else.
    let group = "/apis/template.openshift.io";
    for path in [
        "/healthz",
        "/livez",
        "/readyz",
        "/version",
        "/api",
        "/apis",
        "/openapi/v2",
        "/openapi/v3",
        group,
        base,
        &format!("/openapi/v3{base}"),
    ] {
        assert_eq!(cluster.anybody().get(&server.address, path, &[]).0, 200, "{path}");
    }
    for path in [
        "/apis/other",
        "/",
        "/metrics",
        &format!("{base}/pods"),
        &format!("{one}/status"),
        &format!("{base}/namespaces/shop"),
    ] {
        assert_eq!(cluster.anybody().get(&server.address, path, &[]).0, 401, "{path}");
        assert_eq!(send(&format!("GET {path}"), "").0, 404, "{path}");
    }
    assert_eq!(send(&format!("GET {of}/%ff"), "").0, 400);
    assert_eq!(cluster.questions.lock().unwrap().len(), count);
    // Names that no object has reach no store, whoever asks.
    let alice = |line: &str| answer(proxy.send(&server.address, line, &["X-Remote-User: alice"], "").unwrap()).0;
    for name in ["a%2Fb", "..%2F..%2Fother", "A", "%22", "a%0Ab"] {
        assert_eq!(alice(&format!("GET {of}/{name}")), 404, "{name}");
        assert_eq!(alice(&format!("DELETE {of}/{name}")), 404, "{name}");
    }
}

#[test]
fn replicas_share_an_authority_that_the_api_server_knows() {
    let cluster = Cluster::new();
    let (one, other) = (cluster.serve(&["--store", "memory"]), cluster.serve(&["--store", "memory"]));
    let first = cluster.bundle().unwrap();
    let is_served = |bundle: &str, server: &Secured| {
        let sent = Client::new(bundle, NAME, None).send(&server.address, "GET /readyz", &[], "");
        sent.is_ok_and(|stream| answer(stream).0 == 200)
    };
    assert!(is_served(&first, &one) && is_served(&first, &other));
    let restarted = cluster.serve(&["--store", "memory"]);
    assert!(is_served(&first, &restarted) && cluster.bundle().unwrap() == first);
    drop(restarted);
    // Lost: another one is made, set, and used by all.
    cluster.forget_authority();
    eventually("another authority is known", || cluster.bundle().unwrap() != first);
    let second = cluster.bundle().unwrap();
    eventually("both have certificates of it", || is_served(&second, &one) && is_served(&second, &other));
    // The APIService of another server stays as it is.
    cluster.put(SERVICE, json!({"spec": {"service": {"namespace": "openshift-apiserver", "name": "api"}}}));
    let third = cluster.serve(&["--store", "memory"]);
    assert!(is_served(&second, &third) && cluster.bundle().is_none());
}

#[test]
fn an_authority_is_renewed_before_it_ends() {
    let cluster = Cluster::new();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let month = Duration::from_secs(30 * 24 * 3_600);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    params.not_after = rcgen::date_time_ymd(1970, 1, 1) + now + month;
    let old = params.self_signed(&key).unwrap().pem();
    let encoded = |text: &str| BASE64_STANDARD.encode(text);
    let secret = json!({"metadata": {"name": "templates-api-authority"}, "type": "kubernetes.io/tls", "data": {"tls.crt": encoded(&old), "tls.key": encoded(&key.serialize_pem())}});
    cluster.api.store().put("secrets/templates-api-authority", secret);
    let server = cluster.serve(&["--store", "memory"]);
    // Both are trusted: another replica may still have a certificate of the old one.
    let bundle = cluster.bundle().unwrap();
    assert!(bundle.contains(&old) && bundle.matches("BEGIN CERTIFICATE").count() == 2, "{bundle}");
    let is_served =
        |bundle: &str| Client::new(bundle, NAME, None).send(&server.address, "GET /readyz", &[], "").is_ok();
    assert!(is_served(&bundle.replace(&old, "")) && !is_served(&old));
}

#[test]
fn a_mounted_certificate_is_read_again() {
    let cluster = Cluster::new();
    let directory = cluster.path("tls");
    std::fs::create_dir(&directory).unwrap();
    let renew = || {
        let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()]).unwrap();
        std::fs::write(directory.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
        std::fs::write(directory.join("tls.crt"), made.cert.pem()).unwrap();
        made.cert.pem()
    };
    let first = renew();
    let server = cluster.serve(&["--store", "memory", "--tls-dir", directory.to_str().unwrap()]);
    let is_served = |certificate: &str| {
        let sent = Client::new(certificate, NAME, None).send(&server.address, "GET /readyz", &[], "");
        sent.is_ok_and(|stream| answer(stream).0 == 200)
    };
    assert!(is_served(&first));
    // Nothing is set in the APIService: whoever mounts a certificate does that.
    assert!(cluster.bundle().is_none());
    let second = renew();
    eventually("the new certificate is shown", || is_served(&second));
    assert!(!is_served(&first));
}

#[test]
fn a_server_that_cannot_check_anybody_does_not_start() {
    let run = |cluster: &Cluster, arguments: &[&str]| {
        let output = cluster.command(arguments).output().unwrap();
        assert!(output.stdout.is_empty());
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let cluster = Cluster::new();
    cluster.put("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", json!({"data": {}}));
    let (code, error) = run(&cluster, &[]);
    assert!(code == 70 && error.contains("the API server has no aggregation layer"), "{error}");
    let cluster = Cluster::new();
    std::fs::create_dir(cluster.path("tls")).unwrap();
    for (name, expected) in [("none", 70), ("tls", 65)] {
        std::fs::write(cluster.path("tls/tls.crt"), "x").unwrap();
        std::fs::write(cluster.path("tls/tls.key"), "hunter2").unwrap();
        let (code, error) = run(&cluster, &["--tls-dir", cluster.path(name).to_str().unwrap()]);
        assert!(code == expected && error.contains("tls.crt") && !error.contains("hunter2"), "{error}");
    }
    cluster.api.set_hook(Box::new(|request, _| {
        request.path.ends_with("/secrets").then(|| failure(403, "Forbidden", "secrets is forbidden"))
    }));
    let (code, error) = run(&cluster, &[]);
    assert!(code == 70 && error.contains("secrets is forbidden"), "{error}");
}
