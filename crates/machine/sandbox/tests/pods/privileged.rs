//! Tests of privileged sandboxes: what their commands can do, and that nothing of it stays.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Host, ExitCode};

use sandbox::{Exit, Ids, Instance, Network, Process, ProcessId, Subnet};
use testkit::waiting::eventually;

use crate::outside::{Outcome, Pods, Test, command, spec};

pub(crate) const TESTS: &[Test] = &[
    ("a_privileged_command_makes_devices_mounts_and_namespaces", devices_and_mounts),
    ("other_commands_see_its_mounts_and_cannot_mount", others),
    ("a_privileged_sandbox_has_a_cgroup_of_its_own", cgroups),
    ("settings_of_the_machine_are_written_for_the_sandbox_alone_and_reported_once", settings),
    ("a_read_only_cgroup_hierarchy_is_one_warning", read_only_cgroups),
    ("a_user_namespace_can_have_a_proc_of_its_own", nested_proc),
    ("nothing_stays_of_a_privileged_sandbox", released),
    ("nothing_stays_of_privileged_sandboxes_whose_program_was_killed", killed),
];

/// Makes loop devices as scripts of jobs do it.
const LOOP_DEVICES: &str = "mknod /dev/loop-control c 10 237\n\
    for n in $(seq 0 31); do mknod -m 0660 /dev/loop$n b 7 $n; done\n\
    truncate -s 16M /var/vcap/data/image\n";

/// Makes a cgroup in each hierarchy, where a job's scripts do.
const CGROUPS: &str =
    "for dir in $(grep -E ' cgroup2? ' /proc/self/mounts | cut -d ' ' -f 2); do mkdir -p $dir/garden/1; done\n";

/// A network with one privileged instance.
fn start() -> Result<(Pods, Instance), Box<dyn std::error::Error>> {
    let pods = Pods::start()?;
    let mut spec = spec(pods.directory.path(), 0)?;
    spec.privileged = true;
    fs::create_dir(spec.vcap.join("data"))?;
    let instance = pods.network.create(spec)?;
    Ok((pods, instance))
}

/// Whether boson is a root who can do everything, and this machine has loop devices.
fn is_root(pods: &Pods) -> bool {
    let can = pods.network.ids() == Ids::Host && Path::new("/dev/loop-control").exists();
    if !can {
        println!("skipped: not root, or no loop devices");
    }
    can
}

fn begin(instance: &Instance, privileged: bool, script: &str) -> Result<(Process, File), Box<dyn std::error::Error>> {
    let (mut shell, output) = command(&[])?;
    shell.argv = ["/bin/bash", "-c", &format!("set -e\n{script}")].map(str::to_owned).into();
    shell.env = vec![("PATH".into(), "/usr/sbin:/usr/bin:/sbin:/bin".into())];
    shell.privileged = privileged;
    Ok((instance.run(shell)?, output))
}

fn run(instance: &Instance, privileged: bool, script: &str) -> Result<(Exit, String), Box<dyn std::error::Error>> {
    let (process, mut output) = begin(instance, privileged, script)?;
    let mut text = String::new();
    output.read_to_string(&mut text)?;
    Ok((process.wait(), text))
}

/// The output of a privileged script, which must succeed.
fn succeed(instance: &Instance, script: &str) -> Result<String, Box<dyn std::error::Error>> {
    let (exit, text) = run(instance, true, script)?;
    assert_eq!(exit, Exit::Code(0), "{text}");
    Ok(text)
}

fn devices_and_mounts() -> Outcome {
    let (pods, instance) = start()?;
    if !is_root(&pods) {
        return Ok(());
    }
    let text = succeed(
        &instance,
        &format!(
            "{LOOP_DEVICES}mkfs.ext4 -q /var/vcap/data/image
            cd /var/vcap/data; mkdir mounted new inner
            mount -o loop image mounted; touch mounted/file
            mount --bind new new; mount --make-shared new; mount -t tmpfs -o size=1m tmpfs new/
            mkdir -p upper work lower; mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay inner
            mknod null c 1 3; echo gone >null
            unshare --mount --net --pid --fork --mount-proc sh -c 'echo pid $$; ip -o link | wc -l'
            unshare --user --map-root-user --mount chroot / id -u
            ip link add br0 type bridge; ip link add v0 type veth peer name v1; ip link set v0 master br0
            ip address add 10.255.0.1/24 dev br0; ip link set br0 up; ip route show default | cut -d ' ' -f 1-3
            umount mounted; echo done"
        ),
    )?;
    assert_eq!(text, "pid 1\n1\n0\ndefault via 10.244.0.1\ndone\n");
    Ok(())
}

fn others() -> Outcome {
    let (pods, instance) = start()?;
    succeed(
        &instance,
        "mkdir /var/vcap/data/m; mount -t tmpfs tmpfs /var/vcap/data/m; echo seen >/var/vcap/data/m/file",
    )?;
    let (exit, text) = run(&instance, false, "cat /var/vcap/data/m/file; mount -t tmpfs tmpfs /mnt")?;
    assert!(exit != Exit::Code(0) && text.starts_with("seen\n"), "{text}");
    assert!(run(&instance, false, "mknod /tmp/null c 1 3")?.0 != Exit::Code(0));
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    assert!(!mounts.contains(pods.directory.path().to_str().ok_or("no text")?));
    Ok(())
}

fn cgroups() -> Outcome {
    let (pods, instance) = start()?;
    if !is_root(&pods) {
        return Ok(());
    }
    assert_eq!(instance.take_warnings(), [""; 0]);
    let text =
        succeed(&instance, "grep -v '^0:' /proc/self/cgroup | cut -d : -f 3 | sort -u; grep '^0:' /proc/self/cgroup")?;
    assert!(["/\n0::/instance\n", "0::/instance\n", "/\n"].contains(&text.as_str()), "{text}");
    // As garden does it: every enabled controller is mounted anew.
    let text = succeed(
        &instance,
        "root=/var/vcap/data/cgroup; mkdir $root; mount -t tmpfs -o mode=0755 cgroup $root
        if ! stat -f -c %T /sys/fs/cgroup | grep -q cgroup2; then
          for name in $(awk 'NR > 1 && $4 == 1 {print $1}' /proc/cgroups); do
            group=$(cut -d : -f 2 /proc/self/cgroup | grep -w \"$name\")
            mkdir $root/$name; mount -n -t cgroup -o $group cgroup $root/$name; mkdir $root/$name/garden
          done
          if [ -d $root/devices ]; then
            echo a >$root/devices/garden/devices.deny
            echo 'c *:* m' >$root/devices/garden/devices.allow
            echo 'c 1:3 rwm' >$root/devices/garden/devices.allow
          fi
        fi
        echo done",
    )?;
    assert_eq!(text, "done\n");
    assert!(!own_cgroups(pods.directory.path()).is_empty());
    Ok(())
}

fn settings() -> Outcome {
    const MACHINE: [&str; 3] = [
        "/proc/sys/kernel/dmesg_restrict",
        "/proc/sys/fs/inotify/max_user_watches",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ];
    let host = || MACHINE.map(|path| fs::read_to_string(path).ok());
    let before = host();
    let (pods, instance) = start()?;
    let existing: Vec<&str> = MACHINE.into_iter().filter(|path| Path::new(path).exists()).collect();
    for path in &existing {
        // Twice, and it is reported once.
        let text = succeed(&instance, &format!("echo 4711 >{path}; echo 4712 >{path}; cat {path}"))?;
        assert_eq!(text, "4712\n", "{path}");
    }
    // The events are read between commands.
    succeed(&instance, "true")?;
    let mut expected: Vec<String> = existing
        .iter()
        .map(|path| format!("{path} is a setting of the whole machine: the value is written for this instance alone"))
        .collect();
    let mut warnings = instance.take_warnings();
    warnings.retain(|warning| warning.contains("a setting of"));
    warnings.sort();
    expected.sort();
    assert_eq!(warnings, expected);
    assert_eq!(host(), before);
    let own = "echo 1 >/proc/sys/net/ipv4/ip_forward; cat /proc/sys/net/ipv4/ip_forward; echo x >/proc/sys/kernel/hostname; hostname";
    if pods.network.ids() == Ids::Host {
        assert_eq!(succeed(&instance, own)?, "1\nx\n");
    }
    assert!(run(&instance, true, "echo h >/proc/sysrq-trigger")?.0 != Exit::Code(0));
    Ok(())
}

/// The kernel permits it only where a whole `/proc` is visible.
fn nested_proc() -> Outcome {
    let (pods, instance) = start()?;
    if is_root(&pods) {
        let script = "unshare --user --map-root-user --pid --mount --fork sh -c 'mount -t proc proc /proc && echo $$'";
        assert_eq!(succeed(&instance, script)?, "1\n");
    }
    Ok(())
}

fn released() -> Outcome {
    let (pods, instance) = start()?;
    if !is_root(&pods) {
        return Ok(());
    }
    let directory = pods.directory.path();
    succeed(&instance, &format!("{LOOP_DEVICES}{CGROUPS}losetup -f /var/vcap/data/image"))?;
    assert!(!own_cgroups(directory).is_empty() && attached(directory));
    let init = ProcessId::of(instance.init()).ok_or("no init")?;
    instance.kill();
    eventually("the end of the sandbox", || !init.is_alive());
    instance.release();
    assert!(own_cgroups(directory).iter().all(|path| !path.join("g-0").exists()));
    assert!(!attached(directory));
    pods.network.stop();
    assert!(own_cgroups(directory).is_empty());
    Ok(())
}

fn read_only_cgroups() -> Outcome {
    let pods = Pods::start()?;
    if !is_root(&pods) {
        return Ok(());
    }
    let script = "for dir in $(grep -E ' cgroup2? ' /proc/self/mounts | cut -d ' ' -f 2); do mount -o remount,bind,ro $dir; done; \
                  exec \"$0\" \"$@\"";
    let directory = tempfile::tempdir()?;
    let mut program = Host::new("unshare");
    program.args(["--mount", "sh", "-e", "-c", script]).arg(std::env::current_exe()?).arg(directory.path());
    let output = program.arg("warn-privileged").output()?;
    let text = String::from_utf8(output.stdout)?;
    let start = "it has no cgroup of its own, and /sys/fs/cgroup is empty: cannot make the cgroup /sys/fs/cgroup/";
    assert!(text.starts_with(start) && text.contains("Read-only file system") && text.lines().count() == 1, "{text}");
    Ok(())
}

/// The program that [`read_only_cgroups`] starts: prints the warnings of a privileged sandbox.
pub(crate) fn warnings() -> Option<ExitCode> {
    let directory = argument_of("warn-privileged")?;
    let network = Network::start(Subnet::default(), None, Some(&directory)).unwrap();
    let mut spec = spec(&directory, 0).unwrap();
    spec.privileged = true;
    let instance = network.create(spec).unwrap();
    assert_eq!(succeed(&instance, "ls /sys/fs/cgroup").unwrap(), "");
    instance.take_warnings().iter().for_each(|warning| println!("{warning}"));
    Some(ExitCode::SUCCESS)
}

/// The first argument of this program, if the second one is this.
fn argument_of(mode: &str) -> Option<PathBuf> {
    std::env::args_os().nth(1).filter(|_| std::env::args().nth(2).as_deref() == Some(mode)).map(PathBuf::from)
}

/// The program that [`killed`] kills: makes what could stay, prints the process that holds the network, then waits.
pub(crate) fn holder_to_be_killed() -> Option<ExitCode> {
    let directory = argument_of("hold-privileged")?;
    let network = Network::start(Subnet::default(), None, Some(&directory)).unwrap();
    let mut spec = spec(&directory, 0).unwrap();
    spec.privileged = true;
    fs::create_dir(spec.vcap.join("data")).unwrap();
    let instance = network.create(spec).unwrap();
    succeed(&instance, &format!("{LOOP_DEVICES}{CGROUPS}losetup -f /var/vcap/data/image")).unwrap();
    let script = "unshare --pid --net --fork sleep 1000 & echo ready; sleep 1000";
    let (_process, output) = begin(&instance, true, script).unwrap();
    BufReader::new(output).read_line(&mut String::new()).unwrap();
    println!("{}", network.process().unwrap().pid);
    loop {
        std::thread::park();
    }
}

fn killed() -> Outcome {
    let pods = Pods::start()?;
    if !is_root(&pods) {
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let mut program = Host::new("/proc/self/exe")
        .arg(directory.path())
        .arg("hold-privileged")
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(program.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let holder = ProcessId::of(line.trim().parse()?).ok_or("no holder")?;
    assert!(!own_cgroups(directory.path()).is_empty() && attached(directory.path()));
    program.kill()?;
    program.wait()?;
    eventually("the removal of what a killed program left", || {
        !holder.is_alive() && own_cgroups(directory.path()).is_empty() && !attached(directory.path())
    });
    Ok(())
}

/// The cgroups of sandboxes whose files are in this directory.
fn own_cgroups(owner: &Path) -> Vec<PathBuf> {
    let meta = fs::metadata(owner).unwrap();
    let prefix = format!("boson-{:x}-{:x}-", meta.dev(), meta.ino());
    let (mut found, mut pending) = (Vec::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
    while let Some(directory) = pending.pop() {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                found.push(entry.path());
            } else {
                pending.push(entry.path());
            }
        }
    }
    found
}

/// Whether the image of a sandbox in this directory is the file of a loop device.
fn attached(directory: &Path) -> bool {
    let image = directory.join("0/vcap/data/image");
    let output =
        Host::new("losetup").args(["--noheadings", "--raw", "--output", "NAME", "--associated"]).arg(image).output();
    output.is_ok_and(|output| !output.stdout.is_empty())
}
