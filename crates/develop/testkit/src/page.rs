//! The examples of a page of the documentation: a block `LANGUAGE FILE` is written to the file, the commands of a block `console`
//! are run in the same directory, and their output is compared, or written into the page if `BOSON_UPDATE` is set. A command may
//! continue on lines that begin with `> `. A block `yaml` is an excerpt, which is not run.

use std::fs;
use std::os::unix::fs::symlink;
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
        match (inside, line.strip_prefix("```"), blocks.last_mut()) {
            (false, Some(info), _) => {
                blocks.push(Block { line: number + 1, info, text: String::new() });
                inside = true;
            }
            (true, Some(_), _) => inside = false,
            (true, None, Some(block)) => block.text.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    blocks
}

/// The block with the output that its commands have now.
fn run(block: &str, directory: &Path, path: &str, variables: &[(&str, &str)]) -> String {
    let mut commands: Vec<String> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(command.to_owned());
        } else if let (Some(more), Some(command)) = (line.strip_prefix("> "), commands.last_mut()) {
            command.push_str(&format!("\n{more}"));
        }
    }
    let mut script = String::from("exec 2>&1\n");
    for command in &commands {
        // The status of a command is that of the line before, for `echo $?`.
        let shown = command.replace('\n', "\n> ").replace('\'', "'\\''");
        script.push_str(&format!("status=$?; printf '%s\\n' '$ {shown}'; (exit $status)\n{command}\n"));
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(directory).env_clear().env("PATH", path).envs(variables.iter().copied());
    let output = shell.output();
    String::from_utf8(output.expect("sh starts").stdout).expect("its output is UTF-8")
}

/// Runs the examples of a page in the directory `work`; `executables` are the paths of those that they call, with their names.
/// Before each block of commands, `work/out` is removed. Gives the number of blocks that ran.
///
/// # Panics
/// If the output of a block differs from the page.
pub fn check(page: &Path, executables: &[(&str, &Path)], work: &Path) -> usize {
    check_with(page, executables, &[], work)
}

/// As [`check`], with these variables in the environment of the commands.
///
/// # Panics
/// If the output of a block differs from the page.
pub fn check_with(page: &Path, executables: &[(&str, &Path)], variables: &[(&str, &str)], work: &Path) -> usize {
    let text = fs::read_to_string(page).expect("the page is readable");
    let mut updated = text.clone();
    let bin = work.join(".bin");
    fs::create_dir_all(&bin).expect("a directory for links");
    for (name, executable) in executables {
        symlink(executable, bin.join(name)).expect("a link");
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut ran = 0;
    for block in blocks(&text) {
        if let Some((_, file)) = block.info.split_once(' ') {
            let file = work.join(file);
            fs::create_dir_all(file.parent().unwrap_or(work)).expect("a directory");
            fs::write(file, block.text).expect("a file");
        } else if block.info == "console" {
            let _ = fs::remove_dir_all(work.join("out"));
            let output = run(&block.text, work, &path, variables);
            if std::env::var_os("BOSON_UPDATE").is_some() {
                updated = updated.replace(&block.text, &output);
            } else {
                assert_eq!(output, block.text, "line {}: the output differs", block.line);
            }
            ran += 1;
        } else if block.info != "yaml" {
            panic!("line {}: an unknown kind of block", block.line);
        }
    }
    if updated != text {
        fs::write(page, updated).expect("the page is writable");
    }
    ran
}
