//! Looking into instances: logs, commands, files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use testkit::waiting::eventually;

use crate::Machine;

#[test]
fn logs_are_shown_for_all_instances_or_one() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    eventually("both instances have logged", || machine.boson(&["logs"]).stdout.matches("] serving").count() == 2);
    let one = machine.boson(&["logs", "web/1", "--job", "web"]).ends_with(0).stdout;
    assert!(one.contains("[web/1 web/pre-start.stdout.log] prepared 1"), "{one}");
    assert!(!one.contains("web/0"), "{one}");
    let none = machine.boson(&["logs", "web/7"]).ends_with(65).stderr;
    let no_job = machine.boson(&["logs", "--job", "wbe"]).ends_with(65).stderr;
    assert!(no_job.contains("no logs of a job 'wbe'") && no_job.contains("the jobs with logs are: web"), "{no_job}");
    assert!(none.contains("unknown instance 'web/7'") && none.contains("web/0, web/1"), "{none}");
}

#[test]
fn commands_run_as_a_user_of_the_instance() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let run = |command: &[&str]| machine.boson(&[&["exec", "--user", "vcap", "web/0"], command].concat());
    let own = "id -u vcap; id -u; echo $HOME $USER";
    let shown = run(&["sh", "-c", own]).ends_with(0).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!((lines[0], lines[2]), (lines[1], "/home/vcap vcap"), "{shown}");
    assert!(run(&["nowhere"]).ends_with(127).stderr.contains("error: nowhere: command not found"));
    let none = machine.boson(&["exec", "--user", "nobody-here", "web/0", "id"]).ends_with(65).stderr;
    assert!(none.contains("there is no user 'nobody-here' in the instance"), "{none}");
}

#[test]
fn files_are_copied_into_an_instance_and_out_of_it() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    machine.write("from/sub/a.sh", "#!/bin/sh\n");
    fs::set_permissions(machine.path("from/sub/a.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    let path = |name: &str| machine.path(name).display().to_string();
    let copy = |from: &str, to: &str| machine.boson(&["cp", from, to]);
    copy(&path("from"), "web/0:/tmp/new").ends_with(0);
    copy(&path("from"), "web/0:/tmp/new").ends_with(0);
    let list = "cd /tmp/new && find . -type f -exec stat -c '%n %a %U' {} + | sort";
    let listed = machine.boson(&["exec", "web/0", "sh", "-c", list]).ends_with(0).stdout;
    assert_eq!(listed, "./from/sub/a.sh 750 root\n./sub/a.sh 750 root\n");
    copy("web/0:/tmp/new/sub/a.sh", &path("b.sh")).ends_with(0);
    copy("web/0:/tmp/new", &path("")).ends_with(0);
    for file in ["b.sh", "new/from/sub/a.sh"] {
        assert_eq!(fs::read_to_string(machine.path(file)).unwrap(), "#!/bin/sh\n");
        assert_eq!(fs::metadata(machine.path(file)).unwrap().permissions().mode() & 0o7777, 0o750);
    }
    // A program of the instance is not to run with the rights of this user.
    machine.boson(&["exec", "web/0", "chmod", "6755", "/tmp/new/sub/a.sh"]).ends_with(0);
    copy("web/0:/tmp/new/sub/a.sh", &path("c.sh")).ends_with(0);
    assert_eq!(fs::metadata(machine.path("c.sh")).unwrap().permissions().mode() & 0o7777, 0o755);

    for (from, to, code, message) in [
        ("web/0:/nowhere", &*path("d"), 65, "cannot read /nowhere"),
        (&*path("nowhere"), "web/0:/tmp", 65, "nowhere"),
        (&*path("b.sh"), "web/0:/no/such/b", 65, "/no/such is no directory"),
        (&*path("b.sh"), "web/7:/tmp", 65, "unknown instance 'web/7'"),
        (&*path("b.sh"), &*path("e"), 2, "one of the two paths has to be in an instance"),
        (&*path("b.sh"), "web/0:tmp", 2, "'web/0:tmp' needs an absolute path"),
    ] {
        let refused = copy(from, to).ends_with(code).stderr;
        assert!(refused.contains(message), "{from} {to}: {refused}");
    }
}

#[test]
fn logs_are_chosen_by_time_number_and_pattern() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let log = "mkdir /var/vcap/sys/log/web/deep && cd /var/vcap/sys/log/web && printf '%s' \"$0\" >deep/a.log && printf '%s' \"$1\" >b.log";
    let write =
        |instance: &str, a: &str, b: &str| machine.boson(&["exec", instance, "sh", "-c", log, a, b]).ends_with(0);
    write(
        "web/0",
        "2026-01-01T00:00:01Z a1\n  more\n2026-01-01T00:00:05Z a5\n",
        "{\"ts\":1767225603,\"m\":\"b3\"}\nincomplete",
    );
    write("web/1", "2026-01-01T00:00:02Z a2\n", "[7] 2026/01/01 00:00:04.5 [INF] b4\n");
    let only = |arguments: &[&str]| {
        machine.boson(&[&["logs", "--only", "web/deep,*/b.log"], arguments].concat()).ends_with(0).stdout
    };
    let all = "[web/0 web/deep/a.log] 2026-01-01T00:00:01Z a1\n[web/0 web/deep/a.log]   more\n\
               [web/1 web/deep/a.log] 2026-01-01T00:00:02Z a2\n[web/0 web/b.log] {\"ts\":1767225603,\"m\":\"b3\"}\n\
               [web/1 web/b.log] [7] 2026/01/01 00:00:04.5 [INF] b4\n[web/0 web/deep/a.log] 2026-01-01T00:00:05Z a5\n";
    assert_eq!(only(&[]), all);
    assert_eq!(
        only(&["--since", "2026-01-01T01:00:04.5+01:00", "--timestamps"]),
        "2026-01-01T00:00:04.500Z [web/1 web/b.log] [7] 2026/01/01 00:00:04.5 [INF] b4\n\
         2026-01-01T00:00:05.000Z [web/0 web/deep/a.log] 2026-01-01T00:00:05Z a5\n"
    );
    assert_eq!(
        only(&["web/0", "-n", "1"]),
        "[web/0 web/b.log] {\"ts\":1767225603,\"m\":\"b3\"}\n[web/0 web/deep/a.log] 2026-01-01T00:00:05Z a5\n"
    );
    assert_eq!(only(&["--since", "1d"]), "");
    let none = machine.boson(&["logs", "--only", "web/c*"]).ends_with(65).stderr;
    assert!(none.contains("--only: no log matches 'web/c*'"), "{none}");
    let no_time = machine.boson(&["logs", "--since", "noon"]).ends_with(2).stderr;
    assert!(no_time.contains("--since") && no_time.contains("10m, 1h30m, 2d"), "{no_time}");

    let archive = machine.path("logs.tgz");
    let archived = |arguments: &[&str]| {
        let path = archive.to_str().unwrap();
        machine.boson(&[&["logs", "--only", "web/deep,*/b.log", "--archive", path], arguments].concat()).ends_with(0);
        let names = Command::new("tar").arg("tzf").arg(path).output().unwrap();
        String::from_utf8(names.stdout).unwrap()
    };
    assert_eq!(archived(&["web/1"]), "web/b.log\nweb/deep/a.log\n");
    assert_eq!(archived(&[]), "web/0/web/b.log\nweb/0/web/deep/a.log\nweb/1/web/b.log\nweb/1/web/deep/a.log\n");
    let content = Command::new("tar").arg("xzOf").arg(&archive).arg("web/0/web/b.log").output().unwrap();
    assert_eq!(String::from_utf8(content.stdout).unwrap(), "{\"ts\":1767225603,\"m\":\"b3\"}\nincomplete");
    assert_eq!(fs::metadata(&archive).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn logs_do_not_follow_links_out_of_the_instance() {
    let machine = Machine::new();
    machine.write("outside/host.log", "of the host\n");
    machine.up(&[]).ends_with(0);
    let make = format!(
        "cd /var/vcap/sys/log && ln -s {0} linked && mkfifo pipe web/pipe && ln -s {0}/host.log web/host.log && \
         echo of the job >web/own.log",
        machine.path("outside").display()
    );
    machine.boson(&["exec", "web/0", "sh", "-c", &make]).ends_with(0);
    let logs = machine.boson(&["logs", "web/0"]).ends_with(0).stdout;
    assert!(logs.contains("[web/0 web/own.log] of the job") && !logs.contains("of the host"), "{logs}");
}
