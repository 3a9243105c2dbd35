//! What `bpm run` adds to a process on its command line, and what it refuses, with BPM's messages.

use crate::config::{ProcessConfig, Volume};
use crate::validate::volume_fault;

impl ProcessConfig {
    /// `bpm run -v PATH[:OPTIONS]`, options being `writable`, `mount_only`, `allow_executions` and `shared`, with commas between
    /// them.
    pub fn add_volume(&mut self, definition: &str, job: &str) -> Result<(), String> {
        let mut parts = definition.split(':');
        let (path, options) = (parts.next().unwrap_or_default(), parts.next());
        if path.is_empty() || parts.next().is_some() {
            return Err(format!("invalid volume definition (format: <path>[:<options>]): {definition}"));
        }
        let mut volume = Volume { path: path.to_owned(), ..Volume::default() };
        for option in options.iter().flat_map(|options| options.split(',')) {
            match option {
                "writable" => volume.writable = true,
                "mount_only" => volume.mount_only = true,
                "allow_executions" => volume.allow_executions = true,
                "shared" => volume.shared = true,
                _ => return Err(format!("invalid volume option: {option}")),
            }
        }
        match volume_fault(path, Some(job)) {
            Some(fault) => Err(fault),
            None => {
                self.additional_volumes.push(volume);
                Ok(())
            }
        }
    }

    /// `bpm run -e NAME=VALUE`.
    pub fn add_env(&mut self, definition: &str) -> Result<(), String> {
        // BPM's spelling.
        let malformed =
            || format!("invalid envionment variable definition (format should be KEY=value): \"{definition}\"");
        let (name, value) = definition.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(malformed)?;
        self.env.insert(name.to_owned(), value.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_added_or_refused_with_bpms_messages() {
        let mut process = ProcessConfig::default();
        process.add_volume("/var/vcap/store/backup:writable,mount_only", "web").unwrap();
        process.add_volume("/var/vcap/data/shared", "web").unwrap();
        let [first, second] = &process.additional_volumes[..] else { panic!("{process:?}") };
        assert!(first.writable && first.mount_only && !first.shared && first.path == "/var/vcap/store/backup");
        assert_eq!(second, &Volume { path: "/var/vcap/data/shared".to_owned(), ..Volume::default() });
        let cases = [
            ("", "invalid volume definition (format: <path>[:<options>]): "),
            (
                "/var/vcap/a:writable:shared",
                "invalid volume definition (format: <path>[:<options>]): /var/vcap/a:writable:shared",
            ),
            ("/var/vcap/a:fast", "invalid volume option: fast"),
            ("/var/vcap/a/", "volume path must be canonical, expected /var/vcap/a but got /var/vcap/a/"),
            ("/etc", "invalid volume path: /etc must be within /var/vcap"),
            (
                "/var/vcap/data/web",
                "invalid volume path: /var/vcap/data/web cannot conflict with default job data or store directories",
            ),
        ];
        for (definition, message) in cases {
            assert_eq!(process.add_volume(definition, "web").unwrap_err(), message);
        }
    }

    #[test]
    fn variables_beat_those_of_the_file() {
        let mut process = ProcessConfig::default();
        process.env.insert("A".to_owned(), "old".to_owned());
        for definition in ["A=new", "B=", "C=x=y"] {
            process.add_env(definition).unwrap();
        }
        assert_eq!(process.env.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(), ["A=new", "B=", "C=x=y"]);
        for definition in ["A", "", "=x"] {
            assert_eq!(
                process.add_env(definition).unwrap_err(),
                format!("invalid envionment variable definition (format should be KEY=value): \"{definition}\"")
            );
        }
    }
}
