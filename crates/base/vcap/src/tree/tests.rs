use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use nix::unistd::{getgid, getuid};

use super::*;

/// A reader's view of the directory: every job that resolves, with its directories (`None`) and files.
type Seen = BTreeMap<String, Option<(Vec<u8>, u32)>>;

fn seen(dir: &Path) -> Seen {
    let mut seen = Seen::new();
    for child in fs::read_dir(dir).unwrap().map(|c| c.unwrap()) {
        let name = child.file_name().into_string().unwrap();
        if !name.starts_with('.') && child.path().exists() {
            see(&child.path(), &name, &mut seen);
        }
    }
    seen
}

fn see(path: &Path, name: &str, seen: &mut Seen) {
    let meta = fs::metadata(path).unwrap();
    if meta.is_dir() {
        seen.insert(name.to_owned(), None);
        for child in fs::read_dir(path).unwrap().map(|c| c.unwrap()) {
            see(&child.path(), &format!("{name}/{}", child.file_name().to_str().unwrap()), seen);
        }
    } else {
        seen.insert(name.to_owned(), Some((fs::read(path).unwrap(), meta.permissions().mode() & 0o7777)));
    }
}

fn tree(files: &[(&str, &str)]) -> Vec<RenderedEntry> {
    files
        .iter()
        .map(|(path, content)| RenderedEntry {
            path: (*path).into(),
            content: content.as_bytes().to_vec(),
            mode: if path.contains("/bin/") { 0o750 } else { 0o640 },
        })
        .collect()
}

fn us() -> (Uid, Gid) {
    (getuid(), getgid())
}

fn put(dir: &Path, entries: &[RenderedEntry], dirs: &[&str]) {
    commit(dir, entries, &dirs.iter().map(|d| (*d).to_owned()).collect::<Vec<_>>(), us()).unwrap();
}

/// Everything in the directory, hidden names too.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|c| c.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_get_their_modes_and_jobs_without_files_a_directory() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("var/vcap/jobs");
    put(&dir, &tree(&[("a/config/x", "1"), ("a/bin/run", "2")]), &["empty"]);
    let file = |content: &str, mode| Some((content.as_bytes().to_vec(), mode));
    let expected = [
        ("a", None),
        ("a/bin", None),
        ("a/bin/run", file("2", 0o750)),
        ("a/config", None),
        ("a/config/x", file("1", 0o640)),
        ("empty", None),
    ];
    assert_eq!(seen(&dir), expected.map(|(n, c)| (n.to_owned(), c)).into());
    assert_eq!(fs::metadata(dir.join("a/config")).unwrap().permissions().mode() & 0o7777, 0o750);
    assert_eq!(names(&dir), [".current", ".generations", "a", "empty"]);
    assert_eq!(names(&dir.join(".generations")), ["1"]);
}

#[test]
fn writing_the_same_tree_again_changes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let entries = tree(&[("a/x", "1"), ("b/y", "2")]);
    put(temp.path(), &entries, &[]);
    put(temp.path(), &entries, &[]);
    assert_eq!(fs::read_link(temp.path().join(".current")).unwrap(), Path::new(".generations/1"));
    // A file that somebody changed, a mode, a file too many, a lost link: all are put right.
    let a = temp.path().join("a");
    let wanted = seen(temp.path());
    let spoil: [&dyn Fn(); 4] = [
        &|| fs::write(a.join("x"), "3").unwrap(),
        &|| fs::set_permissions(a.join("x"), fs::Permissions::from_mode(0o644)).unwrap(),
        &|| fs::write(a.join("more"), "").unwrap(),
        &|| fs::remove_file(&a).unwrap(),
    ];
    for spoil in spoil {
        spoil();
        assert_ne!(seen(temp.path()), wanted);
        put(temp.path(), &entries, &[]);
        assert_eq!(seen(temp.path()), wanted);
    }
}

/// The directory on the disk at some instant of a commit, as a crash would leave it.
fn image(of: &Path) -> tempfile::TempDir {
    let image = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-a").arg(of.join(".")).arg(image.path()).status().unwrap();
    assert!(copied.success());
    image
}

#[test]
fn a_crash_at_any_instant_leaves_the_old_tree_or_the_new_one() {
    let nothing = (vec![], vec![]);
    let first = (tree(&[("a/config/x", "1"), ("gone/y", "1")]), vec!["bare".to_owned()]);
    let second = (tree(&[("a/config/x", "2"), ("new/z", "2")]), vec!["bare-too".to_owned()]);
    for (old, new) in [(&nothing, &first), (&first, &second), (&second, &nothing)] {
        let temp = tempfile::tempdir().unwrap();
        if old != &nothing {
            commit(temp.path(), &old.0, &old.1, us()).unwrap();
        }
        let before = seen(temp.path());
        let mut images = Vec::new();
        let checked = paths::Tree::check(&new.0, &new.1, false).unwrap();
        commit::commit(temp.path(), &checked, us(), &mut || images.push(image(temp.path()))).unwrap();
        let after = seen(temp.path());
        assert!(images.len() > 3, "every change is an instant");
        let mut flips = 0;
        for (instant, image) in images.iter().enumerate() {
            let now = seen(image.path());
            assert!(now == before || now == after, "instant {instant}: {now:?}");
            flips += usize::from(now == after && flips == 0);
            // The next commit, of the same tree or of another, stands and leaves nothing of the crash.
            for next in [new, old] {
                let image = self::image(image.path());
                commit(image.path(), &next.0, &next.1, us()).unwrap();
                assert_eq!(seen(image.path()), if next == new { after.clone() } else { before.clone() });
                assert_eq!(names(&image.path().join(".generations")).len(), 1);
                let shown = names(image.path()).into_iter().filter(|n| !n.starts_with('.')).count();
                assert_eq!(shown, seen(image.path()).keys().filter(|path| !path.contains('/')).count());
                assert!(!image.path().join(".current.new").is_symlink());
            }
        }
        assert_eq!(flips, 1);
    }
}

#[test]
fn foreign_files_are_reported_and_kept() {
    let temp = tempfile::tempdir().unwrap();
    put(temp.path(), &tree(&[("a/x", "1")]), &[]);
    fs::create_dir_all(temp.path().join("b/precious")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), temp.path().join("c")).unwrap();
    fs::create_dir(temp.path().join("lost+found")).unwrap();
    let before = (seen(temp.path()), names(temp.path()));
    let problems = commit(temp.path(), &tree(&[("a/x", "2"), ("b/x", "2"), ("c/x", "2")]), &[], us()).unwrap_err();
    assert_eq!((problems.iter().count(), problems.exit_code()), (2, 70));
    assert!(problems.to_string().contains("/b is in the way"), "{problems}");
    assert_eq!((seen(temp.path()), names(temp.path())), before);
    // Where nothing wants their names they do not matter.
    put(temp.path(), &tree(&[("a/x", "2")]), &[]);
    assert!(temp.path().join("b/precious").is_dir() && temp.path().join("c").is_symlink());
    assert!(names(elsewhere.path()).is_empty());
}

#[test]
fn links_with_the_names_of_outputs_are_not_followed() {
    for name in [".generations", ".current", ".current.new"] {
        let temp = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), temp.path().join(name)).unwrap();
        assert!(commit(temp.path(), &tree(&[("a/x", "1")]), &[], us()).is_err());
        assert!(names(elsewhere.path()).is_empty());
        assert_eq!(names(temp.path()), [name]);
    }
}

#[test]
fn a_failed_commit_leaves_everything_as_it_was() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("jobs");
    // 255 bytes are the limit of a name, 4096 that of a path.
    let deep = (0..20).map(|_| "n".repeat(250)).collect::<Vec<_>>().join("/");
    let failing = tree(&[("a/x", "2"), ("new/z", "2"), (&format!("a/{deep}"), "2")]);
    assert_eq!(commit(&dir, &failing, &[], us()).unwrap_err().exit_code(), 70);
    assert!(!dir.exists());
    put(&dir, &tree(&[("a/x", "1"), ("old/y", "1")]), &[]);
    let before = (seen(&dir), names(&dir), names(&dir.join(".generations")));
    assert!(commit(&dir, &failing, &[], us()).is_err());
    assert_eq!((seen(&dir), names(&dir), names(&dir.join(".generations"))), before);
    assert!(commit(&temp.path().join("jobs/a/x"), &failing, &[], us()).is_err());
}

#[test]
fn commits_into_one_directory_exclude_each_other() {
    let temp = tempfile::tempdir().unwrap();
    let trees: Vec<_> = (0..8)
        .map(|n: usize| {
            let files: Vec<(String, String)> =
                (0..20).map(|f| (format!("job{}/f{f}", (n + f) % 5), n.to_string())).collect();
            tree(&files.iter().map(|(p, c)| (p.as_str(), c.as_str())).collect::<Vec<_>>())
        })
        .collect();
    std::thread::scope(|scope| {
        for tree in &trees {
            scope.spawn(|| (0..5).for_each(|_| put(temp.path(), tree, &[])));
        }
    });
    let end = seen(temp.path());
    let contents: std::collections::BTreeSet<_> = end.values().flatten().map(|(content, _)| content).collect();
    assert_eq!(contents.len(), 1, "the end is one of the trees, whole");
    assert_eq!(end.values().flatten().count(), 20);
    assert_eq!(names(&temp.path().join(".generations")).len(), 1);
}

#[test]
fn a_large_tree_is_written_whole() {
    let temp = tempfile::tempdir().unwrap();
    let files: Vec<(String, String)> = (0..300).map(|n| (format!("j{}/config/{n}", n % 7), n.to_string())).collect();
    let files: Vec<_> = files.iter().map(|(p, c)| (p.as_str(), c.as_str())).collect();
    put(temp.path(), &tree(&files), &[]);
    let end = seen(temp.path());
    assert!(files.iter().all(|(p, c)| end[*p] == Some((c.as_bytes().to_vec(), 0o640))));
}

#[test]
fn links_are_written_verbatim_and_kept_while_their_target_is_unchanged() {
    let temp = tempfile::tempdir().unwrap();
    let link = |target: &str| RenderedEntry { path: "a/bin/l".into(), content: target.into(), mode: LINK };
    let path = temp.path().join("a/bin/l");
    put(temp.path(), &[link("/nowhere/at/all")], &[]);
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("/nowhere/at/all"));
    let generation = fs::read_link(temp.path().join(".current")).unwrap();
    put(temp.path(), &[link("/nowhere/at/all")], &[]);
    assert_eq!(fs::read_link(temp.path().join(".current")).unwrap(), generation, "nothing has changed");
    put(temp.path(), &[link("/somewhere/else!")], &[]);
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("/somewhere/else!"));
    // An entry with a file mode is written as a file, though it has the same content.
    put(temp.path(), &[RenderedEntry { mode: 0o640, ..link("/somewhere/else!") }], &[]);
    assert!(path.symlink_metadata().unwrap().is_file());
}

#[test]
fn files_at_the_top_are_exchanged_with_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("out");
    let put = |files: &[(&str, &str)]| commit_files(&base, &tree(files), us()).unwrap();
    let read = |name: &str| fs::read_to_string(base.join(name)).ok();
    put(&[("args.json", "1"), ("userdata", "1"), ("files/a", "1")]);
    assert_eq!((read("args.json"), read("files/a")), (Some("1".into()), Some("1".into())));
    let before = fs::read_link(base.join(".current")).unwrap();
    put(&[("args.json", "1"), ("userdata", "1"), ("files/a", "1")]);
    assert_eq!(fs::read_link(base.join(".current")).unwrap(), before, "an equal tree is left as it is");
    put(&[("args.json", "2")]);
    assert_eq!(names(&base), [".current", ".generations", "args.json"]);
    assert_eq!(read("args.json"), Some("2".into()));
}
