//! The programs that run inside the sandboxes, chosen by the first argument.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;

pub(crate) fn run() -> Option<ExitCode> {
    let mut args = std::env::args().skip(1);
    let (first, second) = (args.next()?, args.next());
    let code = match (first.as_str(), second) {
        ("serve", Some(text)) => serve(&text),
        ("ask", Some(host)) => ask(&host),
        ("look", None) => look(),
        ("inherited", None) => inherited(),
        ("exit", Some(code)) => code.parse().unwrap(),
        ("orphan", None) => orphan(),
        ("linger", None) => linger(),
        _ => return None,
    };
    Some(ExitCode::from(code))
}

/// Answers every connection to port 4222 of any address with a text.
fn serve(text: &str) -> u8 {
    let listener = TcpListener::bind("0.0.0.0:4222").unwrap();
    println!("listening");
    for connection in listener.incoming() {
        connection.unwrap().write_all(text.as_bytes()).unwrap();
    }
    0
}

/// Prints what a host's port 4222 answers.
fn ask(host: &str) -> u8 {
    let mut answer = String::new();
    TcpStream::connect((host, 4222)).unwrap().read_to_string(&mut answer).unwrap();
    println!("{answer}");
    0
}

/// Prints what the sandbox looks like.
fn look() -> u8 {
    println!("hostname {}", nix::unistd::gethostname().unwrap().to_string_lossy());
    println!("vcap {}", nix::unistd::User::from_name("vcap").unwrap().unwrap().uid);
    println!("pids {}", numbers("/proc"));
    println!("interfaces {:?}", names("/proc/sys/net/ipv4/conf"));
    println!("mode {:o}", fs::metadata("/var/vcap/secret").unwrap().mode() & 0o777);
    println!("secret {}", fs::read_to_string("/var/vcap/secret/key").unwrap());
    println!("usr {}", fs::write("/usr/written", "").unwrap_err().raw_os_error().unwrap());
    println!("sysctl {}", fs::write("/proc/sys/vm/swappiness", "60").unwrap_err().raw_os_error().unwrap());
    fs::write("/var/vcap/written", "by the sandbox").unwrap();
    fs::write("/tmp/written", "").unwrap();
    0
}

/// Prints what the sandbox inherited from the program, and whether its PID 1 has more capabilities than a process inside.
fn inherited() -> u8 {
    let status = |pid: &str, field: &str| {
        let all = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        all.lines().find_map(|line| line.strip_prefix(field)).unwrap().trim().to_owned()
    };
    // One more than the standard streams is the directory that is being read.
    println!("descriptors {}", names("/proc/self/fd").len() - 1);
    // It closes some meanwhile: those that it has just given to this process.
    let of_init = fs::read_dir("/proc/1/fd").unwrap().filter_map(|e| fs::read_link(e.unwrap().path()).ok());
    println!("files of init {}", of_init.filter(|target| target.ends_with("leaked")).count());
    println!("environment of init {:?}", fs::read_to_string("/proc/1/environ").unwrap());
    println!("blocked {}", status("self", "SigBlk:"));
    println!("powerful init {}", status("1", "CapPrm:") != status("self", "CapBnd:"));
    println!("keys {}", fs::exists("/etc/ssl/private").unwrap());
    0
}

fn names(directory: &str) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn numbers(directory: &str) -> usize {
    names(directory).iter().filter(|name| name.parse::<u32>().is_ok()).count()
}

/// Leaves a child behind, and ends.
#[allow(clippy::zombie_processes, reason = "the orphan is the subject of the test")]
fn orphan() -> u8 {
    std::process::Command::new("/proc/self/exe").args(["exit", "0"]).spawn().unwrap();
    7
}

/// Prints a line, and stays.
fn linger() -> u8 {
    println!("here");
    loop {
        std::thread::park();
    }
}
