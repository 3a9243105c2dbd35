//! The environment of a process: what `bpm.yml` gives, BPM's defaults, and nothing else.

use std::collections::BTreeMap;
use std::ffi::OsString;

use vcap::Vcap;

/// Those of the named variables that this program has.
pub(crate) fn passed(names: &[String]) -> Vec<(OsString, OsString)> {
    names.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}

/// Variables, with others that override them.
pub(crate) fn with(mut env: Vec<(OsString, OsString)>, passed: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    env.retain(|(name, _)| passed.iter().all(|(other, _)| other != name));
    env.extend_from_slice(passed);
    env
}

/// BPM's environment for a process of `job`.
pub(crate) fn of_process(env: &BTreeMap<String, String>, vcap: &Vcap, job: &str) -> Vec<(OsString, OsString)> {
    let data = vcap.data(job);
    let mut path = vcap.job(job).join("bin").into_os_string();
    path.push(":/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.");
    let mut all: BTreeMap<OsString, OsString> = BTreeMap::new();
    let defaults = [
        ("TMPDIR".into(), data.join("tmp").into()),
        ("LANG".into(), "en_US.UTF-8".into()),
        ("PATH".into(), path),
        ("HOME".into(), data.into()),
    ];
    all.extend(defaults.into_iter().chain(env.iter().map(|(name, value)| (name.into(), value.into()))));
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_bpm_yml_gives_beats_the_defaults() {
        let env = BTreeMap::from([("HOME".to_owned(), "/x".to_owned()), ("A".to_owned(), String::new())]);
        let all = of_process(&env, &Vcap::under(Path::new("/")), "web");
        let all: Vec<_> = all.iter().map(|(k, v)| format!("{}={}", k.display(), v.display())).collect();
        assert_eq!(
            all,
            [
                "A=",
                "HOME=/x",
                "LANG=en_US.UTF-8",
                "PATH=/var/vcap/jobs/web/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.",
                "TMPDIR=/var/vcap/data/web/tmp",
            ]
        );
    }
}
