//! Locks, damaged states, and what killed runs leave.

use super::*;

#[test]
fn ids_become_names_that_lead_nowhere() {
    for (id, name) in [("0a-B_c.d", "0a-B_c.d"), ("..", "%2E."), ("a/../b", "a%2F..%2Fb"), ("ü\0", "%C3%BC%00")] {
        assert_eq!(encoded(id), name);
    }
    let long = "x".repeat(5000);
    assert_eq!(encoded(&long).len(), 105);
    assert_ne!(encoded(&long), encoded(&format!("{long}y")));
}

fn record(store: &Store, id: &str, change: impl FnOnce(&mut Record)) {
    let mut instance = store.lock(id).unwrap();
    let mut record = Record::new(id);
    change(&mut record);
    instance.unit.save(record).unwrap();
}

fn error(store: &Store, id: &str) -> String {
    let problems = store.lock(id).unwrap_err();
    assert_eq!(problems.exit_code(), 70);
    problems.to_string()
}

#[test]
fn one_run_per_instance_and_nothing_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path().join("state"));
    let first = store.lock("a").unwrap();
    assert!(error(&store, "a").contains("another run uses the instance a"));
    drop(store.lock("b").unwrap());
    drop(first);
    drop(store.lock("a").unwrap());
    assert_eq!(fs::read_dir(directory.path().join("state/instances")).unwrap().count(), 0);
    record(&store, "a", |_| ());
    let instances = directory.path().join("state/instances");
    let mode = |path: &str| fs::metadata(instances.join(path)).unwrap().mode() & 0o777;
    assert_eq!((mode("a"), mode("a/record.json"), mode("a/lock")), (0o700, 0o600, 0o600));
}

#[test]
fn damaged_and_foreign_states_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path().to_path_buf());
    record(&store, "a", |record| record.lineage = "one".to_owned());
    let own = directory.path().join("instances/a");
    assert!(error(&store, "a").contains("its state is missing"));
    for (text, message) in [
        ("{\"version\": 4, \"lineage\": \"on", "its state cannot be read: it is not JSON"),
        ("", "its state cannot be read: it is not JSON"),
        ("{\"version\": 3}", "unsupported tfstate version: 3"),
        ("{\"version\": 4, \"lineage\": \"two\"}", "its state is that of another one"),
    ] {
        fs::write(own.join(STATE), text).unwrap();
        assert!(error(&store, "a").contains(message), "{}", error(&store, "a"));
        assert_eq!(fs::read_to_string(own.join(STATE)).unwrap(), text);
    }
    for text in ["", "{}", "{\"format\": 2}"] {
        fs::write(own.join(RECORD), text).unwrap();
        assert!(error(&store, "a").contains("record.json cannot be read"), "{}", error(&store, "a"));
    }
    fs::remove_file(own.join(RECORD)).unwrap();
    let resource = "{\"mode\": \"managed\", \"type\": \"t\", \"name\": \"n\", \"instances\": [{}]}";
    fs::write(own.join(STATE), format!("{{\"version\": 4, \"resources\": [{resource}]}}")).unwrap();
    assert!(error(&store, "a").contains("it has a state and no record"));
}

#[test]
fn the_state_of_a_killed_run_is_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path().to_path_buf());
    let text =
        |lineage: &str, serial: u64| format!("{{\"version\": 4, \"lineage\": \"{lineage}\", \"serial\": {serial}}}");
    record(&store, "a", |_| ());
    let own = directory.path().join("instances/a");
    for (main, left, expected) in [
        (None, text("l", 1), 1),
        (Some(text("l", 2)), text("l", 3), 3),
        (Some(text("l", 2)), text("l", 1), 2),
        (Some(text("l", 2)), "{\"version".to_owned(), 2),
    ] {
        let _ = fs::remove_file(own.join(STATE));
        if let Some(main) = main {
            fs::write(own.join(STATE), main).unwrap();
        }
        fs::create_dir_all(own.join("run/workspace")).unwrap();
        fs::write(own.join("run/workspace").join(STATE), left).unwrap();
        let instance = store.lock("a").unwrap();
        assert_eq!(instance.unit.state.as_ref().map(|state| state.serial), Some(expected));
        assert!(!own.join("run").exists());
    }
    fs::create_dir_all(own.join("run/workspace")).unwrap();
    fs::write(own.join("run/workspace").join(STATE), text("m", 9)).unwrap();
    assert!(error(&store, "a").contains("the state of another one"));
    assert!(own.join("run").exists(), "nothing is changed");
}

#[test]
fn bindings_of_a_lost_record_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path().to_path_buf());
    record(&store, "a", |_| ());
    let mut binding = store.lock("a").unwrap().binding("b").unwrap();
    binding.save(Record::new("b")).unwrap();
    fs::remove_file(directory.path().join("instances/a").join(RECORD)).unwrap();
    drop(store.lock("a").unwrap());
    assert!(directory.path().join("instances/a/bindings/b").join(RECORD).exists());
}

#[test]
fn who_looks_while_a_run_removes_an_instance_finds_it_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path().to_path_buf());
    let state = directory.path().join("instances/a").join(STATE);
    let written = directory.path().join("written");
    let ended = |record: &mut Record| record.phase = Phase::Succeeded;
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            for _ in 0..100 {
                record(&store, "a", ended);
                // At once, as a run does.
                fs::write(&written, "{\"version\": 4, \"lineage\": \"one\"}").unwrap();
                fs::rename(&written, &state).unwrap();
                record(&store, "a", |record| {
                    ended(record);
                    record.lineage = "one".to_owned();
                });
                store.lock("a").unwrap().unit.remove().unwrap();
            }
        });
        while !run.is_finished() {
            store.peek("a", None).unwrap();
        }
    });
}
