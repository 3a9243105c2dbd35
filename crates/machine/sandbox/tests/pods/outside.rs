//! The tests: the sandbox as seen from the host.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command as Host, ExitCode};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use sandbox::{
    Access, Bind, Command, EXECUTABLE, Exit, Ids, Instance, InstanceSpec, Network, ProcessId, Stdio, Subnet,
};

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

pub(crate) type Test = (&'static str, fn() -> Outcome);

pub(crate) const TESTS: &[Test] = &[
    ("two_instances_listen_on_the_same_port_and_reach_each_other_by_name", same_port),
    ("an_instance_has_its_own_root_file_system", own_root),
    ("a_sandbox_inherits_nothing_from_the_program", nothing_inherited),
    ("a_port_of_an_instance_is_published_on_the_host", published),
    ("exit_statuses_of_commands_are_forwarded", exits),
    ("failed_starts_are_reported", refused),
    ("sandboxes_exit_with_the_program", killed),
    ("a_package_is_compiled_without_a_network", once),
    ("the_host_is_not_changed", unchanged),
];

/// Generous: a machine may be busy.
const DEADLINE: Duration = Duration::from_secs(600);

/// A network with instances `a` and `b`.
pub(crate) struct Pods {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) network: Network,
}

impl Pods {
    pub(crate) fn start() -> Result<Pods, Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        let network = Network::start(Subnet::default(), None, Some(directory.path()))?;
        let hosts =
            [(address(0), "d-g-0.ns"), (address(1), "d-g-1.ns"), (address(0), "d-g.ns"), (address(1), "d-g.ns")];
        fs::write(directory.path().join("hosts"), sandbox::hosts_file(hosts))?;
        Ok(Pods { directory, network })
    }

    pub(crate) fn instance(&self, n: usize) -> Result<Instance, Box<dyn Error>> {
        Ok(self.network.create(spec(self.directory.path(), n)?)?)
    }
}

pub(crate) fn address(n: usize) -> Ipv4Addr {
    Subnet::default().instance(n).unwrap()
}

pub(crate) fn spec(directory: &Path, n: usize) -> Result<InstanceSpec, Box<dyn Error>> {
    let own = directory.join(n.to_string());
    let (vcap, mount_point) = (own.join("vcap"), own.join("root"));
    fs::create_dir_all(&vcap)?;
    fs::create_dir_all(&mount_point)?;
    let hosts = directory.join("hosts");
    Ok(InstanceSpec {
        name: format!("g/{n}"),
        hostname: format!("g-{n}"),
        address: Some(address(n)),
        base: None,
        name_server: None,
        mount_point,
        vcap,
        hosts: hosts.exists().then_some(hosts),
        memory: vec!["/var/vcap/secret".into()],
        binds: vec![],
        executable_names: vec!["run-process".into()],
        privileged: false,
    })
}

/// A command whose output can be read.
pub(crate) fn command(args: &[&str]) -> Result<(Command, File), Box<dyn Error>> {
    let (output, writer) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let argv = std::iter::once(EXECUTABLE).chain(args.iter().copied()).map(str::to_owned).collect();
    let stdio = Stdio::to_file(File::from(writer))?;
    Ok((Command { argv, env: vec![], directory: "/".into(), stdio, privileged: false }, File::from(output)))
}

/// Runs a command until it exits.
pub(crate) fn output(instance: &Instance, args: &[&str]) -> Result<(Exit, String), Box<dyn Error>> {
    let (command, mut output) = command(args)?;
    let process = instance.run(command)?;
    let mut text = String::new();
    output.read_to_string(&mut text)?;
    Ok((process.wait(), text))
}

fn serve(instance: &Instance, text: &str) -> Result<sandbox::Process, Box<dyn Error>> {
    let (command, output) = command(&["serve", text])?;
    let process = instance.run(command)?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    assert_eq!(line, "listening\n");
    Ok(process)
}

fn same_port() -> Outcome {
    let pods = Pods::start()?;
    let (a, b) = (pods.instance(0)?, pods.instance(1)?);
    let _servers = (serve(&a, "I am a")?, serve(&b, "I am b")?);
    assert_eq!(output(&a, &["ask", "d-g-1.ns"])?, (Exit::Code(0), "I am b\n".into()));
    assert_eq!(output(&b, &["ask", "d-g-0.ns"])?, (Exit::Code(0), "I am a\n".into()));
    assert_eq!(output(&b, &["ask", "localhost"])?, (Exit::Code(0), "I am b\n".into()));
    assert_eq!(output(&b, &["ask", "d-g.ns"])?.0, Exit::Code(0));
    Ok(())
}

fn own_root() -> Outcome {
    let pods = Pods::start()?;
    let a = pods.instance(0)?;
    a.write(Path::new("/var/vcap/secret/key"), b"hidden", 0o600)?;
    let (exit, text) = output(&a, &["look"])?;
    assert_eq!(exit, Exit::Code(0), "{text}");
    let vcap = if pods.network.ids() == Ids::Single { 0 } else { 1000 };
    let read_only = nix::errno::Errno::EROFS as i32;
    assert_eq!(
        text,
        format!(
            "hostname g-0\nvcap {vcap}\npids 2\ninterfaces [\"all\", \"default\", \"eth0\", \"lo\"]\nmode 755\n\
             secret hidden\nsysctl {read_only}\n"
        )
    );
    let vcap = pods.directory.path().join("0/vcap");
    assert_eq!(fs::read_to_string(vcap.join("written"))?, "by the sandbox");
    assert_eq!(fs::read_dir(vcap.join("secret"))?.count(), 0, "what lies in memory is not on the host");
    Ok(())
}

fn nothing_inherited() -> Outcome {
    let directory = tempfile::tempdir()?;
    let leaked = File::create(directory.path().join("leaked"))?;
    nix::fcntl::fcntl(&leaked, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()))?;
    let mut mask = nix::sys::signal::SigSet::empty();
    mask.add(Signal::SIGTERM);
    mask.thread_block()?;
    let pods = Pods::start();
    mask.thread_unblock()?;
    let text = output(&pods?.instance(0)?, &["inherited"])?.1;
    assert_eq!(
        text,
        "descriptors 3\nfiles of init 0\nenvironment of init \"\"\nblocked 0000000000000000\npowerful init false\n\
         keys false\n"
    );
    Ok(())
}

fn published() -> Outcome {
    let pods = Pods::start()?;
    let a = pods.instance(0)?;
    let _server = serve(&a, "from inside")?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    pods.network.forward(&listener, SocketAddrV4::new(address(0), 4222))?;
    for _ in 0..3 {
        let mut answer = String::new();
        TcpStream::connect(listener.local_addr()?)?.read_to_string(&mut answer)?;
        assert_eq!(answer, "from inside");
    }
    Ok(())
}

fn exits() -> Outcome {
    let pods = Pods::start()?;
    let a = pods.instance(0)?;
    for code in [0, 1, 77, 255] {
        assert_eq!(output(&a, &["exit", &code.to_string()])?.0, Exit::Code(code));
    }
    assert_eq!(output(&a, &["orphan"])?.0, Exit::Code(7));
    let (command, output) = command(&["linger"])?;
    let process = a.run(command)?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let on_host = sandbox::pid_of(a.init(), process.pid()).ok_or("the process is not on the host")?;
    let arguments = fs::read_to_string(format!("/proc/{on_host}/cmdline"))?;
    assert!(arguments.ends_with("linger\0"), "process {on_host}: {arguments:?}");
    process.signal(Signal::SIGTERM);
    assert_eq!((process.wait(), Exit::Signal(15).code()), (Exit::Signal(15), 143));
    Ok(())
}

fn refused() -> Outcome {
    let pods = Pods::start()?;
    let a = pods.instance(0)?;
    let (mut missing, _output) = command(&[])?;
    missing.argv = vec!["/nowhere".into()];
    assert_eq!(a.run(missing).unwrap_err().to_string(), "cannot run /nowhere: No such file or directory (os error 2)");
    let mut wrong = spec(pods.directory.path(), 1)?;
    wrong.vcap = "/nowhere".into();
    let message = pods.network.create(wrong).unwrap_err().to_string();
    assert!(message.starts_with("cannot show /nowhere at "), "{message}");
    // The network still works after a failure, and another instance can get the address.
    assert_eq!(output(&pods.instance(1)?, &["exit", "3"])?.0, Exit::Code(3));
    Ok(())
}

fn once() -> Outcome {
    let directory = tempfile::tempdir()?;
    let mut spec = spec(directory.path(), 0)?;
    let source = directory.path().join("source");
    fs::create_dir(&source)?;
    fs::write(source.join("file"), "of the host")?;
    spec.binds =
        vec![Bind { source: source.clone(), target: "/var/vcap/data/source".into(), access: Access::ReadWrite }];
    let (mut command, mut output) = command(&[])?;
    let script = "cat file; echo done >file; cat /proc/net/dev | grep -c :; exit 4";
    command.argv = ["/bin/sh", "-c", script].map(String::from).into();
    command.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    command.directory = "/var/vcap/data/source".into();
    assert_eq!(sandbox::once(spec, command)?, Exit::Code(4));
    let mut text = String::new();
    output.read_to_string(&mut text)?;
    assert_eq!(text, "of the host1\n");
    assert_eq!(fs::read_to_string(source.join("file"))?, "done\n");
    Ok(())
}

fn unchanged() -> Outcome {
    let pods = Pods::start()?;
    let instances = [pods.instance(0)?, pods.instance(1)?];
    let check = || -> Outcome {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let ours = pods.directory.path().to_str().ok_or("no text")?;
        assert_eq!(mounts.lines().find(|line| line.contains(ours)), None);
        let ours = |name: &str| name == "boson" || name.starts_with("port");
        for entry in fs::read_dir("/proc/sys/net/ipv4/conf")? {
            assert!(!ours(&entry?.file_name().to_string_lossy()));
        }
        Ok(())
    };
    check()?;
    let processes: Vec<_> = instances.iter().filter_map(|i| ProcessId::of(i.init())).collect();
    assert_eq!(processes.len(), 2);
    pods.network.stop();
    assert!(!processes.iter().any(|p| p.is_alive()));
    check()?;
    let directory = pods.directory.path().to_path_buf();
    sandbox::remove_tree(&directory)?;
    assert!(!directory.exists());
    Ok(())
}

/// The program that [`killed`] kills: prints the processes of its sandboxes, then waits.
pub(crate) fn holder_to_be_killed() -> Option<ExitCode> {
    let directory =
        PathBuf::from(std::env::args_os().nth(1).filter(|_| std::env::args().nth(2).as_deref() == Some("hold"))?);
    let network = Network::start(Subnet::default(), None, Some(&directory)).unwrap();
    let instance = network.create(spec(&directory, 0).unwrap()).unwrap();
    let (command, _output) = command(&["linger"]).unwrap();
    let process = instance.run(command).unwrap();
    let inner = sandbox::pid_of(instance.init(), process.pid()).unwrap();
    println!("{} {} {inner}", network.process().unwrap().pid, instance.init());
    loop {
        std::thread::park();
    }
}

fn killed() -> Outcome {
    let directory = tempfile::tempdir()?;
    let mut program =
        Host::new("/proc/self/exe").arg(directory.path()).arg("hold").stdout(std::process::Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(program.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let processes: Vec<_> = line.split_whitespace().filter_map(|pid| ProcessId::of(pid.parse().ok()?)).collect();
    assert_eq!(processes.len(), 3, "{line}");
    program.kill()?;
    assert_eq!(program.wait()?.signal(), Some(9));
    let start = Instant::now();
    while processes.iter().any(|p| p.is_alive()) {
        assert!(start.elapsed() < DEADLINE, "processes of a killed program live on");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Runs all tests again as an unprivileged user, if such a user can create namespaces.
pub(crate) fn as_nobody() -> Outcome {
    let directory = tempfile::tempdir()?;
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777))?;
    let executable = directory.path().join("pods");
    fs::copy(std::env::current_exe()?, &executable)?;
    let as_nobody = |program: &Path| {
        let mut command = Host::new(program);
        // `std` drops root's other groups by itself.
        command.uid(65534).gid(65534).env("TMPDIR", directory.path()).current_dir("/");
        command
    };
    if !as_nobody(Path::new("unshare")).args(["--user", "--net", "true"]).status().is_ok_and(|s| s.success()) {
        println!("skipped: this machine lets no ordinary user make a user namespace");
        return Ok(());
    }
    let output = as_nobody(&executable).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
