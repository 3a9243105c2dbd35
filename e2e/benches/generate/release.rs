//! A release as its author has it, with golden tests: jobs of four templates with loops, conditions and optional properties.

use std::error::Error;
use std::fs;
use std::path::Path;

/// The templates of a job, without `monit`.
pub(crate) const TEMPLATES: usize = 4;

/// The job of which one template is rendered alone.
pub(crate) const JOB: &str = "web0";

/// The spec of all jobs but for the name.
const SPEC: &str = "templates: {web.yml.erb: config/web.yml, users.json.erb: config/users.json, start.erb: bin/start, bpm.yml.erb: config/bpm.yml}
properties:
  port: {description: Port to listen at, default: 8080}
  users: {description: Names of the users, default: [admin]}
  tls.enabled: {description: Whether clients use TLS, default: false}
  tls.key: {description: PEM of the key}
";

const FILES: [(&str, &str); TEMPLATES] = [
    ("users.json.erb", "<%= JSON.pretty_generate('users' => p('users'), 'port' => p('port')) %>\n"),
    (
        "start.erb",
        "#!/bin/bash\nset -e\nexec /var/vcap/packages/web/bin/web --port <%= p('port') %> --name <%= spec.name %>\n",
    ),
    (
        "bpm.yml.erb",
        "processes:\n- name: web\n  executable: /var/vcap/jobs/web/bin/start\n  limits: {open_files: 1024}\n",
    ),
    ("web.yml.erb", ""),
];

/// Writes a release of `jobs` jobs and `cases` cases without expected files.
pub(crate) fn write(directory: &Path, jobs: usize, cases: usize) -> Result<(), Box<dyn Error>> {
    let file = |path: String, text: &str| -> Result<(), Box<dyn Error>> {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().ok_or("no parent")?)?;
        Ok(fs::write(path, text)?)
    };
    file("config/final.yml".into(), "name: bench\n")?;
    for job in 0..jobs {
        let name = format!("web{job}");
        file(format!("jobs/{name}/spec"), &format!("name: {name}\n{SPEC}"))?;
        file(format!("jobs/{name}/monit"), "")?;
        for (template, text) in FILES {
            let text = if text.is_empty() { web_yml() } else { text.to_owned() };
            file(format!("jobs/{name}/templates/{template}"), &text)?;
        }
    }
    for case in 0..cases {
        let tls = if case % 3 == 0 { "tls: {enabled: true, key: example}\n" } else { "" };
        let text = format!("port: {}\nusers: [one{case}, two{case}]\n{tls}", 1000 + case);
        file(format!("tests/web{}/case{case:04}/properties.yml", case % jobs), &text)?;
    }
    Ok(())
}

/// A configuration file of 50 lines.
fn web_yml() -> String {
    let options: String = (0..40).map(|n| format!("option_{n}: <%= p('port') + {n} %>\n")).collect();
    format!(
        "---\nport: <%= p('port') %>\n<% p('users').each do |user| -%>\nuser_<%= user %>: true\n<% end -%>\n<% if_p('tls.key') do |key| -%>\nkey: <%= key %>\n\
         <% end.else do -%>\nkey: none\n<% end -%>\n<% if p('tls.enabled') -%>\ntls: true\n<% else -%>\ntls: false\n<% end -%>\n{options}"
    )
}
