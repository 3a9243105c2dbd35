//! The form in which lines are forwarded.

use std::path::Path;

/// The form of what is forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// `[JOB/FILE] LINE`, byte for byte
    Text,
    /// One JSON object per line: job, process, stream, file, message
    Json,
}

/// Writes the lines of one log.
#[derive(Debug)]
pub(crate) struct Form {
    format: Format,
    /// What stands before each line.
    prefix: Vec<u8>,
}

impl Form {
    /// For the log with this path below the directory of logs.
    pub(crate) fn new(format: Format, path: &Path) -> Form {
        let prefix = match format {
            Format::Text => format!("[{}] ", printable(&path.to_string_lossy())),
            Format::Json => {
                let mut object = describe(path).to_string();
                object.truncate(object.len() - 1);
                format!("{object},\"message\":")
            }
        };
        Form { format, prefix: prefix.into_bytes() }
    }

    /// Writes a line, which is given without its end. A part of a line has more after it, or had no end yet.
    pub(crate) fn write(&self, line: &[u8], is_part: bool, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.prefix);
        match self.format {
            Format::Text => into.extend_from_slice(line),
            Format::Json => {
                let message = serde_json::Value::from(String::from_utf8_lossy(line)).to_string();
                into.extend_from_slice(message.as_bytes());
                if is_part {
                    into.extend_from_slice(b",\"partial\":true");
                }
                into.push(b'}');
            }
        }
        into.push(b'\n');
    }
}

/// A name with a line's end in it must not look like two lines.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// BPM: `<job>/<process>.stdout.log`; whatever else a job calls its logs, the job is known.
fn describe(path: &Path) -> serde_json::Value {
    let mut object = serde_json::Map::new();
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    if let (Some(job), Some(_)) = (parts.next(), parts.clone().next()) {
        object.insert("job".to_owned(), job.into());
        let name = parts.next().filter(|_| parts.next().is_none()).unwrap_or_default();
        for stream in ["stdout", "stderr"] {
            if let Some(process) = name.strip_suffix(&format!(".{stream}.log")) {
                object.insert("process".to_owned(), process.into());
                object.insert("stream".to_owned(), stream.into());
            }
        }
    }
    object.insert("file".to_owned(), path.to_string_lossy().into());
    object.into()
}

/// Where to divide a line that is longer than `longest`: not within a character, if it is text.
pub(crate) fn division(line: &[u8], longest: usize) -> usize {
    let is_continuation = |at: usize| line.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    (longest.saturating_sub(3)..=longest).rev().find(|at| !is_continuation(*at)).unwrap_or(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(format: Format, path: &str, line: &[u8], is_part: bool) -> String {
        let mut bytes = Vec::new();
        Form::new(format, Path::new(path)).write(line, is_part, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn text_is_the_line_with_its_file() {
        assert_eq!(
            line(Format::Text, "web/web.stdout.log", b"a \x1b[1m b\r", false),
            "[web/web.stdout.log] a \x1b[1m b\r\n"
        );
        assert_eq!(line(Format::Text, "web/a\nb.log", b"", true), "[web/a\u{fffd}b.log] \n");
        let mut bytes = Vec::new();
        Form::new(Format::Text, Path::new("x.log")).write(b"\xff\0", false, &mut bytes);
        assert_eq!(bytes, b"[x.log] \xff\0\n");
    }

    #[test]
    fn json_says_what_is_known() {
        for (path, message, is_part, expected) in [
            (
                "web/web.stdout.log",
                &b"a \"b\""[..],
                false,
                r#"{"job":"web","process":"web","stream":"stdout","file":"web/web.stdout.log","message":"a \"b\""}"#,
            ),
            (
                "web/deep/x.stderr.log",
                b"\x01",
                true,
                r#"{"job":"web","file":"web/deep/x.stderr.log","message":"\u0001","partial":true}"#,
            ),
            ("x.log", b"\xff", false, "{\"file\":\"x.log\",\"message\":\"\u{fffd}\"}"),
        ] {
            assert_eq!(line(Format::Json, path, message, is_part), format!("{expected}\n"));
        }
    }

    #[test]
    fn characters_are_not_divided() {
        assert_eq!(division(b"abcdef", 4), 4);
        assert_eq!(division("ab\u{20ac}".as_bytes(), 4), 2);
        assert_eq!(division("ab\u{20ac}cd".as_bytes(), 5), 5);
        assert_eq!(division(&[0x80; 9], 4), 4);
    }
}
