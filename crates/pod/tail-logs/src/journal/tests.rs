use std::io::Read;

use super::*;

fn id(ino: u64) -> FileId {
    FileId { dev: 1, ino }
}

fn position(offset: u64) -> Option<Position> {
    Some(Position { offset, mark: offset, born: None, path: b"a/b\xff.log".to_vec(), cut: None, has_holes: false })
}

fn batch(lines: &[&str]) -> Batch {
    let mut batch = Batch::default();
    for line in lines {
        batch.line(|bytes| bytes.extend_from_slice(line.as_bytes()));
    }
    batch
}

/// Everything that is unsent goes into a file, which always takes it.
fn send_all(journal: &mut Journal) -> String {
    let mut target = tempfile::tempfile().unwrap();
    while journal.is_sending() {
        journal.send(&target).unwrap();
    }
    let mut text = String::new();
    io::Seek::rewind(&mut target).unwrap();
    target.read_to_string(&mut text).unwrap();
    text
}

/// As after a kill: nothing is done at the end.
fn reopen(path: &Path, journal: Journal) -> Journal {
    drop(journal);
    Journal::open(path).unwrap()
}

#[test]
fn a_batch_is_there_with_its_positions_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/positions");
    let mut journal = Journal::open(&path).unwrap();
    assert!(!journal.is_sending() && journal.positions().is_empty());
    journal.commit(&batch(&["one\n", "two\n"]), vec![(id(1), position(8)), (id(2), position(0))]).unwrap();
    let mut journal = reopen(&path, journal);
    assert_eq!(journal.positions().len(), 2);
    assert_eq!(journal.positions().get(&id(1)), position(8).as_ref());
    assert_eq!(send_all(&mut journal), "one\ntwo\n");
    let mut journal = reopen(&path, journal);
    assert!(!journal.is_sending());
    journal.commit(&batch(&["three\n"]), vec![(id(2), None)]).unwrap();
    // The record that a killed process did not finish: all but its first number. It is long, and looks like records.
    let end = journal.end;
    let looks_like_a_length = "\u{10}\0\0\0\0\0\0\0".repeat(100);
    journal.commit(&batch(&[&looks_like_a_length]), vec![(id(1), position(99))]).unwrap();
    journal.outlet.file().write_all_at(&[0; 8], end).unwrap();
    let mut journal = reopen(&path, journal);
    assert_eq!(journal.positions().iter().collect::<Vec<_>>(), [(&id(1), &position(8).unwrap())]);
    assert_eq!(send_all(&mut journal), "three\n");
    journal.commit(&batch(&["five\n"]), vec![(id(3), position(5))]).unwrap();
    let mut journal = reopen(&path, journal);
    assert_eq!((journal.positions().len(), send_all(&mut journal).as_str()), (2, "five\n"));
}

#[test]
fn what_is_half_sent_is_sent_from_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("positions");
    let lines: Vec<String> = (0..2000).map(|n| format!("{n} {}\n", "x".repeat(n % 300))).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut journal = Journal::open(&path).unwrap();
    journal.commit(&batch(&lines), vec![(id(1), position(1))]).unwrap();
    let mut received = String::new();
    let mut restarts = 0;
    while journal.is_sending() {
        let (mut reader, writer) = io::pipe().unwrap();
        journal.send(&writer).unwrap();
        drop(writer);
        let mut part = String::new();
        reader.read_to_string(&mut part).unwrap();
        assert!(part.ends_with('\n') && part.len() <= PAGE, "a part is of whole lines");
        received.push_str(&part);
        journal = reopen(&path, journal);
        restarts += 1;
    }
    assert_eq!(received, lines.concat());
    assert!(restarts > 10, "{restarts}");
}

#[test]
fn lines_longer_than_a_page_and_empty_ones_arrive_whole() {
    let dir = tempfile::tempdir().unwrap();
    let long = format!("{}\n", "y".repeat(20_000));
    let page = format!("{}\n", "z".repeat(PAGE - 1));
    let lines = ["a\n", &long, "", "b\n", &page, &page, "c\n", &long];
    let mut journal = Journal::open(&dir.path().join("positions")).unwrap();
    for _ in 0..3 {
        journal.commit(&batch(&lines), Vec::new()).unwrap();
        assert_eq!(send_all(&mut journal), lines.concat());
    }
}

#[test]
fn a_journal_that_has_grown_is_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("positions");
    let mut journal = Journal::open(&path).unwrap();
    let line = format!("{}\n", "x".repeat(100_000));
    for n in 0..100 {
        journal.commit(&batch(&[&line]), vec![(id(n), position(n))]).unwrap();
        assert_eq!(send_all(&mut journal).len(), line.len());
    }
    assert!(path.metadata().unwrap().len() < 2 * LARGEST);
    let journal = reopen(&path, journal);
    assert_eq!(journal.positions().len(), 100);
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_target_that_appends_gets_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let mut journal = Journal::open(&dir.path().join("positions")).unwrap();
    journal.commit(&batch(&["one\n", "two\n"]), Vec::new()).unwrap();
    let file = File::options().append(true).create(true).open(&target).unwrap();
    while journal.is_sending() {
        journal.send(&file).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "one\ntwo\n");
}

/// The beginning of a journal, and something else.
fn damaged(rest: &[u8]) -> Vec<u8> {
    [MAGIC.as_slice(), &[VERSION], rest].concat()
}

#[test]
fn a_journal_of_another_version_is_set_aside() {
    assert_eq!(check_version(b"boson-t1"), Ok(()));
    let error = check_version(b"boson-t2").unwrap_err();
    assert_eq!(error, "the journal has version 2, and this program reads version 1");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("positions");
    drop(Journal::open(&path).unwrap());
    let mut other = std::fs::read(&path).unwrap();
    other[MAGIC.len()] = b'2';
    std::fs::write(&path, &other).unwrap();
    assert!(Journal::open(&path).unwrap().positions().is_empty());
    assert_eq!(std::fs::read(dir.path().join("positions.unreadable")).unwrap(), other);
    assert_eq!(std::fs::read(&path).unwrap()[MAGIC.len()], VERSION);
}

#[test]
fn a_record_with_an_unknown_field_is_refused() {
    let changes = |text: &str| serde_json::from_str::<Changes>(text);
    let known = r#"{"files":[[{"dev":1,"ino":2},{"offset":3,"mark":4,"path":"x"}]],"parts":[]}"#;
    changes(known).unwrap();
    for place in ["\"files\"", "\"dev\"", "\"offset\""] {
        let unknown = known.replacen(place, &format!("\"surprise\":1,{place}"), 1);
        let error = changes(&unknown).unwrap_err().to_string();
        assert!(error.contains("unknown field `surprise`"), "{error}");
    }
}

#[test]
fn it_belongs_to_one_and_what_is_damaged_or_no_journal_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("positions");
    let journal = Journal::open(&path).unwrap();
    let error = Journal::open(&path).unwrap_err().to_string();
    assert!(error.contains("followed already") && error.contains("hint: "), "{error}");
    drop(journal);
    for content in [&b""[..], b"something else", &[0; 5000], &damaged(&[7; 9000]), &damaged(&[0xff; 9000])] {
        std::fs::write(&path, content).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        assert!(journal.positions().is_empty() && !journal.is_sending());
        journal.commit(&batch(&["one\n"]), vec![(id(1), position(4))]).unwrap();
        assert_eq!(reopen(&path, journal).positions().len(), 1);
    }
    // A link is replaced, not followed; where nothing can be kept it works without.
    let other = dir.path().join("other");
    std::fs::write(&other, "untouched").unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    drop(Journal::open(&path).unwrap());
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "untouched");
    let mut journal = Journal::open(Path::new("/proc/none/positions")).unwrap();
    journal.commit(&batch(&["one\n"]), Vec::new()).unwrap();
    assert_eq!(send_all(&mut journal), "one\n");
}
