//! `process-template --watch`, the form of a sidecar.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use testkit::waiting::eventually;

const TEMPLATE: &str = "kind: Template
apiVersion: v1
objects: [{kind: ConfigMap, apiVersion: v1, data: {conf: 'value=$(VALUE)'}}]
parameters: [{name: VALUE, type: int, required: true}]
";

/// A volume as the kubelet makes it, with one value.
fn mount(volume: &Path, generation: &str, value: &str) {
    fs::create_dir_all(volume.join(generation)).unwrap();
    fs::write(volume.join(generation).join("VALUE"), value).unwrap();
    symlink(generation, volume.join("..new")).unwrap();
    fs::rename(volume.join("..new"), volume.join("..data")).unwrap();
    let _ = symlink("..data/VALUE", volume.join("VALUE"));
}

fn watch(directory: &Path, arguments: &[&str]) -> Child {
    Command::new(testkit::executable("process-template"))
        .args(["--template", "t.yaml", "--values", "volume", "--as", "files", "--output-dir", "out"])
        .args(["--watch", "--watch-interval", "20ms"])
        .args(arguments)
        .current_dir(directory)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn holds(directory: &Path, text: &str) -> bool {
    fs::read_to_string(directory.join("out/conf")).is_ok_and(|content| content == text)
}

fn stop(mut child: Child) -> String {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    stderr
}

#[test]
fn changes_are_processed_checked_and_notified() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("t.yaml"), TEMPLATE).unwrap();
    let volume = path.join("volume");
    mount(&volume, "..1", "1");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/reload", server.local_addr().unwrap());
    let notified = || {
        let (mut stream, _) = server.accept().unwrap();
        let mut request = [0; 13];
        stream.read_exact(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        assert_eq!(&request, b"POST /reload ");
    };
    let child = watch(path, &["--check-command", "grep -qv 13 {}/conf", "--notify", &url]);
    notified();
    assert!(holds(path, "value=1"));
    // What is not an int, and what the command refuses, leaves the last good files.
    mount(&volume, "..2", "secret");
    mount(&volume, "..3", "13");
    mount(&volume, "..4", "4");
    notified();
    eventually("the new value", || holds(path, "value=4"));
    // The same result once more notifies nobody.
    fs::write(path.join("t.yaml"), format!("# comment\n{TEMPLATE}")).unwrap();
    fs::write(path.join("t.yaml"), TEMPLATE.replace("value=", "v=")).unwrap();
    notified();
    assert!(holds(path, "v=4"));
    let stderr = stop(child);
    assert!(!stderr.contains("secret"), "{stderr}");
}

#[test]
fn the_last_good_files_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("t.yaml"), TEMPLATE).unwrap();
    let volume = path.join("volume");
    mount(&volume, "..1", "1");
    let mut child = watch(path, &["--check-command", "sh -c 'touch checked; grep -q 1 {}/conf'"]);
    eventually("the first files", || holds(path, "value=1"));
    fs::remove_file(path.join("checked")).unwrap();
    mount(&volume, "..2", "2");
    eventually("the check of the second", || path.join("checked").exists());
    let mut first = [0; 1];
    child.stderr.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert!(holds(path, "value=1"));
    let stderr = stop(child);
    assert!(stderr.contains("refused the result: exit status: 1"), "{stderr}");
    // Without files from before, the first failure ends the watch.
    fs::remove_dir_all(path.join("out")).unwrap();
    let child = watch(path, &["--check-command", "false"]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(65));
    // A volume that nothing has been written to has none.
    fs::create_dir(path.join("out")).unwrap();
    assert_eq!(watch(path, &["--check-command", "false"]).wait_with_output().unwrap().status.code(), Some(65));
    // With files, it goes on.
    fs::write(path.join("out/conf"), "value=0").unwrap();
    let child = watch(path, &["--check-command", "grep -q 3 {}/conf"]);
    mount(&volume, "..3", "3");
    eventually("files", || holds(path, "value=3"));
    stop(child);
}

#[test]
fn a_signal_ends_the_command_that_checks_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("t.yaml"), TEMPLATE).unwrap();
    mount(&path.join("volume"), "..1", "1");
    let child = watch(path, &["--check-command", "sh -c 'echo $$ > pid.new; mv pid.new pid; sleep 1000'"]);
    eventually("the check", || path.join("pid").exists());
    let stderr = stop(child);
    assert_eq!(stderr, "");
    let pid = fs::read_to_string(path.join("pid")).unwrap();
    eventually("the check has ended", || !Path::new("/proc").join(pid.trim()).exists());
    let names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.as_encoded_bytes().starts_with(b"..candidate")), "{names:?}");
    assert!(!path.join("out").exists());
}

#[test]
fn a_notice_is_repeated_until_it_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("t.yaml"), TEMPLATE).unwrap();
    mount(&path.join("volume"), "..1", "1");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let pid_file = path.join("web.pid");
    let child = watch(path, &["--notify", &url, "--notify", &format!("USR1:{}", pid_file.display())]);
    for status in [503, 503, 204] {
        let (mut stream, _) = server.accept().unwrap();
        stream.read_exact(&mut [0; 13]).unwrap();
        stream.write_all(format!("HTTP/1.1 {status} X\r\n\r\n").as_bytes()).unwrap();
    }
    // One that has succeeded is not sent again while another one fails.
    server.set_nonblocking(true).unwrap();
    let mut web = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    // Waiting closes what the process has of it.
    let _stdin = web.stdin.take();
    fs::write(path.join("new"), format!("{}\n/var/lib/web\n", web.id())).unwrap();
    fs::rename(path.join("new"), pid_file).unwrap();
    assert_eq!(web.wait().unwrap().signal(), Some(nix::sys::signal::Signal::SIGUSR1 as i32));
    assert!(server.accept().is_err());
    let stderr = stop(child);
    for (part, count) in [("HTTP status 503", 1), ("web.pid: No such file", 1), ("error:", 2)] {
        assert_eq!(stderr.matches(part).count(), count, "{part}: {stderr}");
    }
}

#[test]
fn a_failed_write_is_repeated_until_it_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("t.yaml"), TEMPLATE).unwrap();
    mount(&path.join("volume"), "..1", "1");
    // A directory with a directory cannot be replaced.
    fs::create_dir_all(path.join("out/sub")).unwrap();
    let mut child = watch(path, &["--check-command", "sh -c 'echo x >> checked'"]);
    let mut level = [0; 5];
    child.stderr.as_mut().unwrap().read_exact(&mut level).unwrap();
    assert_eq!(&level, b" WARN");
    fs::remove_dir(path.join("out/sub")).unwrap();
    eventually("the files", || holds(path, "value=1"));
    let stderr = stop(child);
    assert_eq!(stderr.matches("out/sub is in the way").count(), 1, "{stderr}");
    // The command has accepted the result already.
    assert_eq!(fs::read_to_string(path.join("checked")).unwrap(), "x\n");
}
