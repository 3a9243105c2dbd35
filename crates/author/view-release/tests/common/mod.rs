//! A deployment, and `boson view` on it.
#![allow(dead_code, reason = "each test uses a part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use tempfile::TempDir;
use testkit::files::write;

pub(crate) const TEMPLATE: &str = "port: <%= p('port') %>
password: <%= p('password') %>
<% p('users').each do |user| -%>
- <%= user %>
<% end -%>
";

pub(crate) const MANIFEST: &str = "name: d
releases: [{name: r, version: 1}]
instance_groups:
- name: web
  instances: 2
  jobs:
  - name: web
    release: r
    properties:
      port: 81
      password: the-secret-password
      users: [ann, bob]
";

/// A directory with a release and a manifest.
pub(crate) fn deployment() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&directory.path().join(path), text);
    let spec = "name: web
templates: {web.yml.erb: config/web.yml}
properties:
  port: {description: Port, default: 80}
  password: {description: Password}
  users: {description: Names, default: [ann]}
  unused: {description: It is used by no template}
";
    file("r/jobs/web/spec", spec);
    file("r/jobs/web/templates/web.yml.erb", TEMPLATE);
    file("r/jobs/web/monit", "");
    file("r/config/final.yml", "name: r\n");
    file("m.yml", MANIFEST);
    directory
}

/// `boson view` of the deployment in this directory, with more words.
pub(crate) fn view(directory: &Path, arguments: &str) -> Command {
    let mut command = Command::new(testkit::executable("boson"));
    command.args(["view", "-m", "m.yml", "-r", "r"]).args(arguments.split_whitespace()).current_dir(directory);
    let temporary = directory.join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    command.env("XDG_CACHE_HOME", directory.join("cache")).env("TMPDIR", &temporary);
    command.env("XDG_RUNTIME_DIR", &temporary).stdin(Stdio::null());
    command
}

pub(crate) fn run(directory: &Path, arguments: &str) -> Output {
    view(directory, arguments).output().unwrap()
}

/// A server that is ended with the test.
pub(crate) struct Server {
    pub(crate) child: Child,
    /// `http://127.0.0.1:PORT/TOKEN/`.
    pub(crate) address: String,
    _output: BufReader<ChildStdout>,
}

impl Server {
    pub(crate) fn start(directory: &Path) -> Server {
        let mut child = view(directory, "").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut address = String::new();
        output.read_line(&mut address).unwrap();
        Server { child, address: address.trim_end().to_owned(), _output: output }
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn host(&self) -> &str {
        self.address.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// `/TOKEN/`.
    pub(crate) fn root(&self) -> &str {
        &self.address["http://".len() + self.host().len()..]
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.host()).unwrap()
    }

    /// The whole answer to these lines.
    pub(crate) fn answer(&self, head: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(head.replace('\n', "\r\n").as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// The answer to GET of a path below the root.
    pub(crate) fn get(&self, path: &str) -> String {
        self.answer(&format!("GET {}{path} HTTP/1.1\nHost: {}\n\n", self.root(), self.host()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
