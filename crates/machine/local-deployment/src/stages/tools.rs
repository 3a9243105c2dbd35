//! Programs that jobs call and the base of their instances lacks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::deployment::Deployment;
use compile_release::Stemcells;

/// Programs that stemcells have and public releases call, with the Debian packages that contain them.
const TOOLS: [(&str, &str); 43] = [
    ("apparmor_parser", "apparmor"),
    ("awk", "mawk"),
    ("bc", "bc"),
    ("chpst", "runit"),
    ("curl", "curl"),
    ("dig", "dnsutils"),
    ("file", "file"),
    ("flock", "util-linux"),
    ("fuser", "psmisc"),
    ("getcap", "libcap2-bin"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("jq", "jq"),
    ("killall", "psmisc"),
    ("logger", "bsdutils"),
    ("logrotate", "logrotate"),
    ("lsof", "lsof"),
    ("mountpoint", "util-linux"),
    ("nc", "netcat-openbsd"),
    ("netstat", "net-tools"),
    ("nslookup", "dnsutils"),
    ("openssl", "openssl"),
    ("perl", "perl"),
    ("pgrep", "procps"),
    ("pidof", "sysvinit-utils"),
    ("ping", "iputils-ping"),
    ("pkill", "procps"),
    ("ps", "procps"),
    ("python3", "python3"),
    ("resolvconf", "resolvconf"),
    ("rsync", "rsync"),
    ("runuser", "util-linux"),
    ("setcap", "libcap2-bin"),
    ("setpriv", "util-linux"),
    ("socat", "socat"),
    ("ss", "iproute2"),
    ("start-stop-daemon", "dpkg"),
    ("su", "util-linux"),
    ("sudo", "sudo"),
    ("sv", "runit"),
    ("sysctl", "procps"),
    ("unzip", "unzip"),
    ("zip", "zip"),
];

/// Where programs are.
const DIRECTORIES: [&str; 6] = ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];

/// Words before a command that do not change which command it is.
const PREFIXES: [&str; 17] = [
    "if", "then", "else", "elif", "while", "until", "do", "!", "exec", "time", "nohup", "command", "env", "nice",
    "sudo", "chpst", "timeout",
];

/// A warning that names the programs which scripts of the deployment's jobs call and the base lacks, with the jobs;
/// `None` if there are none. `jobs_src` has the job sources of the releases.
pub(crate) fn lacking(deployment: &Deployment, jobs_src: &Path, stemcells: &Stemcells) -> Option<String> {
    let mut lacking: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for group in &deployment.groups {
        let base = stemcells.of(group.stemcell.as_deref()).map_or(Path::new("/"), |stemcell| &stemcell.dir);
        for job in &group.pod.jobs {
            if !seen.insert((base, &job.release, &job.name)) {
                continue;
            }
            for tool in called(&jobs_src.join(&job.release).join(&job.name)) {
                if !has(base, tool) {
                    lacking.entry(tool).or_default().insert(&job.name);
                }
            }
        }
    }
    if lacking.is_empty() {
        return None;
    }
    let list = lacking.iter().map(|(tool, jobs)| {
        let package = TOOLS.iter().find(|(name, _)| name == tool).map_or("", |(_, package)| package);
        let jobs: Vec<&str> = jobs.iter().copied().collect();
        format!("\n  {tool} (package {package}): {}", jobs.join(", "))
    });
    Some(format!(
        "warning: scripts of these jobs may call programs that are not installed:{}\n  hint: install them, or give a root file system \
         that has them with --stemcell",
        list.collect::<String>()
    ))
}

/// Whether a root file system has a program; a link in it leads where it leads when it is the root, so it counts.
fn has(base: &Path, tool: &str) -> bool {
    let candidates = DIRECTORIES.iter().map(|directory| base.join(directory).join(tool));
    candidates.into_iter().any(|path| path.symlink_metadata().is_ok())
}

/// The tools that the scripts of a job call.
fn called(job: &Path) -> BTreeSet<&'static str> {
    let files = WalkDir::new(job).into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    let texts = files.filter_map(|entry| script(entry.into_path()));
    texts.flat_map(|text| commands(&text)).collect()
}

/// The text of a shell script; `None` for any other file.
fn script(path: PathBuf) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(path).ok()?).into_owned();
    let first = text.lines().next().unwrap_or_default();
    (first.starts_with("#!") && first.contains("sh")).then_some(text)
}

/// The tools that are called in a script's text, as far as a command can be recognised without running it.
fn commands(text: &str) -> BTreeSet<&'static str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let separators = ['|', ';', '&', '(', ')', '{', '}', '`', '\n'];
    lines.flat_map(|line| line.split(separators)).flat_map(commands_of).collect()
}

/// The command of a part of a line, and those before it that run others.
fn commands_of(part: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let is_argument = |word: &str| word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit());
    let (mut expects_command, mut after_prefix) = (true, false);
    for word in part.split_whitespace().map(|word| word.trim_matches(['"', '\''])) {
        if word.contains('=') || (after_prefix && (is_argument(word) || word.contains(':'))) {
            continue;
        }
        if !expects_command {
            break;
        }
        let name = match word.rsplit_once('/') {
            Some((directory, name)) => {
                if DIRECTORIES.contains(&directory.trim_start_matches('/')) {
                    name
                } else {
                    break;
                }
            }
            None => word,
        };
        found.extend(TOOLS.iter().map(|(tool, _)| *tool).filter(|tool| *tool == name));
        after_prefix = true;
        expects_command = PREFIXES.contains(&name) || word.is_empty();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_where_a_shell_would_run_them() {
        let found = |text: &str| commands(text).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(found("exec chpst -u vcap:vcap sudo ping x"), "chpst ping sudo");
        assert_eq!(found("if ! /usr/bin/nc -z host 80; then\n"), "nc");
        assert_eq!(found("exec > >(tee -a log | logger -t x)"), "logger");
        assert_eq!(found("LIMIT=1 lsof -p $(pidof app)"), "lsof pidof");
        assert_eq!(found("# rsync\necho rsync file\n  echo \"su\"\n"), "");
        assert_eq!(found("/var/vcap/packages/jq/bin/jq . file"), "");
        assert_eq!(found("timeout 5 curl -s x && setcap cap+ep y"), "curl setcap");
    }
}
