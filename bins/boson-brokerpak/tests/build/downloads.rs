//! What the sources of a pak download.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Server, command, fail, succeed, text, write, zip};
use crate::fixture::{MANIFEST, listing, names, pak};

/// The pak with downloads from a server.
fn downloaded(directory: &Path, server: &Server, query: &str) {
    pak(directory);
    let base = format!("'http://user:canary@{}/", server.address);
    let manifest =
        MANIFEST.replace("'files/", &base).replace("'./files/", &base).replace(".zip'", &format!(".zip{query}'"));
    write(directory.join("manifest.yml"), manifest);
    for entry in fs::read_dir(directory.join("files")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        server.serve(&format!("/{name}"), fs::read(&path).unwrap());
        server.serve(&format!("/{name}?token=canary"), fs::read(&path).unwrap());
    }
}

#[test]
fn downloads_are_taken_from_the_cache() {
    let work = tempfile::tempdir().unwrap();
    let server = Server::start();
    downloaded(&work.path().join("my"), &server, "?token=canary");
    pak(&work.path().join("local"));
    let first = succeed(work.path(), &["build", "my", "--cache", "cache"]);
    assert!(first.contains("(downloaded)") && !first.contains("canary"), "{first}");
    // The provider's URL is the same for both platforms.
    assert_eq!(server.requests(), 7);
    let built = fs::read(work.path().join("pak-1.0.0.brokerpak")).unwrap();
    let again = succeed(work.path(), &["build", "my", "--cache", "cache"]);
    assert!(!again.contains("(downloaded)") && again.contains("(from cache)"), "{again}");
    assert_eq!(server.requests(), 7);
    assert!(built == fs::read(work.path().join("pak-1.0.0.brokerpak")).unwrap());
    // A damaged file is downloaded again.
    let cached = fs::read_dir(work.path().join("cache")).unwrap().next().unwrap().unwrap().path();
    fs::write(&cached, "damaged").unwrap();
    let variable = command(work.path()).args(["build", "my"]).env("PAK_BUILD_CACHE_PATH", "cache").output().unwrap();
    assert!(variable.status.success());
    assert_eq!(server.requests(), 8);
    assert!(built == fs::read(work.path().join("pak-1.0.0.brokerpak")).unwrap());
    // Without a cache nothing is left behind.
    let temporary = work.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let output = command(work.path()).args(["build", "my"]).env("TMPDIR", &temporary).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(server.requests(), 15);
    assert_eq!(names(&temporary), [""; 0]);
}

#[test]
fn downloads_that_fail_leave_nothing() {
    let work = tempfile::tempdir().unwrap();
    let server = Server::start();
    downloaded(&work.path().join("my"), &server, "?token=canary");
    server.serve("/psql-linux-386", b"other".to_vec());
    let manifest = work.path().join("my/manifest.yml");
    let original = fs::read_to_string(&manifest).unwrap();
    for (from, to, code, message) in [
        ("psql", "nope", 70, "/nope-linux-386: HTTP status 404, not 200"),
        (
            "token=canary",
            "checksum=sha256:0000000000000000000000000000000000000000000000000000000000000000",
            65,
            "the checksum is ",
        ),
        ("http://", "git::http://", 65, "only https, http and files are read"),
        (".zip?", ".tgz?", 65, "only zip files are unpacked"),
    ] {
        write(&manifest, original.replace(from, to));
        let stderr = fail(work.path(), &["build", "my", "--cache", "cache"], code);
        assert!(stderr.contains(message) && !stderr.contains("canary"), "{from}: {stderr}");
        assert_eq!(names(work.path()), ["cache", "my"]);
    }
    write(&manifest, original);
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 1; trap '' XFSZ; exec \"$0\" brokerpak build my --no-compress"])
        .arg(env!("CARGO_BIN_EXE_boson-brokerpak"))
        .current_dir(work.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(70), "{}", text(&output.stderr));
    assert_eq!(names(work.path()), ["cache", "my"]);
}

#[test]
fn checksums_are_compared() {
    let work = tempfile::tempdir().unwrap();
    let directory = work.path().join("my");
    pak(&directory);
    let sha256 = |name: &str| {
        let output = Command::new("sha256sum").arg(name).current_dir(directory.join("files")).output().unwrap();
        text(&output.stdout)
    };
    let name = "terraform-provider-own_v1.1.0.zip";
    let file = format!("file://{}/files/{name}", directory.display());
    let sum = sha256(name).split(' ').next().unwrap().to_owned();
    write(directory.join("files/SHA256SUMS"), format!("{}{}", sha256("source.zip"), sha256(name)));
    write(directory.join("files/OTHERS"), sha256("source.zip"));
    let list = |list: &str| format!("file:{}/files/{list}", directory.display());
    for (checksum, expected) in [
        (format!("sha256:{sum}"), Ok(())),
        (sum.clone(), Ok(())),
        (list("SHA256SUMS"), Ok(())),
        (list("OTHERS"), Err("does not have terraform-provider-own_v1.1.0.zip")),
        (format!("sha256:{}", sum.replace(|c: char| c != '0', "0")), Err("the checksum is ")),
        ("sha1:00".to_owned(), Err("the checksum is not sha256:")),
    ] {
        let template = format!("{file}?checksum={checksum}");
        write(directory.join("manifest.yml"), MANIFEST.replace("./files/${name}_v${version}.zip", &template));
        match expected {
            Ok(()) => drop(succeed(work.path(), &["build", "my"])),
            Err(message) => {
                let stderr = fail(work.path(), &["build", "my"], 65);
                assert!(stderr.contains(message), "{checksum}: {stderr}");
            }
        }
    }
}

#[test]
fn hostile_downloads_change_nothing() {
    let work = tempfile::tempdir().unwrap();
    let directory = work.path().join("my");
    pak(&directory);
    let provider = directory.join("files/terraform-provider-own_v1.1.0.zip");
    let own: (&str, u32, &[u8]) = ("terraform-provider-own_v1.1.0", 0o755, b"own");
    let mut lying = zip(&[own, ("b", 0o644, &[0; 5000])]);
    for at in 0..lying.len() - 4 {
        if lying[at..at + 4] == 5000u32.to_le_bytes() {
            lying[at..at + 4].copy_from_slice(&1u32.to_le_bytes());
        }
    }
    let many: Vec<String> = (0..10_001).map(|number| number.to_string()).collect();
    let many: Vec<(&str, u32, &[u8])> = many.iter().map(|name| (name.as_str(), 0o644, &b""[..])).collect();
    for (archive, message) in [
        (zip(&[own, ("../escaped", 0o644, b"x")]), "has a name that leads elsewhere"),
        (zip(&[own, ("/tmp/escaped", 0o644, b"x")]), "has a name that is absolute"),
        (zip(&[own, ("A", 0o644, b"x"), ("a", 0o644, b"x")]), "is doubled"),
        (zip(&many), "10001 entries"),
        (lying, "b: File is larger than its declared uncompressed size"),
        (b"not a zip".to_vec(), "is not a zip archive"),
        (zip(&[("terraform-provider-other", 0o755, b"x")]), "file with prefix"),
        (
            zip(&[own, ("terraform-provider-own_v1.1.0_x5/a", 0o755, b"x"), ("1.4.0/terraform", 0o755, b"x")]),
            "two different files",
        ),
        (
            zip(&[("terraform-provider-own_v1.1.0_a", 0o755, b"x"), ("terraform-provider-own_v1.1.0_b", 0o755, b"")]),
            "multiple files found",
        ),
    ] {
        write(&provider, &archive);
        let stderr = fail(work.path(), &["build", "my"], 65);
        assert!(stderr.contains(message), "{message}: {stderr}");
        assert_eq!(names(work.path()), ["my"]);
    }
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.add_symlink("terraform-provider-own_v1.1.0", "/bin/sh", zip::write::SimpleFileOptions::default()).unwrap();
    write(&provider, writer.finish().unwrap().into_inner());
    assert!(fail(work.path(), &["build", "my"], 65).contains("is a link or a special file"));
    // Set-uid bits are dropped.
    write(&provider, zip(&[own]));
    let bytes = fs::read(&provider).unwrap();
    let mut special = bytes.clone();
    for at in 0..bytes.len() - 2 {
        if bytes[at..at + 2] == 0o100_755u16.to_le_bytes() {
            special[at..at + 2].copy_from_slice(&0o104_755u16.to_le_bytes());
        }
    }
    write(&provider, special);
    succeed(work.path(), &["build", "my"]);
    let listing = listing(&work.path().join("pak-1.0.0.brokerpak"));
    assert!(listing.contains(&"100755 bin/linux/386/terraform-provider-own_v1.1.0".to_owned()), "{listing:?}");
}
