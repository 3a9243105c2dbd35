//! The jobs.

/// Files of a job, by path; `JOB` stands for its name. `spec` is without the name; `monit` is empty unless it is here.
pub(crate) type Files = &'static [(&'static str, &'static str)];

/// A rule, a job in which it fires, and one in which no rule does that is more than a note.
pub(crate) struct Case {
    pub(crate) code: &'static str,
    pub(crate) fires: Files,
    pub(crate) silent: Files,
}

const BPM_MONIT: &str = "check process JOB\n  with pidfile /var/vcap/sys/run/bpm/JOB/JOB.pid\n  start program \"/var/vcap/jobs/bpm/bin/bpm start JOB\"\n  stop program \"/var/vcap/jobs/bpm/bin/bpm stop JOB\"\n  group vcap\n";
const BPM_SPEC: &str = "templates: {bpm.yml: config/bpm.yml}\n";
const BPM_YML: &str = "processes:\n- name: JOB\n  executable: /bin/true\n";
const SCRIPT_SPEC: &str = "templates: {run: bin/run}\n";
const A: &str = "templates: {a: config/a}\nproperties: {a: {description: a}}\n";
const LINK: &str = "templates: {a: config/a}\nconsumes: [{name: l, type: cases}]\n";
const OPTIONAL_LINK: &str = "templates: {a: config/a}\nconsumes: [{name: l, type: cases, optional: true}]\n";

/// One template and a spec.
macro_rules! template {
    ($spec:expr, $text:expr) => {
        &[("spec", $spec), ("templates/a", $text)]
    };
}

/// A script.
macro_rules! script {
    ($path:literal, $text:expr) => {
        &[("spec", concat!("templates: {run: ", $path, "}\npackages: [tool]\n")), ("templates/run", $text)]
    };
}

/// A job with a bpm.yml.
macro_rules! bpm {
    ($text:expr) => {
        &[("spec", BPM_SPEC), ("monit", BPM_MONIT), ("templates/bpm.yml", $text)]
    };
}

/// A case for each rule of jobs.
pub(crate) const CASES: &[Case] = &[
    Case {
        code: "spec-invalid",
        fires: template!("templates: {a: config/a}\nproperties: [a]\n", "x"),
        silent: template!("templates: {a: config/a}\n", "x"),
    },
    Case { code: "yaml-invalid", fires: &[("spec", "templates: [\n")], silent: &[("spec", "templates: {}\n")] },
    Case {
        code: "template-missing",
        fires: &[("spec", "templates: {b: config/b}\n")],
        silent: template!("templates: {a: config/a}\n", "x"),
    },
    Case {
        code: "template-place",
        fires: &[("spec", "templates: {a: config/a, b: config/a}\n"), ("templates/a", "x"), ("templates/b", "x")],
        silent: &[("spec", "templates: {a: config/a, b: config/b}\n"), ("templates/a", "x"), ("templates/b", "x")],
    },
    Case {
        code: "template-syntax",
        fires: template!(A, "\n<% if p('a') %>\n"),
        silent: template!(A, "\n<% if p('a') %>\n<% end %>"),
    },
    Case {
        code: "schema-invalid",
        fires: &[("spec", "templates: {}\n"), ("properties_schema.json", "{")],
        silent: &[("spec", "templates: {}\n"), ("properties_schema.json", "{}")],
    },
    Case {
        code: "property-undeclared",
        fires: template!(A, "<%= p('a') %><%= p('b.c') %>"),
        silent: template!(
            "templates: {a: config/a}\nproperties: {a.b: {description: a}}\n",
            "<%= p('a') %><%= p('a.b.c') %><% x = 'q' %><%= p(x) %>"
        ),
    },
    Case {
        code: "property-never-set",
        fires: template!(A, "<%= p('a') %><% if_p('b') { |x| } %><%= properties.c.d %>"),
        silent: template!(A, "<%= properties.a.to_s %><% properties.to_h.each { |k, v| } %><%= raw_properties['a'] %>"),
    },
    Case {
        code: "property-unused",
        fires: template!(A, "x"),
        silent: template!(
            "templates: {a: config/a}\nprovides: [{name: x, type: other, properties: [p]}]\nproperties: {a.x: {description: a}, b.y.z: {description: b}, c: {description: c}, d.e: {description: d}, p: {description: p}}\n",
            "<% def of(name) p(\"a.#{name}\") end %><%= of('x') %><% %w[b].each { |n| p(n) } %><%= properties.c.each { } %><%= p('d') %>"
        ),
    },
    Case {
        code: "property-required",
        fires: template!(A, "<% if_p('a') { |x| } %><%= p('a') %>"),
        silent: template!(A, "<% if_p('a') { |x| } %><% if spec.bootstrap %><%= p('a') %><% end %><%= p('a', 1) %>"),
    },
    Case {
        code: "property-default-kind",
        fires: template!(
            "templates: {a: config/a}\nproperties: {a: {description: a, default: 'false'}, b: {description: b, default: x}}\n",
            "<% if p('a') %><% end %><% p('b').each { |x| } %>"
        ),
        silent: template!(
            "templates: {a: config/a}\nproperties: {a: {description: a, default: false}, b: {description: b, default: [x]}, c: {description: c, default: ''}}\n",
            "<% if p('a') %><% end %><% p('b').each { |x| } %><% unless p('c').empty? %><% p('c').each { |x| } %><% end %>"
        ),
    },
    Case {
        code: "property-description",
        fires: template!("templates: {a: config/a}\nproperties: {a: {default: 1}}\n", "<%= p('a') %>"),
        silent: template!(A, "<%= p('a') %>"),
    },
    Case {
        code: "link-undeclared",
        fires: template!(LINK, "<%= link('l').address %><%= link('m').address %>"),
        silent: template!(LINK, "<%= link('l').address %><% x = 'm' %><%= link(x).address %>"),
    },
    Case {
        code: "link-unused",
        fires: template!(LINK, "x"),
        silent: template!(LINK, "<% ['l'].each { |name| if_link(name) { |l| } } %>"),
    },
    Case {
        code: "link-optional",
        fires: template!(OPTIONAL_LINK, "<%= link('l').address %>"),
        silent: template!(OPTIONAL_LINK, "<% if_link('l') do |l| %><%= l.address %><%= link('l').address %><% end %>"),
    },
    Case {
        code: "link-method",
        fires: template!(LINK, "<%= link('l').deployment_name %>"),
        silent: template!(
            LINK,
            "<% l = link('l') %><%= l.instances.size %><%= l.p('a', 1) %><%= l.address(azs: []) %>"
        ),
    },
    Case {
        code: "link-property-undeclared",
        fires: template!("templates: {a: config/a}\nprovides: [{name: x, type: other, properties: [b]}]\n", "x"),
        silent: template!(
            "templates: {a: config/a}\nprovides: [{name: x, type: other, properties: [a]}]\nproperties: {a: {description: a}}\n",
            "x"
        ),
    },
    Case {
        code: "link-property-unprovided",
        fires: template!(LINK, "<%= link('l').p('b') %>"),
        silent: template!(
            LINK,
            "<%= link('l').p('a') %><%= link('l').p('b', 1) %><% if spec.az %><%= link('l').p('c') %><% end %>"
        ),
    },
    Case {
        code: "link-type",
        fires: template!("templates: {a: config/a}\nconsumes: [{name: l, type: casse}]\n", "<%= link('l').address %>"),
        silent: template!(
            "templates: {a: config/a}\nconsumes: [{name: l, type: far-away}]\n",
            "<%= link('l').address %>"
        ),
    },
    Case {
        code: "template-unlisted",
        fires: &[("spec", "templates: {}\n"), ("templates/a.erb", "x")],
        silent: &[("spec", "templates: {}\n"), ("templates/README.md", "x")],
    },
    Case {
        code: "file-misspelt",
        fires: &[("spec", "templates: {a: bin/prestart}\n"), ("templates/a", "#!/bin/bash\n")],
        silent: &[
            ("spec", "templates: {a: bin/pre-start.sh, b: bin/pre-start}\n"),
            ("templates/a", "#!/bin/bash\n"),
            ("templates/b", "#!/bin/bash\nexec /var/vcap/jobs/JOB/bin/pre-start.sh\n"),
        ],
    },
    Case {
        code: "executable-outside-bin",
        fires: &[
            ("spec", "templates: {ctl: config/ctl}\n"),
            ("templates/ctl", "#!/bin/bash\n"),
            (
                "monit",
                "check process x with pidfile /x start program \"/var/vcap/jobs/JOB/config/ctl start\" group vcap\n",
            ),
        ],
        silent: &[
            ("spec", "templates: {ctl: bin/ctl}\n"),
            ("templates/ctl", "#!/bin/bash\n"),
            (
                "monit",
                "check process x with pidfile /x start program \"/var/vcap/jobs/JOB/bin/ctl start\" group vcap\n",
            ),
        ],
    },
    Case {
        code: "monit-invalid",
        fires: &[("spec", "templates: {}\n"), ("monit", "chek process x\n")],
        silent: &[("spec", "templates: {}\n"), ("monit", "# nothing\n")],
    },
    Case {
        code: "monit-program",
        fires: &[
            ("spec", "templates: {}\n"),
            ("monit", "check process x with pidfile /x start program \"/var/vcap/jobs/JOB/bin/ctl\" group vcap\n"),
        ],
        silent: &[
            ("spec", "templates: {}\n"),
            ("monit", "check process x with pidfile /x start program \"/var/vcap/jobs/other/bin/ctl\" group vcap\n"),
        ],
    },
    Case {
        code: "monit-pid-file",
        fires: &[
            ("spec", BPM_SPEC),
            ("templates/bpm.yml", BPM_YML),
            (
                "monit",
                "check process JOB\n  with pidfile /var/vcap/sys/run/JOB/JOB.pid\n  start program \"/var/vcap/jobs/bpm/bin/bpm start JOB\"\n  group vcap\n",
            ),
        ],
        silent: bpm!(BPM_YML),
    },
    Case {
        code: "bpm-invalid",
        fires: bpm!("processes:\n- name: JOB\n"),
        silent: &[
            ("spec", "templates: {bpm.yml: config/bpm.yml}\nproperties: {a: {description: a}}\n"),
            ("templates/bpm.yml", "processes:\n- name: JOB\n  limits: <%= p('a') %>\n"),
        ],
    },
    Case {
        code: "bpm-key",
        fires: bpm!("processes:\n- name: JOB\n  executable: /bin/true\n  limits: {open_file: 3}\n"),
        silent: bpm!(
            "processes:\n- name: JOB\n  executable: /bin/true\n  limits: {open_files: 3}\n  env: {any: thing}\n"
        ),
    },
    Case {
        code: "bpm-process",
        fires: bpm!("processes:\n- name: another\n  executable: /bin/true\n"),
        silent: bpm!(BPM_YML),
    },
    Case {
        code: "bpm-process-unused",
        fires: bpm!("processes:\n- name: JOB\n  executable: /bin/true\n- name: second\n  executable: /bin/true\n"),
        silent: &[
            ("spec", "templates: {bpm.yml: config/bpm.yml, run: bin/once}\n"),
            ("monit", BPM_MONIT),
            (
                "templates/bpm.yml",
                "processes:\n- name: JOB\n  executable: /bin/true\n- name: second\n  executable: /bin/true\n",
            ),
            ("templates/run", "#!/bin/bash\n/var/vcap/jobs/bpm/bin/bpm run JOB -p second\n"),
        ],
    },
    Case {
        code: "bpm-executable",
        fires: bpm!("processes:\n- name: JOB\n  executable: /var/vcap/jobs/JOB/bin/absent\n"),
        silent: bpm!("processes:\n- name: JOB\n  executable: /var/vcap/packages/of-another-release/bin/x\n"),
    },
    Case {
        code: "yaml-duplicate-key",
        fires: template!("templates: {a: config/a}\ndescription: a\ndescription: b\n", "x"),
        silent: template!("templates: {a: config/a}\ndescription: a\n", "x"),
    },
    Case {
        code: "spec-key",
        fires: template!("templates: {a: config/a}\nproperties: {a: {decription: a}}\n", "<%= p('a') %>"),
        silent: template!(
            "templates: {a: config/a}\nproperties: {a: {description: a, x-own: a}}\nowners: x\n",
            "<%= p('a') %>"
        ),
    },
    Case {
        code: "shebang",
        fires: script!("bin/pre-start", "#!/usr/bin/env ruby\n"),
        silent: script!("bin/helper", "#!/usr/bin/env ruby\n"),
    },
    Case {
        code: "package-unlisted",
        fires: &[("spec", SCRIPT_SPEC), ("templates/run", "#!/bin/bash\nexec /var/vcap/packages/tool/bin/x\n")],
        silent: script!("bin/run", "#!/bin/bash\n# /var/vcap/packages/second\nexec /var/vcap/packages/tool/bin/x\n"),
    },
    Case {
        code: "pod-package",
        fires: script!("bin/run", "#!/bin/bash\nexec /var/vcap/packages/of-another/bin/x\n"),
        silent: script!("bin/run", "#!/bin/bash\nexec /var/vcap/packages/tool/bin/x\n"),
    },
    Case {
        code: "schema-misnamed",
        fires: &[("spec", "templates: {}\n"), ("properties-schema.json", "{}")],
        silent: &[("spec", "templates: {}\n"), ("notes.json", "{}")],
    },
    Case {
        code: "method-unknown",
        fires: template!(A, "<%= p('a') %><%= proprty('a') %>"),
        silent: template!(
            A,
            "<% def own(x) x end %><%= own(p('a')) %><%= format('%d', 1) %><%= defined?(nothing) %><%= begin; none; rescue NameError; end %><% _erbout << 'x' %>"
        ),
    },
    Case {
        code: "spec-attribute",
        fires: template!("templates: {a: config/a}\n", "<%= spec.adress %>"),
        silent: template!(
            "templates: {a: config/a}\n",
            "<%= spec.address %><%= spec.networks.send(spec.networks.methods(false).first).ip %><%= spec.respond_to?(:az) %>"
        ),
    },
    Case {
        code: "template-unstable",
        fires: template!("templates: {a: config/a}\n", "<%= Time.now %><%= rand(3) %>"),
        silent: template!("templates: {a: config/a}\n", "<% if Time.now.year < 1990 %><% end %><%= [1].first %>"),
    },
    Case {
        code: "template-environment",
        fires: template!("templates: {a: config/a}\n", "<%= ENV['HOME'] %>"),
        silent: template!("templates: {a: config/a}\n", "<%= 'ENV' %>"),
    },
    Case {
        code: "template-io",
        fires: template!("templates: {a: config/a}\n", "<%= File.read('/etc/hostname') %><%= `hostname` %>"),
        silent: template!("templates: {a: config/a}\n", "<%= File.basename('/etc/hostname') %>"),
    },
    Case {
        code: "secret-argument",
        fires: &[
            ("spec", "templates: {run: bin/run}\nproperties: {a.password: {description: a}}\n"),
            ("templates/run", "#!/bin/bash\nexec x --password=<%= p('a.password') %>\n"),
        ],
        silent: &[
            ("spec", "templates: {run: bin/run}\nproperties: {a.password: {description: a}}\n"),
            ("templates/run", "#!/bin/bash\nexport PASSWORD=<%= p('a.password').shellescape %>\nexec x --user=a\n"),
        ],
    },
    Case {
        code: "value-unquoted",
        fires: template!(
            "templates: {a: config/a.yml}\nproperties: {a.password: {description: a}}\n",
            "user:\n  password: <%= p('a.password') %>\n"
        ),
        silent: template!(
            "templates: {a: config/a.yml}\nproperties: {a.password: {description: a}, a.port: {description: b}}\n",
            "password: <%= p('a.password').to_json %>\nport: <%= p('a.port') %>\n"
        ),
    },
    Case {
        code: "shell-syntax",
        fires: script!("bin/run", "#!/bin/bash\nif true; then\n"),
        silent: script!("bin/run", "#!/usr/bin/env python3\nif true; then\n"),
    },
    Case {
        code: "shellcheck",
        fires: script!("bin/run", "#!/bin/bash\ncd \"$1\"\nrm -r data\n"),
        // The value that is compared is constant for shellcheck only.
        silent: script!("bin/run", "#!/bin/bash\nif [ -n \"\" ]; then\n  cd \"$1\" || exit\n  rm -r data\nfi\n"),
    },
    Case {
        code: "pre-start-errexit",
        fires: script!("bin/pre-start", "#!/bin/bash\ncp a b\nchown a b\n"),
        silent: script!("bin/pre-start", "#!/bin/bash\nset -e\ncp a b\nchown a b\n"),
    },
    Case {
        code: "drain-number",
        fires: script!("bin/drain", "#!/bin/bash\nsleep 3\nexit 0\n"),
        silent: script!("bin/drain", "#!/bin/bash\nsleep 3\necho 0\n"),
    },
    Case {
        code: "store-unmounted",
        fires: bpm!("processes:\n- name: JOB\n  executable: /bin/true\n  args: [--data=/var/vcap/store/JOB]\n"),
        silent: bpm!(
            "processes:\n- name: JOB\n  executable: /bin/true\n  args: [--data=/var/vcap/store/JOB]\n  persistent_disk: true\n"
        ),
    },
    Case {
        code: "yaml-number",
        fires: template!(
            "templates: {a: config/a}\nproperties: {a: {description: a, default: 0755}}\n",
            "<%= p('a') %>"
        ),
        silent: template!(
            "templates: {a: config/a}\nproperties: {a: {description: a, default: '0755'}}\n",
            "<%= p('a') %>"
        ),
    },
    Case {
        code: "yaml-boolean",
        fires: template!(
            "templates: {a: config/a}\nproperties: {a: {description: a, default: [yes, no]}}\n",
            "<%= p('a') %>"
        ),
        silent: template!(
            "templates: {a: config/a}\nproperties: {a: {description: a, default: yes}}\n",
            "<%= p('a') %>"
        ),
    },
    Case {
        code: "pod-privileged",
        fires: bpm!("processes:\n- name: JOB\n  executable: /bin/true\n  unsafe: {privileged: true}\n"),
        silent: bpm!(BPM_YML),
    },
    Case {
        code: "pod-capabilities",
        fires: bpm!("processes:\n- name: JOB\n  executable: /bin/true\n  capabilities: [NET_BIND_SERVICE]\n"),
        silent: bpm!(BPM_YML),
    },
    Case {
        code: "pod-kernel",
        fires: script!("bin/run", "#!/bin/bash\nsysctl -w vm.max_map_count=262144\n"),
        silent: script!("bin/run", "#!/bin/bash\n# sysctl -w x=y\n"),
    },
    Case {
        code: "pod-limits",
        fires: script!("bin/run", "#!/bin/bash\nulimit -n 65536\n"),
        silent: script!("bin/run", "#!/bin/bash\nulimit -n\n"),
    },
    Case {
        code: "pod-monit",
        fires: &[
            ("spec", "templates: {ctl: bin/ctl}\n"),
            ("templates/ctl", "#!/bin/bash\n"),
            (
                "monit",
                "check process x with pidfile /x start program \"/var/vcap/jobs/JOB/bin/ctl start\" group vcap\n",
            ),
        ],
        silent: bpm!(BPM_YML),
    },
    Case {
        code: "stemcell-runit",
        fires: script!("bin/run", "#!/bin/bash\nexec chpst -u vcap:vcap true\n"),
        silent: script!("bin/run", "#!/bin/bash\nexec setpriv --reuid vcap true\n"),
    },
    Case {
        code: "stemcell-apt-key",
        fires: script!("bin/run", "#!/bin/bash\napt-key add key\n"),
        silent: script!("bin/run", "#!/bin/bash\n# apt-key add key\n"),
    },
    Case {
        code: "stemcell-cgroup",
        fires: script!("bin/run", "#!/bin/bash\ncat /sys/fs/cgroup/memory/memory.limit_in_bytes\n"),
        silent: script!("bin/run", "#!/bin/bash\ncat /sys/fs/cgroup/memory.max\n"),
    },
];
