//! A server, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The server, until this is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {:.1000}", self.body))
    }

    /// The fields of the causes of a Status.
    pub(crate) fn fields(&self) -> Vec<String> {
        let causes = self.json()["details"]["causes"].as_array().unwrap().clone();
        causes.iter().map(|cause| cause["field"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub(crate) fn reason(&self) -> (u16, String) {
        let status = self.json();
        assert_eq!(
            (&status["kind"], &status["apiVersion"], &status["code"]),
            (&json!("Status"), &json!("v1"), &json!(self.status))
        );
        (self.status, status["reason"].as_str().unwrap_or_default().to_owned())
    }
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_boson-templates"))
            .arg("serve-templates")
            .args(["--insecure", "--store", "memory", "--listen", "127.0.0.1:0"])
            .args(arguments)
            // As in the manifest.
            .env("MALLOC_ARENA_MAX", "2")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on http://").unwrap().trim_end().to_owned();
        Server { child, stdout, address }
    }

    pub(crate) fn connect(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses a body need not read all of it.
        let _ = stream.write_all(body);
        stream
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut bytes = Vec::new();
        let mut stream = self.connect(method, path, headers, body);
        let done = stream.read_to_end(&mut bytes);
        assert!(done.is_ok() || !bytes.is_empty(), "{done:?}");
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head[9..12].parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &["Content-Type: application/json"], body.to_string().as_bytes())
    }

    /// The most memory that the server has had, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Sends SIGTERM; the exit status.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "one line is printed");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
