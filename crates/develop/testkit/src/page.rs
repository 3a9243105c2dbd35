//! The examples of a page of the documentation: a block `LANGUAGE FILE` is written to the file, the commands of a block `console`
//! are run in the same directory, and their output is compared, or written into the page if `BOSON_UPDATE` is set. A command may
//! continue on lines that begin with `> `. A block `yaml` is an excerpt, which is not run. Tests that need more than a machine take their
//! blocks with [`texts`] and [`examples`].

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

/// A command of a page.
pub struct Example {
    /// What is typed; may have several lines.
    pub command: String,
    /// The output that the page shows.
    pub output: String,
}

/// The texts of the blocks of a page that begin with "```" and this line.
pub fn texts(page: &str, info: &str) -> Vec<String> {
    blocks(page).into_iter().filter(|block| block.info == info).map(|block| block.text).collect()
}

/// The commands of a block.
pub fn examples(block: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            examples.push(Example { command: command.to_owned(), output: String::new() });
        } else if let Some(example) = examples.last_mut() {
            match line.strip_prefix("> ").filter(|_| example.output.is_empty()) {
                Some(more) => example.command.push_str(&format!("\n{more}")),
                None => example.output.push_str(&format!("{line}\n")),
            }
        }
    }
    examples
}

/// The block with the output that its commands have now.
fn run(block: &str, directory: &Path, path: &str, variables: &[(&str, &str)]) -> String {
    let mut script = String::from("exec 2>&1\n");
    for Example { command, .. } in examples(block) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_commands_and_outputs() {
        let page = "x\n```console cluster\n$ a \\\n> b\none\n> two\n$ c\n```\n```yaml\n$ d\n```\n";
        let texts = texts(page, "console cluster");
        assert_eq!(texts, ["$ a \\\n> b\none\n> two\n$ c\n"]);
        let examples: Vec<_> =
            examples(&texts[0]).into_iter().map(|example| (example.command, example.output)).collect();
        let expected = [("a \\\nb", "one\n> two\n"), ("c", "")];
        assert_eq!(examples, expected.map(|(command, output)| (command.to_owned(), output.to_owned())));
    }
}
