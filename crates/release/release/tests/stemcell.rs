//! Root file systems as directories, archives and images.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use release::Stemcell;
use sha2::{Digest, Sha256};
use testkit::files::{names, write};

/// A directory for archives, and a cache.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Fixture {
        Fixture(tempfile::tempdir().unwrap())
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn open(&self, path: &str) -> Result<Stemcell, String> {
        Stemcell::open(&self.path(path), &self.path("cache"), &|| false).map_err(|problems| {
            assert_eq!(problems.exit_code(), 65, "{problems}");
            problems.to_string()
        })
    }

    fn shell(&self, script: &str) {
        let status = Command::new("sh").args(["-euc", script]).current_dir(self.0.path()).status().unwrap();
        assert!(status.success(), "{script}");
    }

    /// An OCI image layout with these layers (files below `blobs/sha256`).
    fn layout(&self, layers: &[&str]) {
        let blobs = self.path("layout/blobs/sha256");
        let descriptors: Vec<String> =
            layers.iter().map(|layer| format!("{{\"digest\": \"sha256:{}\"}}", self.blob(layer))).collect();
        let manifest = format!("{{\"schemaVersion\": 2, \"layers\": [{}]}}", descriptors.join(", "));
        write(&self.path("manifest.json"), &manifest);
        let manifest = self.blob("manifest.json");
        let other = "{\"digest\": \"sha256:0\", \"platform\": {\"os\": \"linux\", \"architecture\": \"z80\"}}";
        write(
            &self.path("layout/index.json"),
            format!("{{\"manifests\": [{other}, {{\"digest\": \"sha256:{manifest}\"}}]}}"),
        );
        write(&self.path("layout/oci-layout"), "{\"imageLayoutVersion\": \"1.0.0\"}");
        assert!(blobs.is_dir());
    }

    fn blob(&self, file: &str) -> String {
        let content = fs::read(self.path(file)).unwrap();
        let digest: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        let blobs = self.path("layout/blobs/sha256");
        fs::create_dir_all(&blobs).unwrap();
        fs::write(blobs.join(&digest), content).unwrap();
        digest
    }
}

fn read(stemcell: &Stemcell, path: &str) -> String {
    fs::read_to_string(stemcell.dir.join(path)).unwrap()
}

/// A root file system `root` with a set-user-id program and links.
const ROOT: &str = "mkdir -p root/usr/bin root/etc root/closed; echo program >root/usr/bin/su; chmod 4755 root/usr/bin/su
    ln -s usr/bin root/bin; ln root/usr/bin/su root/usr/bin/again; ln -s /usr/bin root/absolute; echo jammy >root/etc/os-release
    echo x >root/closed/file; chmod 500 root/closed; mkfifo root/pipe";

#[test]
fn archives_are_unpacked_once_and_directories_are_used_as_they_are() {
    let fixture = Fixture::new();
    fixture.shell(ROOT);
    let directory = fixture.open("root").unwrap();
    assert_eq!(directory.dir, fixture.path("root").canonicalize().unwrap());
    fixture.shell("tar -C root -cf plain.tar . && gzip -k plain.tar && tar -C root -czf bare.tgz usr etc");
    for archive in ["plain.tar", "plain.tar.gz"] {
        let stemcell = fixture.open(archive).unwrap();
        assert_ne!(stemcell.id, directory.id);
        assert_eq!(read(&stemcell, "bin/su"), "program\n");
        let su = fs::metadata(stemcell.dir.join("usr/bin/su")).unwrap();
        assert_eq!((su.mode() & 0o7777, su.nlink()), (0o4755, 2));
        assert_eq!(fs::read_link(stemcell.dir.join("absolute")).unwrap(), Path::new("/usr/bin"));
        assert_eq!(read(&stemcell, "closed/file"), "x\n");
        // No other user of the host runs its programs.
        let above = fs::metadata(stemcell.dir.parent().unwrap()).unwrap();
        assert_eq!(above.permissions().mode() & 0o777, 0o700);
        fs::write(stemcell.dir.join("marker"), "").unwrap();
        assert!(fixture.open(archive).unwrap().dir.join("marker").exists());
    }
    assert_eq!(read(&fixture.open("bare.tgz").unwrap(), "etc/os-release"), "jammy\n");
}

#[test]
fn an_image_of_layers_is_unpacked_with_its_whiteouts() {
    let fixture = Fixture::new();
    fixture.shell(ROOT);
    fixture.shell(
        "tar -C root -czf one.tgz .
        mkdir -p two/bin two/etc two/absolute two/var two/closed; rm -r two/bin two/absolute
        mkdir -p two/usr/bin two/opt; echo new >two/usr/bin/new; touch two/usr/bin/.wh.again two/closed/.wh..wh..opq
        echo kept >two/closed/kept; ln -s bin two/usr/sbin; tar -C two -cf two.tar .
        mkdir -p three/usr/sbin; echo through >three/usr/sbin/tool
        tar -C three -cf three.tar usr/sbin/tool",
    );
    fixture.layout(&["one.tgz", "two.tar", "three.tar"]);
    let stemcell = fixture.open("layout").unwrap();
    assert_eq!(names(&stemcell.dir.join("usr/bin")), ["new", "su", "tool"]);
    assert_eq!(names(&stemcell.dir.join("closed")), ["kept"]);
    assert_eq!(read(&stemcell, "usr/sbin/tool"), "through\n");
    fixture.shell("tar -C layout -cf layout.tar .");
    assert_eq!(names(&fixture.open("layout.tar").unwrap().dir.join("usr/bin")), ["new", "su", "tool"]);
    assert!(!names(&fixture.path("cache/stemcells")).iter().any(|name| name.contains('.')));

    let layer = fixture.path("layout/blobs/sha256").join(fixture.blob("two.tar"));
    fs::write(&layer, "changed").unwrap();
    write(
        &fixture.path("layout/index.json"),
        format!("{}\n", fs::read_to_string(fixture.path("layout/index.json")).unwrap()),
    );
    let text = fixture.open("layout").unwrap_err();
    assert!(text.contains("the image is damaged") && text.contains("expected"), "{text}");
}

#[test]
fn a_bosh_stemcell_holds_an_archive() {
    let fixture = Fixture::new();
    fixture.shell(ROOT);
    fixture.shell("tar -C root -czf image . && echo 'name: s' >stemcell.MF && tar -czf stemcell.tgz stemcell.MF image");
    assert_eq!(read(&fixture.open("stemcell.tgz").unwrap(), "bin/su"), "program\n");
    fixture.shell("echo >root.img && tar -czf image root.img && tar -czf disk.tgz ./stemcell.MF ./image");
    let text = fixture.open("disk.tgz").unwrap_err();
    assert!(text.contains("disk.tgz is not a root file system") && text.contains("root.img"), "{text}");
    fixture.shell("tar -czf empty.tgz stemcell.MF");
    assert!(fixture.open("empty.tgz").unwrap_err().contains("has no image"));
    assert!(!names(&fixture.path("cache/stemcells")).iter().any(|name| name.contains('.')));
}

#[test]
fn an_invalid_stemcell_is_refused_and_leaves_nothing() {
    let fixture = Fixture::new();
    write(&fixture.path("text"), "nothing");
    fs::create_dir(fixture.path("empty")).unwrap();
    for (path, part) in
        [("text", "cannot unpack"), ("empty", "not a root file system"), ("gone", "cannot read the stemcell")]
    {
        let text = fixture.open(path).unwrap_err();
        assert!(text.contains(part), "{text}");
    }
    // A file below a link that leads out of the archive, and a name that does.
    fixture.shell(
        "mkdir -p a/usr; ln -s / a/usr/out; tar -C a -cf evil.tar usr
        mkdir -p b/usr/out; echo x >b/usr/out/boson-evil; tar -C b -rf evil.tar usr/out/boson-evil
        echo y >up; tar -P --transform 's,^up,../../up-evil,' -rf evil.tar up",
    );
    let stemcell = fixture.open("evil.tar").unwrap();
    assert!(!Path::new("/boson-evil").exists() && !fixture.path("up-evil").exists());
    assert_eq!((read(&stemcell, "boson-evil"), read(&stemcell, "up-evil")), ("x\n".into(), "y\n".into()));
    let left: Vec<String> =
        names(&fixture.path("cache/stemcells")).into_iter().filter(|name| name.contains('.')).collect();
    assert_eq!(left, Vec::<String>::new());
}
