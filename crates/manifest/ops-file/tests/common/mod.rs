//! What answers a request: the crates, or go-patch and yaml.v2.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part, and a test may panic")]

use std::path::Path;

use go_yaml::Source;
use serde_json::{Value as Json, json};
use testkit::go::Program;

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
    program: Program,
}

impl Go {
    pub(crate) fn build() -> Go {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go");
        Go { program: Program::build(&directory, Path::new(env!("CARGO_TARGET_TMPDIR")), "go-patch") }
    }

    pub(crate) fn answers(&self, requests: &[Json]) -> Vec<Json> {
        let lines: Vec<String> = requests.iter().map(Json::to_string).collect();
        self.program.answers(&lines).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
