//! A deployment of many small templates: jobs of four, `monit` counted, in groups of four instances, with links between neighbouring
//! groups in both directions.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_yaml::Value;

use super::Input;
use super::job::mapping;

const GROUPS: usize = 17;
const JOBS_OF_A_GROUP: usize = 5;
const INSTANCES: usize = 4;
const RELEASES: usize = 30;
/// The templates of a job, `monit` counted.
const TEMPLATES: usize = 4;

/// How many templates are rendered, once for each instance.
pub(crate) fn renderings(factor: usize) -> usize {
    GROUPS * factor * JOBS_OF_A_GROUP * TEMPLATES * INSTANCES
}

/// Writes manifest and job sources below `directory`: seventeen groups of five jobs, `factor` times.
pub(crate) fn write(directory: &Path, factor: usize) -> Result<Input, Box<dyn Error>> {
    let groups = GROUPS * factor;
    let base = directory.join("all-releases");
    let mut in_manifest = Vec::new();
    for group in 0..groups {
        let mut jobs = Vec::new();
        for number in 0..JOBS_OF_A_GROUP {
            let job = Job { group, number, groups };
            job.write(&base)?;
            jobs.push(job.in_manifest());
        }
        in_manifest.push(mapping([
            ("name", format!("small-{group}").into()),
            ("azs", ["z1", "z2"].map(Value::from).into_iter().collect()),
            ("instances", INSTANCES.into()),
            ("vm_type", "default".into()),
            ("stemcell", "default".into()),
            ("networks", [mapping([("name", "default".into())])].into_iter().collect()),
            ("jobs", Value::Sequence(jobs)),
        ]));
    }
    let release = |n: usize| mapping([("name", format!("release-{n}").into()), ("version", "1.0.0".into())]);
    let stemcell = mapping([("alias", "default".into()), ("os", "ubuntu-jammy".into()), ("version", "1".into())]);
    let document = mapping([
        ("name", "small".into()),
        ("releases", (0..RELEASES).map(release).collect()),
        ("stemcells", [stemcell].into_iter().collect()),
        ("update", mapping([("canaries", 1.into()), ("max_in_flight", 1.into())])),
        ("instance_groups", Value::Sequence(in_manifest)),
    ]);
    let manifest = directory.join("manifest.yml");
    fs::write(&manifest, serde_yaml::to_string(&document)?)?;
    Ok(Input { manifest, base, jobs: groups * JOBS_OF_A_GROUP, releases: RELEASES })
}

struct Job {
    group: usize,
    number: usize,
    groups: usize,
}

impl Job {
    fn name(&self) -> String {
        format!("service-{}-{}", self.group, self.number)
    }

    fn release(&self) -> String {
        format!("release-{}", (self.group * JOBS_OF_A_GROUP + self.number) % RELEASES)
    }

    /// The name of the link that the same job of another group provides.
    fn link_of(&self, group: usize) -> String {
        format!("link-{}-{}", group % self.groups, self.number)
    }

    fn in_manifest(&self) -> Value {
        let server = mapping([
            ("port", (8000 + self.group).into()),
            ("password", format!("a-long-password-of-{}", self.name()).into()),
            ("debug", (self.number.is_multiple_of(2)).into()),
        ]);
        mapping([
            ("name", self.name().into()),
            ("release", self.release().into()),
            ("properties", mapping([("server", server)])),
        ])
    }

    fn write(&self, base: &Path) -> Result<(), Box<dyn Error>> {
        let directory = base.join("jobs-src").join(self.release()).join(self.name());
        fs::create_dir_all(directory.join("templates"))?;
        fs::write(directory.join("spec"), serde_yaml::to_string(&self.spec())?)?;
        let job = self.name();
        let monit = format!(
            "check process {job}\n  with pidfile /var/vcap/sys/run/bpm/{job}/{job}.pid\n  start program \
             \"/var/vcap/jobs/bpm/bin/bpm start {job}\"\n  stop program \"/var/vcap/jobs/bpm/bin/bpm stop {job}\"\n  group vcap\n"
        );
        fs::write(directory.join("monit"), monit)?;
        for (name, text) in
            [("bpm.yml.erb", self.bpm()), ("server.conf.erb", self.configuration()), ("start.erb", self.start())]
        {
            fs::write(directory.join("templates").join(name), text)?;
        }
        Ok(())
    }

    fn spec(&self) -> Value {
        let link = |group| mapping([("name", self.link_of(group).into()), ("type", self.link_of(group).into())]);
        let provided = mapping([
            ("name", self.link_of(self.group).into()),
            ("type", self.link_of(self.group).into()),
            ("properties", ["server.port", "server.host"].map(Value::from).into_iter().collect()),
        ]);
        let default = |value: Value| mapping([("description", "A setting.".into()), ("default", value)]);
        mapping([
            ("name", self.name().into()),
            (
                "templates",
                mapping([
                    ("bpm.yml.erb", "config/bpm.yml".into()),
                    ("server.conf.erb", "config/server.conf".into()),
                    ("start.erb", "bin/start".into()),
                ]),
            ),
            ("packages", Value::Sequence(Vec::new())),
            ("provides", [provided].into_iter().collect()),
            ("consumes", [self.group + 1, self.group + self.groups - 1].map(link).into_iter().collect()),
            (
                "properties",
                mapping([
                    ("server.port", default(8080.into())),
                    ("server.host", default("0.0.0.0".into())),
                    ("server.password", default("".into())),
                    ("server.debug", default(false.into())),
                    ("server.workers", default(4.into())),
                    ("server.allowed", default(["10.0.0.0/8", "127.0.0.1"].map(Value::from).into_iter().collect())),
                ]),
            ),
        ])
    }

    fn bpm(&self) -> String {
        let job = self.name();
        format!(
            "processes:\n- name: {job}\n  executable: /var/vcap/packages/server/bin/server\n  args: [--config, \
             /var/vcap/jobs/{job}/config/server.conf, --port, \"<%= p('server.port') %>\"]\n<% if p('server.debug') -%>\n  env: \
             {{DEBUG: \"1\"}}\n<% end -%>\n"
        )
    }

    /// Every third one differs between instances.
    fn configuration(&self) -> String {
        let own = match (self.group + self.number) % 3 {
            0 => "node: <%= spec.id %>\nzone: <%= spec.az %>\n",
            1 => "deployment: <%= spec.deployment %>\ndomain: <%= spec.dns_domain_name %>\n",
            _ => "allowed: <%= p('server.allowed').join(',') %>\n",
        };
        let (next, previous) = (self.link_of(self.group + 1), self.link_of(self.group + self.groups - 1));
        format!(
            "listen: <%= p('server.host') %>:<%= p('server.port') %>\npassword: <%= p('server.password').inspect %>\n{own}next:\n<% \
             link('{next}').instances.each do |instance| -%>\n- <%= instance.address %>:<%= link('{next}').p('server.port') %>\n<% end \
             -%>\n<% if_link('{previous}') do |previous| -%>\nprevious: <%= previous.instances.map(&:address).join(',') %>\n<% end -%>\n"
        )
    }

    /// One in five has a heredoc, which gets a process of its own.
    fn start(&self) -> String {
        let job = self.name();
        let banner = match self.number {
            0 => "<%= <<~TEXT\n  # This script starts the server.\nTEXT\n%>\n",
            _ => "",
        };
        format!(
            "#!/bin/bash\nset -eu\n{banner}\n<% if spec.bootstrap -%>\n/var/vcap/packages/server/bin/prepare\n<% end -%>\nexport \
             INDEX=<%= spec.index %> WORKERS=<%= p('server.workers') %>\nexec /var/vcap/packages/server/bin/server --config \
             /var/vcap/jobs/{job}/config/server.conf\n"
        )
    }
}
