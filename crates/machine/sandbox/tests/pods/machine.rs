//! Tests of the properties that an instance shares with a VM.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sandbox::{Access, Bind, Exit, Ids};

use crate::outside::{Outcome, Pods, Test, command, output, spec};

pub(crate) const TESTS: &[Test] = &[
    ("an_instance_can_write_where_scripts_write_on_a_vm", writable),
    ("programs_of_packages_get_capabilities", capabilities),
    ("protected_files_of_the_host_are_not_visible", no_secrets),
    ("parameters_of_the_ipc_namespace_can_be_set", kernel),
    ("a_default_route_shows_a_program_its_address", route),
    ("a_name_server_of_the_program_answers_in_the_network", name_server),
    ("dev_log_leads_to_the_reader_of_the_sandbox", syslog),
    ("su_runs_commands_as_vcap", su),
    ("a_limit_above_the_hard_limit_is_raised_or_clamped", limits),
    ("another_root_file_system_is_the_base", base),
];

/// The directories that scripts of releases write to.
const WRITTEN: [&str; 12] = [
    "/etc/profile.d/boson-test.sh",
    "/etc/sysctl.d/boson-test.conf",
    "/etc/cron.d/boson-test",
    "/etc/security/limits.d/boson-test.conf",
    "/etc/sudoers.d/boson-test",
    "/etc/pam.d/boson-test",
    "/etc/boson-test",
    "/usr/local/boson-test",
    "/usr/local/bin/boson-test",
    "/usr/share/boson-test",
    "/opt/boson-test",
    "/var/log/boson-test",
];

fn writable() -> Outcome {
    let pods = Pods::start()?;
    let a = pods.instance(0)?;
    // A host without this directory has none in the sandbox.
    let paths: Vec<&str> =
        WRITTEN.into_iter().filter(|path| !path.contains("bin/") || Path::new("/usr/local/bin").is_dir()).collect();
    assert_eq!(output(&a, &["write", &paths.join(" ")])?, (Exit::Code(0), String::new()));
    let text = output(&a, &["read", &paths.join(" ")])?.1;
    assert_eq!(text.matches(": by the sandbox\n").count(), paths.len(), "{text}");
    let text = output(&pods.instance(1)?, &["read", &paths.join(" ")])?.1;
    assert_eq!(text.matches(": entity not found\n").count(), paths.len(), "{text}");
    for path in paths {
        assert!(!Path::new(path).exists(), "{path} is on the host");
    }
    Ok(())
}

fn capabilities() -> Outcome {
    let pods = Pods::start()?;
    let mut spec = spec(pods.directory.path(), 0)?;
    let package = pods.directory.path().join("package");
    fs::create_dir_all(package.join("bin"))?;
    let tool = package.join("bin/tool");
    fs::copy(std::env::current_exe()?, &tool)?;
    fs::set_permissions(&tool, Permissions::from_mode(0o755))?;
    let before = fs::metadata(&tool)?.modified()?;
    let target = PathBuf::from("/var/vcap/packages/app");
    spec.binds = vec![Bind { source: package.clone(), target, access: Access::Layer }];
    let a = pods.network.create(spec)?;
    let (exit, text) = output(&a, &["capability", "/var/vcap/packages/app/bin/tool"])?;
    assert_eq!((exit, text.as_str()), (Exit::Code(0), "set Ok(())\nbinds low ports true\n"));
    assert_eq!(output(&a, &["write", "/var/vcap/packages/app/bin/new"])?.1, "");
    assert_eq!(fs::read_dir(package.join("bin"))?.count(), 1);
    assert_eq!(fs::metadata(&tool)?.modified()?, before);
    Ok(())
}

fn no_secrets() -> Outcome {
    let pods = Pods::start()?;
    let a = pods.instance(0)?;
    let mut hidden = BTreeSet::from(["/etc/ssh/ssh_host_rsa_key", "/etc/ssl/private/key.pem"].map(PathBuf::from));
    let mut pending = vec![PathBuf::from("/etc")];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let meta = entry.metadata()?;
            if meta.is_dir() {
                pending.push(entry.path());
            } else if meta.is_file() && meta.permissions().mode() & 0o004 == 0 {
                hidden.insert(entry.path());
            }
        }
    }
    hidden.insert("/etc/shadow".into());
    // The sandbox has a file of its own with this name.
    hidden.remove(Path::new("/etc/sudoers"));
    let all: Vec<&str> = hidden.iter().filter_map(|path| path.to_str()).collect();
    for some in all.chunks(100) {
        let text = output(&a, &["read", &some.join(" ")])?.1;
        assert_eq!(text.matches(": entity not found\n").count(), some.len(), "{text}");
    }
    Ok(())
}

fn kernel() -> Outcome {
    let host = || {
        ["shmmax", "shmall", "msgmax", "sem"].map(|name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok())
    };
    let before = host();
    let pods = Pods::start()?;
    let (exit, text) = output(&pods.instance(0)?, &["kernel"])?;
    let read_only = nix::errno::Errno::EROFS as i32;
    let set: String = ["shmmax", "shmall", "msgmax", "sem"].map(|name| format!("{name} Ok(()) true\n")).concat();
    let refused: String = ["vm/swappiness", "kernel/core_pattern", "net/ipv4/ip_forward"]
        .map(|name| format!("{name} Err({read_only})\n"))
        .concat();
    assert_eq!((exit, text), (Exit::Code(0), set + &refused));
    assert_eq!(host(), before);
    Ok(())
}

fn route() -> Outcome {
    let pods = Pods::start()?;
    let text = output(&pods.instance(0)?, &["route"])?.1;
    assert!(text.starts_with("address 10.244.0.2\n"), "{text}");
    Ok(())
}

fn name_server() -> Outcome {
    let pods = Pods::start()?;
    let (datagrams, _connections) = pods.network.name_server()?;
    let server = std::thread::spawn(move || -> std::io::Result<()> {
        let mut query = [0; 64];
        let (length, client) = datagrams.recv_from(&mut query)?;
        query[..length].reverse();
        datagrams.send_to(&query[..length], client).map(drop)
    });
    let mut spec = spec(pods.directory.path(), 0)?;
    spec.name_server = Some(sandbox::Subnet::default().bridge());
    let (exit, text) = output(&pods.network.create(spec)?, &["query"])?;
    assert_eq!((exit, text.as_str()), (Exit::Code(0), "nameserver 10.244.0.1\nolleh\n"));
    server.join().map_err(|_| "the server panicked")??;
    Ok(())
}

fn syslog() -> Outcome {
    let pods = Pods::start()?;
    assert_eq!(output(&pods.instance(0)?, &["syslog"])?, (Exit::Code(0), "<14>a line\n".into()));
    Ok(())
}

fn su() -> Outcome {
    let pods = Pods::start()?;
    // With one id, no other user's groups can be set.
    if pods.network.ids() == Ids::Single || !["/usr/bin/su", "/bin/su"].iter().any(|path| Path::new(path).exists()) {
        println!("skipped: no second user id, or no su");
        return Ok(());
    }
    let a = pods.instance(0)?;
    let (mut su, mut text) = command(&[])?;
    let script =
        "echo 'export FROM_PROFILE=yes' >/etc/profile.d/test.sh; su - vcap -c 'echo $(id -un) $(pwd) $FROM_PROFILE'";
    su.argv = ["/bin/sh", "-c", script].map(str::to_owned).into();
    su.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let process = a.run(su)?;
    let mut printed = String::new();
    std::io::Read::read_to_string(&mut text, &mut printed)?;
    assert_eq!((process.wait(), printed.as_str()), (Exit::Code(0), "vcap /home/vcap yes\n"));
    Ok(())
}

fn limits() -> Outcome {
    let pods = Pods::start()?;
    let a = pods.instance(0)?;
    let (mut shell, mut output) = command(&[])?;
    let script = "ulimit -n 500; ulimit -n 600 && ulimit -n; ulimit -Hn; ulimit -n 400 && ulimit -n";
    shell.argv = ["/bin/sh", "-c", script].map(str::to_owned).into();
    let process = a.run(shell)?;
    let mut text = String::new();
    std::io::Read::read_to_string(&mut output, &mut text)?;
    assert_eq!(process.wait(), Exit::Code(0), "{text}");
    let warnings = a.take_warnings();
    if text == "600\n600\n400\n" {
        // Root may raise the limit.
        assert_eq!(warnings, [""; 0]);
    } else {
        assert_eq!(text, "500\n500\n400\n");
        assert_eq!(warnings, ["Max open files 600 is above the hard limit; sh gets 500"]);
        assert_eq!(a.take_warnings(), [""; 0]);
    }
    Ok(())
}

fn base() -> Outcome {
    let pods = Pods::start()?;
    let base = pods.directory.path().join("base");
    // The smallest root file system in which this executable runs: the libraries that it has loaded.
    for line in fs::read_to_string("/proc/self/maps")?.lines() {
        let Some(path) = line.split_whitespace().nth(5).filter(|path| path.contains(".so")) else { continue };
        let copy = base.join(path.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().ok_or("no parent")?)?;
        fs::copy(path, copy)?;
    }
    for name in ["lib", "lib64"] {
        if let Ok(link) = fs::read_link(Path::new("/").join(name)) {
            fs::create_dir_all(base.join(&link))?;
            std::os::unix::fs::symlink(link, base.join(name))?;
        }
    }
    // The interpreter of an executable has a fixed path, which may be a link.
    let interpreter = Path::new("lib64/ld-linux-x86-64.so.2");
    if !base.join(interpreter).exists() && Path::new("/").join(interpreter).exists() {
        fs::create_dir_all(base.join("lib64"))?;
        fs::copy(Path::new("/").join(interpreter), base.join(interpreter))?;
    }
    fs::create_dir_all(base.join("etc"))?;
    fs::write(base.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\napp:x:7:7::/:/bin/sh\n")?;
    fs::write(base.join("etc/marker"), "of the base")?;
    let mut spec = spec(pods.directory.path(), 0)?;
    spec.base = Some(base.clone());
    let a = pods.network.create(spec)?;
    let text = output(&a, &["read", "/etc/marker /etc/passwd /usr/bin/env /.layers"])?.1;
    assert!(text.starts_with("/etc/marker: of the base\n/etc/passwd: root:x:0:0::/root:/bin/sh\napp:"), "{text}");
    assert!(
        text.contains("\nvcap:*:") && text.ends_with("/usr/bin/env: entity not found\n/.layers: entity not found\n"),
        "{text}"
    );
    assert_eq!(output(&a, &["write", "/etc/marker /new /usr/new"])?.1, "");
    assert_eq!(fs::read_to_string(base.join("etc/marker"))?, "of the base");
    assert!(!base.join("new").exists() && !base.join("var").exists());
    assert!(!pods.directory.path().join("0/root.layers").exists());
    Ok(())
}
