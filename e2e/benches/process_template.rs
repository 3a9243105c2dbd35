//! Kubernetes Templates: `process-template`, as it ships in the static `boson-pod`, from start to exit against ktmpl 0.9.1, which does
//! less (no types, labels, conflicts or checks), and with more and more objects.
//!
//! `cargo bench -p e2e --bench process_template`. ktmpl is compiled from its crate, once, into boson's cache, or `KTMPL` names one.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod measure;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use measure::{Result, median, median_of, ms, table, timed};

const VERSION: &str = "0.9.1";
/// Runs of each side, by size: small inputs take less time than what else the machine does.
const RUNS: [usize; 3] = [301, 101, 31];
/// Objects of which each measurement has more than the one before.
const SIZES: [usize; 4] = [1_000, 2_000, 4_000, 8_000];

/// An input: its name, a template, the names of the values that it needs.
struct Input {
    name: &'static str,
    template: String,
    values: &'static [(&'static str, &'static str)],
    goal: f64,
}

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(_: &[String]) -> Result<()> {
    let boson_pod = testkit::static_executable("boson-pod");
    let scratch = measure::scratch()?;
    match ktmpl() {
        Ok(ktmpl) => against_ktmpl(&boson_pod, &ktmpl, scratch.path())?,
        Err(why) => println!("ktmpl {VERSION} cannot be installed, and is not compared: {why}"),
    }
    sizes(&boson_pod, scratch.path())
}

/// `process-template --template FILE --param NAME=VALUE ...`.
fn process_template(boson_pod: &Path, file: &Path, values: &[(&str, &str)]) -> Command {
    let mut command = Command::new(boson_pod);
    command.args(["process-template", "--template"]).arg(file);
    values.iter().for_each(|(name, value)| {
        command.args(["--param", &format!("{name}={value}")]);
    });
    command
}

fn against_ktmpl(boson_pod: &Path, ktmpl: &Path, scratch: &Path) -> Result<()> {
    let example = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus/kubernetes-templates/render/example-of-the-proposal/template.json");
    let inputs = [
        Input {
            name: "the proposal's example",
            template: fs::read_to_string(example)?,
            values: &[("MONGODB_PASSWORD", "secret")],
            goal: 1.0,
        },
        Input { name: "100 Deployments", template: deployments(100), values: &[("NAME", "web")], goal: 0.5 },
        Input { name: "5,000 Services", template: services(5_000), values: &[("NAME", "web")], goal: 0.33 },
    ];
    let mut rows = Vec::new();
    for (input, runs) in inputs.iter().zip(RUNS) {
        // ktmpl reads JSON as YAML, whatever the name.
        let file = scratch.join(if input.template.starts_with('{') { "template.json" } else { "template.yaml" });
        fs::write(&file, unlabelled(&input.template)?)?;
        let ours = || process_template(boson_pod, &file, input.values);
        let theirs = || {
            let mut command = Command::new(ktmpl);
            input.values.iter().for_each(|(name, value)| {
                command.args(["--parameter", name, value]);
            });
            command.arg(&file);
            command
        };
        check_equal(input.name, &ours().output()?.stdout, &theirs().output()?.stdout)?;
        fs::write(&file, &input.template)?;
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..runs {
            // By turns, so that whatever else the machine does meets both.
            for (times, mut command) in times.iter_mut().zip([ours(), theirs()]) {
                times.push(timed(&mut command)?);
            }
        }
        let [ours, theirs] = times.map(median);
        let (ours, theirs) = (ours?, theirs?);
        rows.push(vec![
            input.name.to_owned(),
            format!("{:.2}", ms(ours)),
            format!("{:.2}", ms(theirs)),
            format!("{:.2}x", ms(ours) / ms(theirs)),
            format!("<= {}x", input.goal),
        ]);
    }
    println!("process-template and ktmpl {VERSION}, from start to exit (medians of {RUNS:?} runs)");
    table(&["template", "process-template ms", "ktmpl ms", "ratio", "goal"], &rows);
    Ok(())
}

/// Both process the same objects to the same values, whatever the quotes and the order of keys.
fn check_equal(name: &str, ours: &[u8], theirs: &[u8]) -> Result<()> {
    let read = |text: &[u8]| -> Result<Vec<serde_json::Value>> {
        let mut objects = Vec::new();
        for document in serde_yaml::Deserializer::from_slice(text) {
            let value: serde_json::Value = serde::Deserialize::deserialize(document)?;
            match value["items"].as_array() {
                Some(items) => objects.extend(items.iter().cloned()),
                None => objects.push(value),
            }
        }
        Ok(objects)
    };
    if read(ours)? == read(theirs)? { Ok(()) } else { Err(format!("{name}: the results differ").into()) }
}

/// A template without its labels, which ktmpl does not add.
fn unlabelled(template: &str) -> Result<String> {
    if !template.starts_with('{') {
        return Ok(template.to_owned());
    }
    let mut template: serde_json::Value = serde_json::from_str(template)?;
    template.as_object_mut().ok_or("not a template")?.remove("labels");
    Ok(template.to_string())
}

/// ktmpl, which is installed into the cache if it is not there.
fn ktmpl() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("KTMPL") {
        return Ok(path.into());
    }
    let cache = match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME").ok_or("HOME is not set")?).join(".cache"),
    };
    let root = cache.join(format!("boson-build/ktmpl-{VERSION}"));
    let program = root.join("bin/ktmpl");
    if program.is_file() {
        return Ok(program);
    }
    println!("installing ktmpl {VERSION} from its crate into {}", root.display());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut install = Command::new(cargo);
    install.args(["install", "ktmpl", "--version", VERSION, "--root"]).arg(&root);
    match install.status()?.success() {
        true => Ok(program),
        false => Err("cargo install failed".into()),
    }
}

fn sizes(boson_pod: &Path, scratch: &Path) -> Result<()> {
    let mut rows = Vec::new();
    let mut first = None;
    for size in SIZES {
        let file = scratch.join("services.yaml");
        fs::write(&file, services(size))?;
        let time = median_of(15, |_| Ok(process_template(boson_pod, &file, &[("NAME", "web")])))?;
        let each = ms(time) * 1000.0 / size as f64;
        let first = *first.get_or_insert(each);
        rows.push(vec![
            format!("{size} Services"),
            format!("{:.1}", ms(time)),
            format!("{each:.2}"),
            format!("{:.2}", each / first),
        ]);
    }
    println!("process-template, from start to exit (medians of 15 runs); linear is at most 1.00 in the last column");
    table(&["template", "ms", "us each", "of the first"], &rows);
    Ok(())
}

/// A template with Services.
fn services(count: usize) -> String {
    let mut text = HEAD.to_owned();
    for n in 0..count {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "- kind: Service
  apiVersion: v1
  metadata:
    name: $(NAME)-{n}
    annotations: {{note: 'Service {n} of $(NAME)'}}
  spec:
    selector: {{app: $(NAME), part: 'p{n}'}}
    ports:
    - name: http
      port: $((PORT))
      targetPort: 8080
"
        );
    }
    text
}

/// A template with Deployments.
fn deployments(count: usize) -> String {
    let mut text = HEAD.to_owned();
    for n in 0..count {
        let _ = write!(
            text,
            "- kind: Deployment
  apiVersion: apps/v1
  metadata:
    name: $(NAME)-{n}
  spec:
    replicas: $((REPLICAS))
    selector:
      matchLabels: {{app: $(NAME)-{n}}}
    template:
      metadata:
        labels: {{app: $(NAME)-{n}}}
      spec:
        containers:
        - name: main
          image: registry.example.com/$(NAME)/part-{n}:1.0.0
          args: [--verbose, --listen=0.0.0.0]
          env:
          - name: HOST
            value: $(NAME).example.com
          - name: MODE
            value: production
          ports:
          - containerPort: $((PORT))
            name: http
          livenessProbe:
            httpGet: {{path: /healthz, port: http}}
            periodSeconds: 5
          resources:
            requests: {{cpu: 100m, memory: 64Mi}}
            limits: {{memory: 128Mi}}
          volumeMounts:
          - name: config
            mountPath: /etc/$(NAME)
        volumes:
        - name: config
          configMap:
            name: $(NAME)-{n}
"
        );
    }
    text
}

const HEAD: &str = "kind: Template
apiVersion: v1
metadata:
  name: bench
parameters:
- name: NAME
  required: true
- name: PORT
  value: '8080'
- name: REPLICAS
  value: '3'
objects:
";
