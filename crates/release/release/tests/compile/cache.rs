//! Several packages and runs with one cache.

use super::*;

#[test]
fn what_a_killed_run_left_is_cleared() {
    let fixture = Fixture::new();
    let dead = fixture.cache().join("work/gone-0123/compile");
    fs::create_dir_all(&dead).unwrap();
    fs::create_dir_all(fixture.cache().join("locks")).unwrap();
    fixture.compiled(&["lib"]);
    assert!(names(&fixture.cache().join("work")).is_empty());
}

#[test]
fn two_runs_at_once_compile_a_package_once() {
    let fixture = Fixture::new();
    let runs = fixture.dir.path().join("runs");
    let script = format!("echo run >> {}; echo done > $BOSH_INSTALL_TARGET/out", runs.display());
    fixture.package("slow", "files: []", &script);
    let events = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let release = Release::open(&fixture.path("")).unwrap();
                let progress = |progress: Progress| events.lock().unwrap().push(format!("{progress:?}"));
                let compiled = Compiler::new(&fixture.cache(), &on_host, &progress).compile(&release, &["slow"]);
                assert_eq!(fs::read_to_string(compiled.unwrap()[0].dir.join("out")).unwrap(), "done\n");
            });
        }
    });
    assert_eq!(fs::read_to_string(runs).unwrap(), "run\n");
    assert_eq!(events.into_inner().unwrap().iter().filter(|events| events.starts_with("Cached")).count(), 7);
}

#[test]
fn packages_that_do_not_depend_on_each_other_are_compiled_at_the_same_time() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let fixture = Fixture::new();
    let meeting = fixture.dir.path().join("meeting");
    fs::create_dir(&meeting).unwrap();
    // Each waits until the other has started.
    for (name, other) in [("left", "right"), ("right", "left")] {
        let script = format!(
            "touch {0}/{name}; until test -e {0}/{other}; do sleep 0.01; done; touch $BOSH_INSTALL_TARGET/out",
            meeting.display()
        );
        fixture.package(name, "files: []", &script);
    }
    fixture.package("top", "files: []\ndependencies: [left, right]", "ls $DEPENDENCY_left > $BOSH_INSTALL_TARGET/out");
    assert_eq!(fixture.out("top"), "out\n");
}

#[test]
fn all_packages_that_fail_are_reported() {
    let fixture = Fixture::new();
    fixture.package("bad", "files: []", "exit 1");
    fixture.package("worse", "files: []", "exit 2");
    fixture.package("good", "files: []", "true");
    let (compiled, events) = fixture.compile(&["bad", "worse", "good"]);
    let text = compiled.unwrap_err().to_string();
    assert!(text.contains("'bad' of release") && text.contains("'worse' of release"), "{text}");
    assert!(events.contains(&"finished good".to_owned()), "{events:?}");
}

#[test]
fn packages_of_one_base_are_not_used_on_another() {
    let fixture = Fixture::new();
    let release = Release::open(&fixture.path("")).unwrap();
    let compile = |base| {
        let compiler = Compiler::new(&fixture.cache(), &on_host, &|_| {});
        compiler.on(base).compile(&release, &["lib"]).unwrap().remove(0).fingerprint
    };
    let all = [compile(None), compile(Some("jammy")), compile(Some("noble"))];
    assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    assert_eq!(compile(Some("jammy")), all[1]);
}

#[test]
fn files_of_empty_submodules_are_one_problem() {
    let fixture = Fixture::new();
    fixture.write(".gitmodules", "[submodule]\n path = src/go/one\n[submodule]\n path = src/go/two\n");
    fixture.package("one", "files: ['go/one/**/*']", "true");
    fixture.package("two", "files: [go/two/main.go, 'go/**/*']\ndependencies: [one]", "true");
    let problems = fixture.compile(&["two"]).0.unwrap_err();
    assert_eq!(problems.iter().count(), 1, "{problems}");
    assert!(problems.to_string().contains("git submodule update --init --recursive"), "{problems}");
}

#[test]
fn the_least_recently_used_packages_are_removed() {
    let fixture = Fixture::new();
    fixture.package("big", "files: []", "head -c 100000 /dev/zero > $BOSH_INSTALL_TARGET/out");
    fixture.compiled(&["app", "big"]);
    // As if they had been used long ago, `big` first, then `app`.
    let ages = ["big", "app", "lib"];
    let key_of =
        |name: &str| names(&fixture.cache().join("packages")).into_iter().find(|key| key.starts_with(name)).unwrap();
    let used = |name: &str, seconds: u64| {
        let lock = fs::File::options().write(true).open(fixture.cache().join("locks").join(key_of(name))).unwrap();
        lock.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
    };
    ages.iter().zip(1..).for_each(|(name, seconds)| used(name, seconds));
    let entries = || -> Vec<String> {
        let entries = release::cache_entries(&fixture.cache()).unwrap();
        entries.iter().map(|entry| entry.key.split('-').next().unwrap().to_owned()).collect()
    };
    assert_eq!(entries(), ages);
    // A use makes it the newest.
    fixture.compiled(&["lib"]);
    used("lib", 9);
    let remove = |path: &Path| fs::remove_dir_all(path);
    let prune = |limit: u64, since: u64| -> Vec<String> {
        let since = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(since);
        let removed = release::prune_cache(&fixture.cache(), limit, since, &remove).unwrap();
        removed.iter().map(|entry| entry.key.split('-').next().unwrap().to_owned()).collect()
    };
    assert_eq!(prune(1_000_000, 100), Vec::<String>::new());
    assert_eq!(prune(1_000, 100), ["big"]);
    assert_eq!((prune(0, 3), entries()), (vec!["app".to_owned()], vec!["lib".to_owned()]));
    assert!(names(&fixture.cache().join("work")).is_empty());
    assert_eq!(names(&fixture.cache().join("locks")).len(), 1);
    let (_, events) = fixture.compile(&["app"]);
    assert_eq!(events, ["cached lib", "started app", "finished app"]);
}
