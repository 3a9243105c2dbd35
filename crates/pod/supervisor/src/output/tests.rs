//! Forwarding, with real pipes.

use nix::unistd::pipe;

use super::*;

fn pump(prefix: Option<&str>) -> (File, Pump, File) {
    let (source, writer) = pipe().unwrap();
    let (reader, echo) = pipe().unwrap();
    fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    let echo = Echo { fd: echo, prefix: prefix.map(str::to_owned) };
    let tee = Tee { echo: Some(echo), ..Tee::default() };
    (writer.into(), Pump::new(source, tee).unwrap(), reader.into())
}

fn read_all(reader: &mut File) -> Vec<u8> {
    let mut out = Vec::new();
    let _ = reader.read_to_end(&mut out);
    out
}

/// Writes as much as the reader takes; gives how much that was.
fn flood(writer: &mut File, pump: &mut Pump) -> usize {
    fcntl(&*writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    let mut sent = 0usize;
    for _ in 0..100 {
        while let Ok(n) = writer.write(&[b'x'; 4096]) {
            sent += n;
        }
        pump.advance();
    }
    sent
}

fn waits_for_input(pump: &Pump) -> bool {
    let mut fds = Vec::new();
    pump.interests(&mut fds);
    fds.iter().any(|fd| fd.events().contains(PollFlags::POLLIN))
}

#[test]
fn a_slow_reader_throttles_the_process_and_loses_nothing() {
    let (mut writer, mut pump, mut reader) = pump(None);
    let sent = flood(&mut writer, &mut pump);
    assert!(sent < 1 << 20, "{sent} bytes were taken although there is no reader");
    assert!(!waits_for_input(&pump) && pump.deadline().is_some());
    drop(writer);
    let mut received = 0;
    while !pump.is_done() {
        received += read_all(&mut reader).len();
        pump.advance();
    }
    received += read_all(&mut reader).len();
    assert_eq!(received, sent);
}

#[test]
fn copying_endless_output_is_interrupted() {
    let (endless, echo) = (File::open("/dev/zero").unwrap(), File::options().write(true).open("/dev/null").unwrap());
    let tee = Tee { echo: Some(Echo { fd: echo.into(), prefix: None }), ..Tee::default() };
    let mut pump = Pump::new(endless.into(), tee).unwrap();
    assert!(pump.advance(), "it comes back, and there is more");
    assert!(waits_for_input(&pump));
}

#[test]
fn a_stalled_reader_does_not_block_and_gets_a_note() {
    let (mut writer, mut pump, mut reader) = pump(None);
    let before = flood(&mut writer, &mut pump);
    // The reader has had its time.
    pump.waiting = pump.waiting.map(|since| since - PATIENCE);
    pump.advance();
    let after = flood(&mut writer, &mut pump);
    assert!(after > 1 << 20 && waits_for_input(&pump), "{after} bytes were taken");
    let mut received = Vec::new();
    while !pump.pending.is_empty() {
        received.extend(read_all(&mut reader));
        pump.advance();
    }
    writer.write_all(b"back\n").unwrap();
    drop(writer);
    pump.advance();
    received.extend(read_all(&mut reader));
    let text = String::from_utf8(received).unwrap();
    let (shown, rest) = text.split_once('\n').unwrap();
    let missed = before + after - shown.len();
    let note = format!("[run-process: the reader was too slow; {missed} bytes are in the log file only]\nback\n");
    assert_eq!(rest, note);
    assert!(pump.is_done());
}

#[test]
fn a_full_disk_blocks_no_process() {
    let (mut writer, mut pump, mut reader) = pump(None);
    pump.tee.file = Some(File::options().write(true).open("/dev/full").unwrap());
    writer.write_all(b"x\n").unwrap();
    pump.advance();
    assert_eq!(read_all(&mut reader), b"x\n");
    assert!(pump.log_fails && pump.tee.file.is_some(), "the log goes on once there is room");
}

#[test]
fn the_beginning_is_captured_with_any_reader() {
    let (mut writer, mut pump, _reader) = pump(None);
    pump.tee.capture = 4;
    writer.write_all(b"-1").unwrap();
    pump.advance();
    writer.write_all(b"2345").unwrap();
    pump.advance();
    drop(writer);
    pump.advance();
    assert!(!pump.is_done(), "it has not been asked for");
    assert_eq!(pump.take_captured(), b"-123");
}

#[test]
fn prefixed_lines_are_written_whole() {
    let (mut writer, mut pump, mut reader) = pump(Some("[a] "));
    writer.write_all(b"one\ntw").unwrap();
    pump.advance();
    assert_eq!(read_all(&mut reader), b"[a] one\n");
    writer.write_all(b"o\nthree").unwrap();
    drop(writer);
    pump.advance();
    assert_eq!(read_all(&mut reader), b"[a] two\n[a] three\n");
    assert!(pump.is_done());
}

#[test]
fn forwarding_to_a_closed_reader_is_abandoned() {
    let (mut writer, mut pump, reader) = pump(None);
    drop(reader);
    writer.write_all(b"x").unwrap();
    pump.advance();
    assert!(pump.tee.echo.is_none() && pump.pending.is_empty());
    drop(writer);
    pump.advance();
    assert!(pump.is_done());
}
