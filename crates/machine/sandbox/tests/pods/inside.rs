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
        ("write", Some(paths)) => write(&paths),
        ("kernel", None) => kernel(),
        ("capability", Some(file)) => capability(&file),
        ("capabilities", None) => capabilities(),
        ("route", None) => route(),
        ("query", None) => query(),
        ("syslog", None) => syslog(),
        ("read", Some(paths)) => read(&paths),
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

/// Prints a description of the sandbox.
fn look() -> u8 {
    println!("hostname {}", nix::unistd::gethostname().unwrap().to_string_lossy());
    println!("vcap {}", nix::unistd::User::from_name("vcap").unwrap().unwrap().uid);
    println!("pids {}", numbers("/proc"));
    println!("interfaces {:?}", names("/proc/sys/net/ipv4/conf"));
    println!("mode {:o}", fs::metadata("/var/vcap/secret").unwrap().mode() & 0o777);
    println!("secret {}", fs::read_to_string("/var/vcap/secret/key").unwrap());
    println!("sysctl {}", fs::write("/proc/sys/vm/swappiness", "60").unwrap_err().raw_os_error().unwrap());
    fs::write("/var/vcap/written", "by the sandbox").unwrap();
    fs::write("/tmp/written", "").unwrap();
    0
}

/// Writes to files, and prints those that are not writable.
fn write(paths: &str) -> u8 {
    for path in paths.split(' ') {
        if let Err(e) = fs::write(path, "by the sandbox") {
            println!("{path}: {e}");
        }
    }
    0
}

/// Prints the content of files, or that they do not exist.
fn read(paths: &str) -> u8 {
    for path in paths.split(' ') {
        match fs::read(path) {
            Ok(content) => println!("{path}: {}", String::from_utf8_lossy(&content)),
            Err(e) => println!("{path}: {}", e.kind()),
        }
    }
    0
}

/// Sets kernel parameters: those of its IPC namespace, and others.
fn kernel() -> u8 {
    for (name, value) in
        [("shmmax", "68719476736"), ("shmall", "4194304"), ("msgmax", "16384"), ("sem", "250\t32001\t100\t128")]
    {
        let path = format!("/proc/sys/kernel/{name}");
        let written = fs::write(&path, value).map_err(|e| e.raw_os_error());
        println!("{name} {written:?} {}", fs::read_to_string(&path).unwrap().trim() == value);
    }
    for name in ["vm/swappiness", "kernel/core_pattern", "net/ipv4/ip_forward"] {
        let written = fs::write(format!("/proc/sys/{name}"), "1").map_err(|e| e.raw_os_error().unwrap());
        println!("{name} {written:?}");
    }
    0
}

/// Gives a file of a package the capability to bind low ports, and runs it as vcap.
fn capability(file: &str) -> u8 {
    // `struct vfs_cap_data` of revision 2, effective: CAP_NET_BIND_SERVICE (10) permitted.
    let mut data = Vec::from(0x0200_0001_u32.to_le_bytes());
    for word in [1_u32 << 10, 0, 0, 0] {
        data.extend(word.to_le_bytes());
    }
    let set = rustix::fs::setxattr(file, "security.capability", &data, rustix::fs::XattrFlags::empty());
    println!("set {set:?}");
    let vcap = nix::unistd::User::from_name("vcap").unwrap().unwrap().uid.as_raw();
    let mut command = std::process::Command::new(file);
    if vcap != 0 {
        std::os::unix::process::CommandExt::uid(&mut command, vcap);
    }
    let output = command.arg("capabilities").output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    0
}

/// Prints whether it may bind low ports.
fn capabilities() -> u8 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap().trim().to_owned();
    println!("binds low ports {}", u64::from_str_radix(&effective, 16).unwrap() >> 10 & 1 == 1);
    0
}

/// Finds its own address as programs do, and tries to connect to another network.
fn route() -> u8 {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:53").unwrap();
    println!("address {}", socket.local_addr().unwrap().ip());
    println!("forwarding {}", fs::read_to_string("/proc/sys/net/ipv4/ip_forward").unwrap().trim() == "1");
    0
}

/// Sends a datagram to the name server of `/etc/resolv.conf`, and prints the answer.
fn query() -> u8 {
    let text = fs::read_to_string("/etc/resolv.conf").unwrap();
    let line = text.lines().next().unwrap();
    println!("{line}");
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.send_to(b"hello", (line.split(' ').next_back().unwrap(), 53)).unwrap();
    let mut answer = [0; 64];
    let length = socket.recv(&mut answer).unwrap();
    println!("{}", String::from_utf8_lossy(&answer[..length]));
    0
}

/// Logs to `/dev/log` and reads it where the reader of the sandbox listens.
fn syslog() -> u8 {
    let reader = std::os::unix::net::UnixDatagram::bind(sandbox::SYSLOG_SOCKET).unwrap();
    let program = std::os::unix::net::UnixDatagram::unbound().unwrap();
    program.send_to(b"<14>a line", "/dev/log").unwrap();
    let mut buffer = [0; 64];
    let length = reader.recv(&mut buffer).unwrap();
    println!("{}", String::from_utf8_lossy(&buffer[..length]));
    0
}

/// Prints what the sandbox inherited from the program, and whether its PID 1 has more capabilities than a process inside.
fn inherited() -> u8 {
    let status = |pid: &str, field: &str| {
        let all = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        all.lines().find_map(|line| line.strip_prefix(field)).unwrap().trim().to_owned()
    };
    // The only other descriptor is the directory that is being read.
    println!("descriptors {}", names("/proc/self/fd").len() - 1);
    // Some are closed meanwhile: those just given to this process.
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

/// Leaves a child behind, and exits.
#[allow(clippy::zombie_processes, reason = "the orphan is the subject of the test")]
fn orphan() -> u8 {
    std::process::Command::new("/proc/self/exe").args(["exit", "0"]).spawn().unwrap();
    7
}

/// Prints a line, and keeps running.
fn linger() -> u8 {
    println!("here");
    loop {
        std::thread::park();
    }
}
