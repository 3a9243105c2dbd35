//! No line is lost or repeated, whatever happens to the logs and to `tail-logs`, on a busy machine.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use testkit::random::Random;
use testkit::waiting::eventually;

use crate::support::{Case, Tail};

const WRITERS: usize = 4;
const LINES: usize = 6_000;

/// All output of all runs, and the current run.
struct Output {
    before: Mutex<Vec<u8>>,
    current: Mutex<Option<Tail>>,
}

impl Output {
    /// Finds the line of this log that begins with `start`, at `from` or later, which is the end of a line; returns where all of
    /// it ends. Its parts may be of several runs, with lines of other logs between them.
    fn find(&self, log: &str, start: &str, from: usize) -> Option<usize> {
        let current = self.current.lock().unwrap();
        let before = self.before.lock().unwrap();
        let from_current = from.saturating_sub(before.len());
        let current = current.as_ref().map_or_else(Vec::new, |tail| tail.bytes()[from_current..].to_vec());
        let text = [before.get(from..).unwrap_or_default(), &current].concat();
        let of_log = format!("\"file\":\"{log}\",\"message\":\"");
        let first = format!("{of_log}{start}");
        let (mut at, mut is_found) = (from, false);
        for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            at += line.len();
            is_found |= memchr::memmem::find(line, first.as_bytes()).is_some();
            let is_last = !line.ends_with(b",\"partial\":true}\n");
            if is_found && is_last && memchr::memmem::find(line, of_log.as_bytes()).is_some() {
                return Some(at);
            }
        }
        None
    }
}

/// The log file of this writer.
fn name(writer: usize) -> String {
    format!("job-{writer}/w.log")
}

/// The lines of this writer: numbered, of various lengths.
fn texts(writer: usize) -> impl Iterator<Item = String> {
    let mut random = Random::new(1000 + writer as u64);
    (0..LINES).map(move |number| {
        let padding = if random.one_in(50) { random.below(9_000) } else { random.below(200) };
        // Long enough that no part ends within the number.
        format!("{number} {}", "x".repeat(20 + padding))
    })
}

/// Writes its lines into its log, which it renames, replaces and removes now and then. Every other writer truncates it, too,
/// before it is large: a log that `tail-logs` rotates should not be truncated by another process at the same time.
fn write_lines(case: &Case, output: &Output, writer: usize) {
    let mut random = Random::new(writer as u64 + 1);
    let path = case.log(&name(writer));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let open = || File::options().append(true).create(true).open(&path).unwrap();
    let mut log = open();
    let mut first = 0;
    // The number and end of the line that was waited for.
    let mut found = None;
    let mut wait_for = |number: usize| {
        if found.is_some_and(|(last, _)| number <= last) {
            return;
        }
        let from = found.map_or(0, |(_, at)| at);
        eventually(&format!("line {number} of {}", name(writer)), || {
            let at = output.find(&name(writer), &format!("{number} "), from);
            found = at.map(|at| (number, at)).or(found);
            at.is_some()
        });
    };
    for (number, text) in texts(writer).enumerate() {
        let text = text + "\n";
        // Some lines are written in two pieces, with other writers in between; they may be forwarded as two parts.
        if random.one_in(20) {
            let (start, rest) = text.split_at(text.len() / 2);
            log.write_all(start.as_bytes()).unwrap();
            thread::yield_now();
            log.write_all(rest.as_bytes()).unwrap();
        } else {
            log.write_all(text.as_bytes()).unwrap();
        }
        let size = log.metadata().unwrap().len();
        match random.below(500) {
            0 if number > first => {
                // A file that was never seen is not recognised under another name.
                wait_for(first);
                fs::rename(&path, path.with_extension(format!("log.{number}"))).unwrap();
                log = open();
                first = number + 1;
            }
            1 => {
                // A log that is removed before it was read is lost to every reader.
                wait_for(number);
                fs::remove_file(&path).unwrap();
                log = open();
                first = number + 1;
            }
            _ if writer % 2 == 1 && size > 100_000 => {
                wait_for(number);
                log.set_len(0).unwrap();
            }
            _ => {}
        }
        if random.one_in(200) {
            thread::sleep(Duration::from_millis(random.number() % 5));
        }
    }
}

/// The lines of each log, joined from their parts.
fn lines(text: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let broken = || panic!("a broken line: {:.200}", String::from_utf8_lossy(line));
        let object: serde_json::Value = serde_json::from_slice(line).unwrap_or_else(|_| broken());
        let text = |key: &str| object[key].as_str().unwrap_or_else(broken_str).to_owned();
        let (file, message) = (text("file"), text("message"));
        parts.entry(file.clone()).or_default().push_str(&message);
        if object.get("partial").is_none() {
            let line = parts.remove(&file).unwrap_or_default();
            all.entry(file).or_default().push(line);
        }
    }
    assert!(parts.is_empty(), "lines without an end: {parts:?}");
    all
}

fn broken_str<'a>() -> &'a str {
    panic!("a field is missing")
}

#[test]
fn no_line_is_lost_or_repeated_after_kills_and_rotation() {
    let case = Arc::new(Case::new());
    let args = ["--logs-rotate-size", "256K", "--logs-format", "json"];
    let output = Arc::new(Output { before: Mutex::default(), current: Mutex::new(Some(case.start(&args))) });
    let is_over = AtomicBool::new(false);
    let mut kills = 0;
    thread::scope(|scope| {
        // Both cores are busy.
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (case, output) = (Arc::clone(&case), Arc::clone(&output));
                scope.spawn(move || write_lines(&case, &output, writer))
            })
            .collect();
        let mut random = Random::new(99);
        // With a limit: on a slow machine each run would be killed before it makes progress.
        while kills < 30 && !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(Duration::from_micros(random.number() % 40_000));
            let mut current = output.current.lock().unwrap();
            let tail = current.take().unwrap();
            let bytes = if random.one_in(4) {
                tail.signal(Signal::SIGINT);
                tail.end().0.into_bytes()
            } else {
                tail.kill()
            };
            output.before.lock().unwrap().extend_from_slice(&bytes);
            *current = Some(case.start(&args));
            kills += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().unwrap();
        }
    });
    let tail = output.current.lock().unwrap().take().unwrap();
    tail.signal(Signal::SIGINT);
    let (stdout, stderr, status) = tail.end();
    assert_eq!(status, 0, "{stderr}");
    let text = [output.before.lock().unwrap().as_slice(), stdout.as_bytes()].concat();
    let all = lines(&text);
    assert_eq!(all.keys().collect::<Vec<_>>(), (0..WRITERS).map(name).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    for (writer, lines) in all.values().enumerate() {
        let wrong = lines.iter().zip(texts(writer)).position(|(line, expected)| *line != expected);
        let near = wrong.map(|at| lines[at.saturating_sub(3)..(at + 4).min(lines.len())].iter());
        let near: Option<Vec<&str>> = near.map(|lines| lines.map(|line| &line[..line.len().min(30)]).collect());
        assert_eq!((wrong, lines.len()), (None, LINES), "{}: {near:?} after {kills} ends", name(writer));
    }
    assert!(kills > 20, "{kills}");
}
