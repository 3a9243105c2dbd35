//! The examples of docs/dialects/nstance.md: a block `json FILE` is written to the file, the commands of a block `console`
//! are run in the same directory, and their output is compared, or written into the page if `BOSON_UPDATE` is set.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;

struct Block<'p> {
    line: usize,
    info: &'p str,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    for (number, line) in page.lines().enumerate() {
        match (inside, line.strip_prefix("```")) {
            (false, Some(info)) => {
                blocks.push(Block { line: number + 1, info, text: String::new() });
                inside = true;
            }
            (true, Some(_)) => inside = false,
            (true, None) => blocks.last_mut().unwrap().text.push_str(&format!("{line}\n")),
            (false, None) => {}
        }
    }
    blocks
}

/// The block with the output that its commands have now.
fn run(block: &str, dir: &Path, path: &str) -> String {
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let mut script = String::from("exec 2>&1\n");
    for command in &commands {
        // The status of a command is that of the line before, for `echo $?`.
        script.push_str(&format!(
            "status=$?; printf '%s\\n' '$ {}'; (exit $status)\n{command}\n",
            command.replace('\'', "'\\''")
        ));
    }
    let output =
        Command::new("sh").args(["-c", &script]).current_dir(dir).env_clear().env("PATH", path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_examples_of_the_page_are_true() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects/nstance.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let mut updated = page.clone();
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_boson-cloud"), bin.join("render-files")).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let work = dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut ran = 0;
    for block in blocks(&page) {
        if let Some(file) = block.info.strip_prefix("json ") {
            std::fs::write(work.join(file), block.text).unwrap();
        } else {
            assert_eq!(block.info, "console", "line {}: an unknown kind of block", block.line);
            // Each example writes its own directory.
            let _ = std::fs::remove_dir_all(work.join("out"));
            let output = run(&block.text, &work, &path);
            if std::env::var_os("BOSON_UPDATE").is_some() {
                updated = updated.replace(&block.text, &output);
            } else {
                assert_eq!(output, block.text, "line {}: the output differs", block.line);
            }
            ran += 1;
        }
    }
    if updated != page {
        std::fs::write(&file, updated).unwrap();
    }
    assert!(ran >= 11, "only {ran} examples");
}
