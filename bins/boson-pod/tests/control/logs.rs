//! `bpm logs`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::support::Pod;

fn log(pod: &Pod, stream: &str, text: &str) {
    let dir = pod.vcap("sys/log/web");
    fs::create_dir_all(&dir).unwrap();
    let path = dir.join(format!("web.{stream}.log"));
    fs::File::options().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|n| format!("{n}\n")).collect()
}

#[test]
fn the_end_of_a_log_is_printed() {
    let pod = Pod::new("");
    let (code, _, stderr) = pod.bpm("logs", &[]);
    assert!(code == 1 && stderr.starts_with("error: logs not found\n"), "{stderr}");
    log(&pod, "stdout", "");
    assert_eq!(pod.bpm("logs", &[]), (0, String::new(), String::new()));
    log(&pod, "stdout", &numbers(1..=100_000));
    assert_eq!(pod.bpm("logs", &[]).1, numbers(99_976..=100_000));
    assert_eq!(pod.bpm("logs", &["-n", "2"]).1, "99999\n100000\n");
    assert_eq!(pod.bpm("logs", &["-n", "0"]).1, "");
    assert_eq!(pod.bpm("logs", &["-n", "50000"]).1, numbers(50_001..=100_000));
    assert_eq!(pod.bpm("logs", &["-n", "200000"]).1, numbers(1..=100_000));
    log(&pod, "stdout", "no newline");
    assert_eq!(pod.bpm("logs", &["-n", "2"]).1, "100000\nno newline");
    assert_eq!(pod.bpm("logs", &["-e"]).0, 1);
    log(&pod, "stderr", "oops\n");
    assert_eq!(pod.bpm("logs", &["-e"]).1, "oops\n");
    let name = |stream: &str| pod.vcap("sys/log/web").join(format!("web.{stream}.log")).display().to_string();
    assert_eq!(
        pod.bpm("logs", &["-a", "-n", "1"]).1,
        format!("==> {} <==\nno newline\n==> {} <==\noops\n", name("stdout"), name("stderr"))
    );
    assert_eq!(pod.bpm("logs", &["-a", "-q", "-n", "1"]).1, "no newlineoops\n");
}

#[test]
fn a_truncated_log_is_followed() {
    let pod = Pod::new("");
    log(&pod, "stdout", "one\n");
    let mut command = pod.command("bpm");
    let mut child = command.args(["logs", "web", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "one");
    log(&pod, "stdout", "two\n");
    assert_eq!(lines.next().unwrap(), "two");
    fs::File::options().write(true).truncate(true).open(pod.vcap("sys/log/web/web.stdout.log")).unwrap();
    log(&pod, "stdout", "three\n");
    assert_eq!(lines.next().unwrap(), "three");
    child.kill().unwrap();
    child.wait().unwrap();
}
