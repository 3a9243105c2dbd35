//! Programs in Go that answer as the reference implementation does: a line in, a line out.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program, built.
#[derive(Debug)]
pub struct Program(PathBuf);

impl Program {
    /// Builds the program of a directory into another one (`CARGO_TARGET_TMPDIR`), under this name.
    ///
    /// # Panics
    /// If Go or a module is missing, or the program does not compile.
    pub fn build(directory: &Path, target: &Path, name: &str) -> Program {
        let program = target.join(name);
        let built = Command::new("go").arg("build").arg("-o").arg(&program).arg(".").current_dir(directory).status();
        assert!(built.expect("Go is needed").success(), "the Go program does not compile");
        Program(program)
    }

    /// The answers to lines.
    ///
    /// # Panics
    /// If the program fails or does not answer each line.
    pub fn answers(&self, lines: &[String]) -> Vec<String> {
        let mut child = Command::new(&self.0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("its stdin is a pipe");
        let requests: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let writer = std::thread::spawn(move || stdin.write_all(requests.as_bytes()));
        let read = BufReader::new(child.stdout.take().expect("its stdout is a pipe")).lines();
        let answers: Vec<String> = read.map(|line| line.expect("it writes lines")).collect();
        writer.join().expect("the writer lives").expect("it reads lines");
        assert!(child.wait().expect("it ends").success());
        assert_eq!(answers.len(), lines.len());
        answers
    }
}
