//! Documents that the command line names.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use problem::{Place, Problem, Result, code};
use serde_json::{Map, Value as Json};

/// The largest document that is read, in bytes.
pub(crate) const LARGEST: u64 = 16 << 20;

/// The text of a file; `-` is stdin.
///
/// # Errors
/// A missing file is the operator's mistake. A file larger than 16 MiB is not read.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let name = path.display();
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Problem::input(format!("cannot read {name}: the file does not exist")),
        _ => Problem::internal(format!("cannot read {name}")).because(error).code(code::IO),
    };
    Ok(bounded(path).map_err(failed)?)
}

/// The text of a file or of stdin.
///
/// # Errors
/// Those of reading; a text larger than 16 MiB.
pub(crate) fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let limit = LARGEST + 1;
    if path == Path::new("-") {
        io::stdin().lock().take(limit).read_to_end(&mut text)?;
    } else {
        fs::File::open(path)?.take(limit).read_to_end(&mut text)?;
    }
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
    }
    Ok(text)
}

/// The JSON object in a file.
///
/// # Errors
/// As [`read`]; a text that is not a JSON object.
pub(crate) fn json_object(path: &Path) -> Result<Map<String, Json>> {
    let text = read(path)?;
    let wrong = |what: &str, line: Option<u32>, column: Option<u32>| {
        let place = Place { line, column, ..Place::file(path.display().to_string()) };
        Problem::input(what).at(place)
    };
    match serde_json::from_slice(&text) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err(wrong("the document is not a JSON object", None, None).into()),
        // The message of the parser may quote a value.
        Err(error) => {
            Err(wrong("the document is not JSON", Some(error.line() as u32), Some(error.column() as u32)).into())
        }
    }
}
