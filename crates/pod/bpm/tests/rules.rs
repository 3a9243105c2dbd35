//! BPM's rules, one by one.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bpm::{JobConfig, ShutdownSignal, parse, parse_for_job};

fn ok(text: &str) -> JobConfig {
    parse(text, "bpm.yml").unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// The arguments of the only process, which are everything below `args:`.
fn args(text: &str) -> Vec<String> {
    ok(&format!("processes:\n- name: web\n  executable: x\n  args: {text}")).processes.remove(0).args
}

/// `message @ line:column` of every problem.
fn problems(text: &str) -> Vec<String> {
    let problems = parse_for_job(text, "bpm.yml", "web").unwrap_err();
    assert_eq!(problems.exit_code(), 65);
    let place = |p: &problem::Problem| {
        let place = p.place.clone().unwrap();
        format!("{}:{}", place.line.unwrap_or(0), place.column.unwrap_or(0))
    };
    problems.iter().map(|p| format!("{} @ {}", p.message, place(p))).collect()
}

#[test]
fn scalars_that_bpm_reads_as_text_keep_their_raw_text() {
    let config = ok(r#"
processes:
- name: web
  executable: 0755
  args: [0755, yes, 1.10, 1_000, 0x1F, ~, null, "", '', "~", 'null', 1:30, 2020-01-02, .inf, !!str 5]
  env: {A: 010, B: on, C: , D: ~, E: "", F: 1e3, yes: no, 1.50: x, ~: dropped}
"#);
    let p = &config.processes[0];
    assert_eq!(p.executable, "0755");
    let args = ["0755", "yes", "1.10", "1_000", "0x1F", "", "", "~", "null", "1:30", "2020-01-02", ".inf", "5"];
    assert_eq!(p.args, args);
    let env: Vec<_> = p.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(env, ["1.50=x", "A=010", "B=on", "C=", "D=", "E=", "F=1e3", "yes=no"]);
}

#[test]
fn block_scalars_are_text() {
    let config = ok(
        "processes:\n- name: a\n  executable: sh\n  args:\n  - -c\n  - |\n    one\n      two\n  - >-\n    a\n    b\n",
    );
    assert_eq!(config.processes[0].args, ["-c", "one\n  two\n", "a b"]);
}

#[test]
fn continuation_lines_may_be_indented_less_than_their_key() {
    // JSON.pretty_generate inside of a template.
    assert_eq!(args("[\n  \"-c\",\n  \"a\"\n]\n"), ["-c", "a"]);
    assert_eq!(args("[\n\"-c\",\n\"a\"\n]\n  workdir: /w\n"), ["-c", "a"]);
    assert_eq!(args("[\"a\nb\", 'c\n\nd', \"e\\\nf\"]\n"), ["a b", "c\nd", "ef"]);
    let config = ok(
        "processes:\n  - name: web\n    executable: x\n    env: {\n  \"A\": \"1\",\n  \"B\": \"2\"\n}\n    workdir: /w\n",
    );
    assert_eq!(config.processes[0].env.len(), 2);
    assert_eq!(config.processes[0].workdir.as_deref(), Some("/w"));
}

#[test]
fn tabs_separate_within_flow_collections() {
    assert_eq!(args("[\n\t\"b\"\t,\t'c'\n\t]\n"), ["b", "c"]);
    assert_eq!(args("[a,\tb\t,c\t]\n"), ["a", "b", "c"]);
    let found = problems("processes:\n- name: web\n  executable: x\n  args: [a,\n\tb\t,\tc\n\t]\n");
    assert!(found[0].contains("found a tab character that violates indentation"), "{found:?}");
    assert_eq!(ok("processes:\n- {name:\tweb,\n\texecutable:\tx}\n").processes[0].executable, "x");
}

#[test]
fn what_only_go_yaml_reads_is_read() {
    assert_eq!(args("[\"it\\'s\", \"\\'\"]\n"), ["it's", "'"]);
    assert_eq!(args("[!!binary aGVsbG8=, !!binary aGk=, !!int '5', ! 5]\n"), ["hello", "hi", "5", "5"]);
    assert_eq!(args("\n  - !!binary |\n    aGVs\n    bG8=\n"), ["hello"]);
    let utf16: Vec<u8> = "\u{feff}processes: []".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(parse(utf16, "bpm.yml").unwrap().processes, []);
}

#[test]
fn bytes_that_no_yaml_has_are_refused() {
    for bytes in
        [&b"a: \xff"[..], b"# \xe9\n", b"a: \x01", b"a: 'x\x00'", b"processes: []\n# \x7f\xc0\n", b"a: \xed\xa0\x80"]
    {
        let error = parse(bytes, "bpm.yml").unwrap_err().to_string();
        assert!(error.starts_with("error: failed to parse job configuration: "), "{error}");
    }
    // DEL and the C1 controls but NEL are no characters of YAML either.
    for text in ["a: \u{7f}", "a: \u{80}", "a: \u{fffe}", "a: \u{1b}[0m"] {
        assert!(parse(text, "bpm.yml").is_err(), "{text:?}");
    }
    assert!(parse("a: \u{85} \u{a0} \u{1f600}", "bpm.yml").is_ok());
}

#[test]
fn every_field_is_read() {
    let config = ok("
processes:
- name: web
  executable: /bin/web
  workdir: /tmp
  hooks: {pre_start: /bin/prepare}
  capabilities: [NET_BIND_SERVICE]
  limits: {memory: 1.5G, open_files: 1_024, processes: 0x10, core_file_size: 010}
  ephemeral_disk: yes
  persistent_disk: on
  additional_volumes:
  - {path: /var/vcap/data/other, writable: true, allow_executions: y, mount_only: No, shared: 'yes'}
  unsafe:
    privileged: TRUE
    host_pid_namespace: off
    unrestricted_volumes: [{path: /etc/*.conf}]
  shutdown_signal: INT
  unknown: {ignored: [1, 2]}
other: ignored
");
    let p = config.process("web").unwrap();
    assert_eq!(p.workdir.as_deref(), Some("/tmp"));
    assert_eq!(p.hooks.as_ref().unwrap().pre_start, "/bin/prepare");
    assert_eq!(p.capabilities, ["NET_BIND_SERVICE"]);
    assert_eq!(p.limits.memory.as_deref(), Some("1.5G"));
    assert_eq!((p.limits.open_files, p.limits.processes, p.limits.core_file_size), (Some(1024), Some(16), Some(8)));
    assert!(p.ephemeral_disk && p.persistent_disk);
    let v = &p.additional_volumes[0];
    assert!(v.writable && v.allow_executions && !v.mount_only && v.shared);
    assert!(p.unsafe_.privileged && !p.unsafe_.host_pid_namespace);
    assert_eq!(p.unsafe_.unrestricted_volumes[0].path, "/etc/*.conf");
    assert_eq!(p.shutdown_signal, ShutdownSignal::Int);
}

#[test]
fn anchors_and_merge_keys_work_as_in_go() {
    let config = ok("
base: &base {executable: /bin/base, workdir: /base, args: &args [-v]}
env: &env {A: merged, B: merged}
more: &more {B: later, C: later}
processes:
- name: one
  workdir: /own
  <<: *base
  env: {<<: [*env, *more], A: own}
- <<: *base
  name: two
  args: *args
  env: {'<<': quoted}
");
    let (one, two) = (&config.processes[0], &config.processes[1]);
    assert_eq!((one.executable.as_str(), one.workdir.as_deref()), ("/bin/base", Some("/own")));
    let env: Vec<_> = one.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(env, ["A=own", "B=merged", "C=later"]);
    assert_eq!(two.args, ["-v"]);
    assert_eq!(two.env["<<"], "quoted");
}

#[test]
fn nothing_at_all_is_a_job_without_processes() {
    for text in
        ["", "# comment\n", "---\n", "{}", "processes: []", "processes:", "other: 1", "---\nprocesses: []\n---\n- {"]
    {
        assert_eq!(ok(text).processes, [], "{text:?}");
    }
}

#[test]
fn only_a_mapping_of_hooks_counts_as_hooks() {
    let hooks = |text: &str| ok(&format!("processes: [{{name: a, executable: b, {text}}}]")).processes[0].hooks.clone();
    assert_eq!(hooks("hooks: "), None);
    assert_eq!(hooks("hooks: {}").unwrap().pre_start, "");
}

#[test]
fn what_bpm_refuses_is_refused_with_its_messages() {
    let process = |fields: &str| format!("processes:\n- name: web\n  executable: x\n  {fields}\n");
    let cases = [
        (
            "shutdown_signal: HUP",
            "shutdown signal should either be 'TERM' or 'INT' (or left unspecified), but got 'HUP'",
        ),
        (
            "additional_volumes: [{path: /var/vcap/a/}]",
            "volume path must be canonical, expected /var/vcap/a but got /var/vcap/a/",
        ),
        (
            "additional_volumes: [{path: /var/vcap/data/web}]",
            "invalid volume path: /var/vcap/data/web cannot conflict with default job data or store directories",
        ),
        (
            "additional_volumes: [{path: /var/vcap/store/web}]",
            "invalid volume path: /var/vcap/store/web cannot conflict with default job data or store directories",
        ),
        ("additional_volumes: [{path: /etc}]", "invalid volume path: /etc must be within /var/vcap"),
        ("additional_volumes: [{path: /var/vcap}]", "invalid volume path: /var/vcap must be within /var/vcap"),
        (
            "limits: {memory: 1024}",
            "limits.memory: byte quantity must be a positive integer with a unit of measurement like M, MB, MiB, G, GiB, or GB",
        ),
        ("limits: {open_files: many}", "limits.open_files: cannot unmarshal !!str into uint64"),
        ("limits: {open_files: -1}", "limits.open_files: cannot unmarshal !!int into uint64"),
        ("limits: {open_files: '5'}", "limits.open_files: cannot unmarshal !!str into uint64"),
        ("limits: []", "limits: cannot unmarshal !!seq into config.Limits"),
        ("args: x", "args: cannot unmarshal !!str into []string"),
        ("args: [{a: 1}]", "args: cannot unmarshal !!map into string"),
        ("env: {A: [1]}", "env.A: cannot unmarshal !!seq into string"),
        ("env: {[a]: b}", "key: cannot unmarshal !!seq into string"),
        ("args: [!!binary aGk]", "args: !!binary value contains invalid base64 data"),
        ("args: [!!binary /w==]", "args: the bytes of a !!binary value must be UTF-8"),
        ("args: [!!int x]", "args: cannot decode !!str as a !!int"),
        ("args: !!null x", "args: cannot decode !!str as a !!null"),
        ("limits: {open_files: !!float x}", "limits.open_files: cannot decode !!str as a !!float"),
        ("ephemeral_disk: !!bool yes", "ephemeral_disk: cannot decode !!str as a !!bool"),
        ("ephemeral_disk: !!str true", "ephemeral_disk: cannot unmarshal !!str into bool"),
        ("ephemeral_disk: 1", "ephemeral_disk: cannot unmarshal !!int into bool"),
        ("ephemeral_disk: 'true'", "ephemeral_disk: cannot unmarshal !!str into bool"),
        ("env: {<<: 5}", "map merge requires map or sequence of maps as the value"),
        ("workdir: /a\n  workdir: /b", "mapping key \"workdir\" already defined at line 4"),
    ];
    for (fields, message) in cases {
        let found = problems(&process(fields));
        assert_eq!(found.len(), 1, "{fields}: {found:?}");
        assert!(found[0].starts_with(&format!("process \"web\": {message} @ ")), "{fields}: {found:?}");
    }
}

#[test]
fn all_problems_are_reported_with_process_and_place() {
    let text = "processes:
- executable: x
- name: two
  args: {}
  limits:
    open_files: x
- name: ../three
  executable: ''
-
- 5
";
    assert_eq!(
        problems(text),
        [
            "process \"#1\": invalid config: name @ 2:3",
            "process \"two\": args: cannot unmarshal !!map into []string @ 4:9",
            "process \"two\": limits.open_files: cannot unmarshal !!str into uint64 @ 6:17",
            "process \"two\": invalid config: executable @ 3:3",
            "process \"../three\": invalid config: name must not be a path @ 7:9",
            "process \"../three\": invalid config: executable @ 8:15",
            "process \"#4\": invalid config: name @ 9:2",
            "process \"#4\": invalid config: executable @ 9:2",
            "process \"#5\": process: cannot unmarshal !!int into config.ProcessConfig @ 10:3",
        ]
    );
}

#[test]
fn what_is_no_yaml_is_one_problem_with_its_place() {
    for (text, line) in
        [("processes:\n  - name: [\n", 3), ("a: b: c\n", 1), ("a: *x\n", 1), ("a: &x {b: *x}\n", 1), ("a: \"x\n", 2)]
    {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("failed to parse job configuration: "), "{found:?}");
        assert!(found[0].contains(&format!(" @ {line}:")), "{text:?} {found:?}");
    }
    assert_eq!(problems("[1]"), ["bpm.yml: cannot unmarshal !!seq into config.JobConfig @ 1:1"]);
}

#[test]
fn hostile_documents_are_refused_quickly() {
    let deep = format!("a: {}", "[".repeat(100_000));
    assert_eq!(problems(&deep).len(), 1);
    let mut laughs = "l0: &l0 {a: 1}\n".to_owned();
    for level in 1..12 {
        let below = vec![format!("*l{}", level - 1); 10].join(", ");
        laughs += &format!("l{level}: &l{level} {{<<: [{below}]}}\n");
    }
    laughs += "processes: [{name: a, executable: b, env: {<<: *l11}}]\n";
    assert!(problems(&laughs).iter().any(|p| p.contains("excessive aliasing")));
}

#[test]
fn an_unknown_process_is_named_with_the_file_and_the_known_ones() {
    let error = ok("processes: [{name: a, executable: x}, {name: b, executable: x}]").process("c").unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: process \"c\" not present in job configuration (bpm.yml)\n  --> bpm.yml\n  hint: its processes are: a, b"
    );
    assert_eq!(error.exit_code(), 65);
}

#[test]
fn a_number_in_the_wrong_place_is_called_one() {
    let text = "processes: [{name: a, executable: x, ephemeral_disk: 1, persistent_disk: 1.5, hooks: 0x1F, \
                limits: {open_files: -1, processes: '5', core_file_size: x}}]";
    assert_eq!(
        problems(text).iter().map(|p| p.split(" @ ").next().unwrap().to_owned()).collect::<Vec<_>>(),
        [
            "process \"a\": ephemeral_disk: cannot unmarshal !!int into bool",
            "process \"a\": persistent_disk: cannot unmarshal !!float into bool",
            "process \"a\": hooks: cannot unmarshal !!int into config.Hooks",
            "process \"a\": limits.open_files: cannot unmarshal !!int into uint64",
            "process \"a\": limits.processes: cannot unmarshal !!str into int64",
            "process \"a\": limits.core_file_size: cannot unmarshal !!str into uint64",
        ]
    );
}

#[test]
fn what_no_kernel_can_take_is_refused_with_its_place() {
    let text = r#"processes: [{name: a, executable: "x\0", args: ["a\0b"], env: {A: "\0", "B\0": b}, workdir: "/\0"}]"#;
    let nul = "must not hold a NUL character";
    assert_eq!(
        problems(text).iter().map(|p| p.split(" @ ").next().unwrap().to_owned()).collect::<Vec<_>>(),
        ["executable", "args", "env: a variable's name", "env.A", "workdir"]
            .map(|field| format!("process \"a\": {field}: {nul}"))
    );
}

#[test]
fn a_value_is_never_in_a_message() {
    let text = "processes:\n- name: a\n  executable: x\n  env: {A: [hunter2]}\n  args: hunter2\n  limits: {open_files: hunter2}\n";
    assert!(!problems(text).join("\n").contains("hunter2"));
}

#[test]
fn the_normalised_form_has_bpms_names_and_leaves_defaults_out() {
    let config = ok(
        "processes: [{name: a, executable: x, args: [01], unsafe: {privileged: true}, hooks: {pre_start: /p}, limits: {memory: 1G}, shutdown_signal: INT}, {name: b, executable: y}]",
    );
    assert_eq!(
        serde_yaml::to_string(&config).unwrap(),
        "processes:
- name: a
  executable: x
  args:
  - '01'
  hooks:
    pre_start: /p
  limits:
    memory: 1G
  unsafe:
    privileged: true
  shutdown_signal: INT
- name: b
  executable: y
"
    );
    let text = serde_yaml::to_string(&config).unwrap();
    assert_eq!(ok(&text), config, "the normalised form reads back as itself");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[-a-z0-9:{}\\[\\],&*<~!'\"| \n]{0,80}") {
        let _ = parse(&text, "bpm.yml");
    }

    #[test]
    fn any_argument_survives_the_normalised_form(args in proptest::collection::vec("[ -~\u{e9}\n\t]{0,12}", 0..4)) {
        let config = ok("processes: [{name: a, executable: x}]");
        let mut config = config.clone();
        config.processes[0].args = args;
        let text = serde_yaml::to_string(&config).unwrap();
        proptest::prop_assert_eq!(ok(&text), config);
    }
}
