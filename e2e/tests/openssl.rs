//! The machine's certificates.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;

use e2e::{here, lone_job};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// OpenSSL loads every trusted certificate of the machine when its library is loaded; here they are loaded on demand.
#[test]
fn trusted_certificates_are_read_on_demand() {
    let work = tempfile::tempdir().unwrap();
    let trusted = work.path().join("trusted.pem");
    let digest = ("digest", "<%= OpenSSL::Digest.hexdigest('SHA256', '').size %>");
    // Opening it blocks until a writer opens it.
    mkfifo(&trusted, Mode::S_IRWXU).unwrap();
    let mut render = lone_job(work.path(), &[digest]);
    let render = render.env("SSL_CERT_FILE", &trusted).env("TEMPLATE_TIMEOUT", "20");
    assert!(render.status().unwrap().success());
    fs::remove_file(&trusted).unwrap();

    let certificate = fs::read_to_string(here().join("benches/real/manifest.yml")).unwrap();
    let (_, certificate) = certificate.split_once("&certificate |\n").unwrap();
    let (certificate, _) = certificate.split_once("key:").unwrap();
    let certificate: String = certificate.lines().map(|line| format!("{}\n", line.trim())).collect();
    fs::write(&trusted, certificate).unwrap();
    let asking = "<% trusted = OpenSSL::X509::Certificate.new(File.read(ENV['SSL_CERT_FILE'])) %>\
        <%= OpenSSL::SSL::SSLContext::DEFAULT_CERT_STORE.verify(trusted) %> \
        <%= OpenSSL::SSL::SSLContext.new.tap(&:set_params).cert_store.class %>";
    let mut render = lone_job(work.path(), &[("asking", asking)]);
    assert!(render.env("SSL_CERT_FILE", &trusted).status().unwrap().success());
    let rendered = fs::read_to_string(work.path().join("jobs/lone/asking")).unwrap();
    assert_eq!(rendered, "true OpenSSL::X509::Store");
}
