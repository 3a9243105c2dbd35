//! Templates as releases have them: mostly text, now and then a property, a loop over a link's instances.

use std::fmt::Write;

use super::job::Consumed;
use super::property::{Kind, Property};
use super::random::Random;

/// What the templates of a job draw from.
pub(crate) struct Draw<'a> {
    pub(crate) job: &'a str,
    pub(crate) properties: &'a [Property],
    pub(crate) consumes: &'a [Consumed],
}

impl<'a> Draw<'a> {
    fn some(&self, kind: Kind, random: &mut Random) -> &'a Property {
        let of_kind: Vec<&Property> = self.properties.iter().filter(|p| p.kind == kind).collect();
        of_kind[random.below(of_kind.len())]
    }

    fn any(&self, random: &mut Random) -> &'a Property {
        random.pick(self.properties)
    }
}

const COMMENTS: &[&str] = &[
    "Where the server listens; clients of this deployment find it by the link, everybody else by the router.",
    "Raise this together with the number of open files in bpm.yml, never alone.",
    "The defaults are those of the upstream project unless a comment says otherwise.",
    "Rotated by logrotate on the stemcell; the component itself never truncates it.",
    "Kept for clients that were written before the second version of the protocol.",
    "Has to be the same on all instances, else the cluster does not form.",
];

fn comment(out: &mut String, random: &mut Random) {
    let _ = writeln!(out, "# {}", random.pick(COMMENTS));
}

fn plain(out: &mut String, random: &mut Random) {
    const KEYS: &[&str] = &["worker_processes", "keepalive", "buffer_size", "backlog", "queue_depth", "flush_interval"];
    let (key, n) = (random.pick(KEYS), random.between(1, 4096));
    let _ = writeln!(out, "{key}_{}: {n}", random.below(50));
}

/// One property, in the way that its kind is mostly used.
fn use_of(property: &Property, out: &mut String, random: &mut Random) {
    let name = &property.name;
    let key = name.replace('.', "_");
    let _ = match property.kind {
        Kind::Text | Kind::Password if random.percent(30) => writeln!(out, "{key}: <%= p('{name}').to_s.inspect %>"),
        Kind::Text | Kind::Password => writeln!(out, "{key}: \"<%= p('{name}') %>\""),
        Kind::Number => writeln!(out, "{key}: <%= p('{name}') %>"),
        Kind::Flag if random.percent(50) => writeln!(out, "{key}: <%= p('{name}') ? 'on' : 'off' %>"),
        Kind::Flag => writeln!(out, "<% if p('{name}') -%>\n{key}: true\n{key}_mode: strict\n<% end -%>"),
        Kind::List if random.percent(50) => writeln!(out, "{key}: <%= p('{name}').join(',') %>"),
        Kind::List => writeln!(out, "{key}:\n<% p('{name}').each do |item| -%>\n- <%= item %>\n<% end -%>"),
        Kind::Table => {
            writeln!(out, "{key}:\n<% p('{name}').each do |key, value| -%>\n  <%= key %>: <%= value %>\n<% end -%>")
        }
        Kind::Certificate => {
            writeln!(out, "<% if_p('{name}') do |pem| -%>\n{key}: |\n  <%= pem.gsub(\"\\n\", \"\\n  \") %>\n<% end -%>")
        }
        Kind::Optional => writeln!(
            out,
            "<% if_p('{name}') do |value| -%>\n{key}: <%= value %>\n<% end.else do -%>\n# {key} is not set\n<% end -%>"
        ),
    };
}

fn instances_of(link: &Consumed, out: &mut String, random: &mut Random) {
    let name = &link.name;
    let port = &link.number;
    let _ = if random.percent(50) {
        writeln!(
            out,
            "{name}_servers:\n<% link('{name}').instances.each do |instance| -%>\n\
             - <%= instance.address %>:<%= link('{name}').p('{port}') %> # <%= instance.id %>\n<% end -%>"
        )
    } else {
        writeln!(
            out,
            "<% if_link('{name}') do |found| -%>\n{name}_url: https://<%= found.address %>:<%= found.p('{port}', 443) %>\n\
             {name}_nodes: <%= found.instances.map(&:address).sort.join(',') %>\n<% end -%>"
        )
    };
}

/// A configuration file of about 75 lines with 10 to 20 properties; some define a method of their own.
pub(crate) fn configuration(draw: &Draw, random: &mut Random) -> String {
    let mut out = format!("# Configuration of {}; made by BOSH, do not edit.\n", draw.job);
    if random.percent(38) {
        out.push_str(
            "<%\n  def indented(text, depth)\n    text.to_s.lines.map { |line| ' ' * depth + line }.join\n  end\n-%>\n",
        );
        let pem = &draw.some(Kind::Certificate, random).name;
        let _ = writeln!(out, "trusted: |\n<%= indented(p('{pem}', 'none'), 4) %>");
    }
    let _ = writeln!(out, "node: <%= spec.id %>\nindex: <%= spec.index %>\nzone: <%= spec.az %>");
    let _ = writeln!(out, "advertise: <%= spec.address %>\nlisten: <%= spec.ip %>");
    let wanted = random.between(10, 20);
    let mut links = draw.consumes.iter();
    for i in 0..wanted {
        if random.percent(60) {
            comment(&mut out, random);
        }
        plain(&mut out, random);
        use_of(draw.any(random), &mut out, random);
        if random.percent(40) {
            plain(&mut out, random);
        }
        if i % 5 == 4 {
            if let Some(link) = links.next() {
                instances_of(link, &mut out, random);
            }
            let _ = writeln!(out, "\n[section_{i}]");
        }
    }
    while out.lines().count() < 75 {
        if random.percent(40) {
            comment(&mut out, random);
        } else {
            plain(&mut out, random);
        }
    }
    out
}

/// A configuration that a Hash becomes: JSON or YAML.
pub(crate) fn structured(draw: &Draw, random: &mut Random) -> String {
    let mut out = "<%=\n  config = {\n".to_owned();
    for i in 0..random.between(10, 20) {
        let property = draw.any(random);
        let default = if matches!(property.kind, Kind::Certificate | Kind::Optional) { ", nil" } else { "" };
        let _ = writeln!(out, "    'key_{i}' => p('{}'{default}),", property.name);
    }
    let _ = writeln!(out, "    'node' => {{ 'index' => spec.index, 'id' => spec.id, 'az' => spec.az }},\n  }}");
    for property in draw.properties.iter().filter(|p| p.kind == Kind::Optional).take(2) {
        let _ = writeln!(out, "  if_p('{}') {{ |value| config['extra'] = value }}", property.name);
    }
    for link in draw.consumes.iter().take(1) {
        let _ = writeln!(
            out,
            "  if_link('{name}') do |peers|\n    config['peers'] = peers.instances.map {{ |i| {{ 'name' => i.name, 'address' \
             => i.address }} }}\n  end",
            name = link.name
        );
    }
    out.push_str(match random.below(3) {
        0 => "  JSON.pretty_generate(config)\n%>\n",
        1 => "  config.to_json\n%>\n",
        _ => "  YAML.dump(config)\n%>\n",
    });
    out
}

/// `bpm.yml.erb`.
pub(crate) fn bpm(draw: &Draw, random: &mut Random) -> String {
    let job = draw.job;
    let number = |random: &mut Random| &draw.some(Kind::Number, random).name;
    let (port, files, flag) = (number(random), number(random), &draw.some(Kind::Flag, random).name);
    if random.percent(30) {
        return format!(
            "<%=\n  config = {{\n    'processes' => [{{\n      'name' => '{job}',\n      'executable' => \
             '/var/vcap/packages/{job}/bin/{job}',\n      'args' => ['--config', '/var/vcap/jobs/{job}/config/{job}.conf', \
             '--port', p('{port}').to_s],\n      'limits' => {{ 'open_files' => p('{files}') }},\n    }}]\n  }}\n  if \
             p('{flag}')\n    config['processes'][0]['env'] = {{ 'DEBUG' => 'true' }}\n  end\n  YAML.dump(config)\n%>\n"
        );
    }
    format!(
        "processes:\n- name: {job}\n  executable: /var/vcap/packages/{job}/bin/{job}\n  args:\n  - --config\n  - \
         /var/vcap/jobs/{job}/config/{job}.conf\n  - --port\n  - \"<%= p('{port}') %>\"\n  env:\n    INSTANCE_INDEX: \"<%= \
         spec.index %>\"\n    LISTEN: \"<%= spec.ip %>\"\n<% if p('{flag}') -%>\n    DEBUG: \"true\"\n<% end -%>\n  limits:\n    \
         open_files: <%= p('{files}') %>\n    memory: 1G\n  ephemeral_disk: true\n"
    )
}

/// A start script: shell with a few tags.
pub(crate) fn script(draw: &Draw, random: &mut Random) -> String {
    let job = draw.job;
    let mut out = format!("#!/bin/bash\n\nset -eu\n\nJOB_DIR=/var/vcap/jobs/{job}\nDATA_DIR=/var/vcap/store/{job}\n\n");
    for i in 0..random.between(3, 6) {
        let _ = writeln!(out, "# {}", random.pick(COMMENTS));
        let _ = writeln!(out, "if [[ ! -e \"$DATA_DIR/part-{i}\" ]]; then\n  mkdir -p \"$DATA_DIR/part-{i}\"");
        let _ = writeln!(out, "  chown -R vcap:vcap \"$DATA_DIR/part-{i}\"\n  chmod 0750 \"$DATA_DIR/part-{i}\"\nfi");
        let _ = match random.below(3) {
            0 => writeln!(out, "LIMIT_{i}=<%= p('{}') %>", draw.some(Kind::Number, random).name),
            1 => writeln!(out, "NAME_{i}='<%= p('{}') %>'", draw.some(Kind::Text, random).name),
            _ => {
                writeln!(out, "<% if p('{}') %>\nexport MODE_{i}=debug\n<% end %>", draw.some(Kind::Flag, random).name)
            }
        };
    }
    out.push_str("\nexec chpst -u vcap:vcap \"$JOB_DIR/bin/start\" >>\"/var/vcap/sys/log/start.log\" 2>&1\n");
    out
}

/// Nothing but a property.
pub(crate) fn certificate(draw: &Draw, random: &mut Random) -> String {
    format!("<%= p('{}', '') %>\n", draw.some(Kind::Certificate, random).name)
}

/// No tag at all.
pub(crate) fn monit(job: &str) -> String {
    format!(
        "check process {job}\n  with pidfile /var/vcap/sys/run/bpm/{job}/{job}.pid\n  start program \
         \"/var/vcap/jobs/bpm/bin/bpm start {job}\"\n  stop program \"/var/vcap/jobs/bpm/bin/bpm stop {job}\"\n  group vcap\n"
    )
}

/// No tag either.
pub(crate) fn static_script(job: &str) -> String {
    format!("#!/bin/bash\n\nset -eu\nexec /var/vcap/packages/{job}/bin/{job}-ctl drain \"$@\"\n")
}
