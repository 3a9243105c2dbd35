//! A small release and its deployment, and the directories of a machine for them.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::waiting::eventually;

/// The state of a test; its processes are stopped when it is dropped.
pub(crate) struct Machine {
    directory: tempfile::TempDir,
    executable: PathBuf,
    user: Option<u32>,
}

/// A user without any rights.
const NOBODY: u32 = 65_534;

const MANIFEST: &str = "---
name: small
releases:
- name: small
  version: latest
update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1000-60000, update_watch_time: 1000-60000}
instance_groups:
- name: web
  azs: [z1, z2]
  instances: 2
  networks: [{name: default}]
  jobs:
  - name: web
    release: small
    properties:
      greeting: hello
- name: checks
  lifecycle: errand
  azs: [z1]
  instances: 1
  networks: [{name: default}]
  jobs:
  - name: check
    release: small
";

/// The release: path and content of its files.
const RELEASE: &[(&str, &str)] = &[
    ("config/final.yml", "name: small\n"),
    ("packages/tool/spec", "name: tool\nfiles: [tool/*]\n"),
    (
        "packages/tool/packaging",
        "set -eu\nmkdir -p $BOSH_INSTALL_TARGET/bin\ncp tool/serve $BOSH_INSTALL_TARGET/bin/\n",
    ),
    (
        "src/tool/serve",
        "use IO::Socket::INET;
my $greeting = shift;
$| = 1;
my $server = IO::Socket::INET->new(LocalPort => 8080, Listen => 5, ReuseAddr => 1) or die \"cannot listen: $!\";
print \"serving\\n\";
while (my $client = $server->accept) { print $client \"$greeting\\n\"; close $client; print \"served\\n\"; }
",
    ),
    (
        "jobs/web/monit",
        "check process web
  with pidfile /var/vcap/sys/run/bpm/web/web.pid
  start program \"/var/vcap/jobs/bpm/bin/bpm start web\"
  stop program \"/var/vcap/jobs/bpm/bin/bpm stop web\"
  group vcap
check process web-idle
  with pidfile /var/vcap/sys/run/bpm/web/idle.pid
  start program \"/var/vcap/jobs/bpm/bin/bpm start web -p idle\"
  stop program \"/var/vcap/jobs/bpm/bin/bpm stop web -p idle\"
  group vcap
",
    ),
    (
        "jobs/web/spec",
        "name: web
templates: {bpm.yml.erb: config/bpm.yml, pre-start.erb: bin/pre-start, greeting.erb: config/greeting}
packages: [tool]
provides: [{name: web, type: web}]
properties:
  greeting: {description: What to say}
  pre_start: {description: Exit status of the pre-start script, default: 0}
  ignore_term: {description: Go on in spite of TERM, default: false}
",
    ),
    (
        "jobs/web/templates/bpm.yml.erb",
        "processes:
- name: web
  executable: /usr/bin/perl
  args: [/var/vcap/packages/tool/bin/serve, \"<%= p('greeting') %> from <%= spec.index %>\"]
- name: idle
  executable: /bin/sh
  args: [-c, \"<% if p('ignore_term') %>trap '' TERM QUIT;<% end %> while :; do sleep 1; done\"]
",
    ),
    ("jobs/web/templates/greeting.erb", "<%= p('greeting') %> <%= spec.ip %> <%= spec.az %>\n"),
    (
        "jobs/web/templates/pre-start.erb",
        "#!/bin/sh
echo prepared <%= spec.index %>
echo complaint >&2
exit <%= p('pre_start') %>
",
    ),
    ("jobs/check/monit", ""),
    (
        "jobs/check/spec",
        "name: check
templates: {run.erb: bin/run}
packages: []
consumes: [{name: web, type: web}]
properties: {}
",
    ),
    (
        "jobs/check/templates/run.erb",
        "#!/bin/bash
for address in <%= link('web').instances.map { |i| i.address }.join(' ') %>; do
  exec 3<>/dev/tcp/$address/8080 || exit 1
  cat <&3
done
echo to stderr >&2
exit 42
",
    ),
];

impl Machine {
    pub(crate) fn new() -> Machine {
        let directory = tempfile::tempdir().unwrap();
        let executable = testkit::executable("boson");
        let machine = Machine { directory, executable, user: None };
        for (path, content) in RELEASE {
            machine.write(&format!("release/{path}"), content);
        }
        machine.write("manifest.yml", MANIFEST);
        machine
    }

    /// As [`Machine::new`], for an unprivileged user; `None` where that is not possible.
    pub(crate) fn of_nobody() -> Option<Machine> {
        let mut machine = Machine::new();
        if !nix::unistd::geteuid().is_root() {
            println!("skipped: only root can become somebody else, and the other tests are somebody else's already");
            return None;
        }
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--net", "true"]).uid(NOBODY).gid(NOBODY);
        if !unshare.status().is_ok_and(|status| status.success()) {
            println!("skipped: this machine lets no ordinary user make a user namespace");
            return None;
        }
        machine.executable = machine.path("boson");
        fs::copy(testkit::executable("boson"), &machine.executable).unwrap();
        std::os::unix::fs::chown(machine.directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        machine.user = Some(NOBODY);
        Some(machine)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Replaces a text in a file.
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{name} has no {from:?}");
        self.write(name, &text.replace(from, to));
    }

    /// Sets both watch times of the deployment.
    pub(crate) fn watch_time(&self, text: &str) {
        let manifest = fs::read_to_string(self.path("manifest.yml")).unwrap();
        let update = manifest.lines().find(|line| line.starts_with("update: ")).unwrap();
        let new =
            format!("update: {{canaries: 1, max_in_flight: 1, canary_watch_time: {text}, update_watch_time: {text}}}");
        self.write("manifest.yml", &manifest.replace(update, &new));
    }

    /// The deployment's state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state/boson/small")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.executable);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
            .args(args)
            .current_dir(self.directory.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::null());
        command
    }

    /// Runs boson until it exits.
    pub(crate) fn boson(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// Brings the deployment up in the background.
    pub(crate) fn up(&self, further: &[&str]) -> Ran {
        self.boson(&[&["up", "-m", "manifest.yml", "-r", "release", "--detach"], further].concat())
    }

    /// Runs `up` in the foreground and waits until the deployment is up; its output goes to the file `output`.
    pub(crate) fn up_in_foreground(&self) -> Child {
        let output = File::create(self.path("output")).unwrap();
        let error = output.try_clone().unwrap();
        let mut command = self.command(&["up", "-m", "manifest.yml", "-r", "release"]);
        let mut child = command.stdout(output).stderr(error).spawn().unwrap();
        eventually("the deployment is up", || {
            assert_eq!(child.try_wait().unwrap(), None, "{}", self.output());
            self.output().contains("small is up")
        });
        child
    }

    pub(crate) fn output(&self) -> String {
        let mut text = String::new();
        File::open(self.path("output")).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Asserts that only the cache is left of the deployment.
    pub(crate) fn assert_gone(&self) {
        assert!(!self.state().exists(), "the state directory is left");
        let own = self.directory.path().to_str().unwrap();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert_eq!(mounts.lines().find(|line| line.contains(own)), None);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let left: Vec<PathBuf> =
            fs::read_dir(self.path("state/boson")).into_iter().flatten().filter_map(|e| Some(e.ok()?.path())).collect();
        for dir in left {
            let _ = self.command(&["down", "--state-dir", dir.to_str().unwrap()]).output();
        }
    }
}

/// The result of a run of boson.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

/// The process ids of the status table's rows whose process is named so.
pub(crate) fn pids(status: &str, process: &str) -> Vec<i32> {
    let rows = status.lines().filter(|line| line.contains(process));
    rows.filter_map(|line| line.split_whitespace().nth(5)?.parse().ok()).collect()
}

/// Whether a process of the host runs.
pub(crate) fn is_alive(pid: i32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
