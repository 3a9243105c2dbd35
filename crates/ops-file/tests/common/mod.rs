//! What answers a request: the crates, or go-patch and yaml.v2.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part, and a test may panic")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use go_yaml::Source;
use serde_json::{Value as Json, json};

/// The document with the operations applied, the node at the path, or the message.
pub(crate) fn answer(request: &Json) -> Json {
    match output(request) {
        Ok(output) if output.is_empty() => json!({}),
        Ok(output) => json!({ "output": output }),
        Err(error) => json!({ "error": error }),
    }
}

fn output(request: &Json) -> Result<String, String> {
    let read = |name: &str| {
        request[name].as_str().map(|text| go_yaml::read(text.as_bytes(), Source(0)).map_err(|e| e.to_string()))
    };
    let mut document = read("Document").unwrap()?;
    if let Some(ops) = read("Ops").transpose()? {
        for (number, operation) in ops_file::parse(&ops).map_err(|e| e.to_string())?.iter().enumerate() {
            operation.apply(&mut document).map_err(|e| format!("operation [{number}] failed: {e}"))?;
        }
    }
    if let Some(path) = request["Find"].as_str() {
        let path = path.parse().map_err(|e: ops_file::PathError| e.to_string())?;
        return Ok(go_yaml::write(&*ops_file::find(&document, &path).map_err(|e| e.to_string())?));
    }
    Ok(go_yaml::write(&document))
}

/// Go's program, built where builds go.
pub(crate) struct Go {
    program: PathBuf,
}

impl Go {
    pub(crate) fn build() -> Go {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-patch");
        let built = Command::new("go").arg("build").arg("-o").arg(&program).arg(".").current_dir(directory).status();
        assert!(built.expect("Go is needed").success(), "the Go program does not compile");
        Go { program }
    }

    pub(crate) fn answers(&self, requests: &[Json]) -> Vec<Json> {
        let mut child = Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let lines: String = requests.iter().map(|request| request.to_string() + "\n").collect();
        let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
        let read = BufReader::new(child.stdout.take().unwrap()).lines();
        let answers: Vec<Json> = read.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        writer.join().unwrap().unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(answers.len(), requests.len());
        answers
    }
}
