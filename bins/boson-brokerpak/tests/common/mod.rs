//! What the tests of the executable share.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "not every test uses everything; a test may panic")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The command, in a directory, without an environment.
pub fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boson-brokerpak"));
    command.arg("brokerpak").current_dir(directory).env_clear();
    command
}

/// Runs the command.
pub fn brokerpak(directory: &Path, arguments: &[&str]) -> Output {
    command(directory).args(arguments).output().unwrap()
}

/// Runs the command, which has to succeed, and gives stdout.
pub fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = brokerpak(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Runs the command, which has to fail with this exit code, and gives stderr.
pub fn fail(directory: &Path, arguments: &[&str], code: i32) -> String {
    let output = brokerpak(directory, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stderr)
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A zip archive of these files: name, mode, content.
pub fn zip(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, mode, content) in files {
        writer.start_file(*name, SimpleFileOptions::default().unix_permissions(*mode)).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Writes a file with its directories.
pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A path and its content.
type Served = (String, Vec<u8>);

/// A server of files; it lives as long as the test's process.
#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    requests: Arc<AtomicUsize>,
    files: Arc<Mutex<Vec<Served>>>,
}

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server =
            Server { address: listener.local_addr().unwrap(), requests: Arc::default(), files: Arc::default() };
        let own = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                let _ = reader.read_line(&mut line);
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {}
                own.requests.fetch_add(1, Ordering::SeqCst);
                let found = own.files.lock().unwrap().iter().rev().find(|file| file.0 == path).cloned();
                let (status, content) = found.map_or((404, Vec::new()), |(_, content)| (200, content));
                // The client may have gone.
                let _ = write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", content.len());
                let _ = stream.write_all(&content);
            }
        });
        server
    }

    pub fn serve(&self, path: &str, content: Vec<u8>) {
        self.files.lock().unwrap().push((path.to_owned(), content));
    }

    /// How many requests there have been.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}
