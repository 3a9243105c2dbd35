//! `--open`: the page in the browser of the user.

use std::io::Write;
use std::process::{Command, Stdio};

use problem::Problem;
use tempfile::NamedTempFile;

use crate::html::escaped;

/// Opens the address. The browser gets a file that leads to it, which only the user can read: all users of the machine see the words
/// of a command line. The file exists as long as the result: until the first request.
pub(super) fn open(address: &str) -> Option<NamedTempFile> {
    match file(address).and_then(|file| start(&file).map(|()| file)) {
        Ok(file) => Some(file),
        Err(e) => {
            let problem = Problem::usage("--open: cannot start the browser").because(e);
            startup::print(&problem.hint("open the address that is printed, or install xdg-open").into());
            None
        }
    }
}

fn file(address: &str) -> std::io::Result<NamedTempFile> {
    let parent = local_state::user_dirs::in_memory().unwrap_or_else(std::env::temp_dir);
    let mut file = tempfile::Builder::new().prefix("boson-view-").suffix(".html").tempfile_in(parent)?;
    let address = escaped(address);
    writeln!(file, "<!DOCTYPE html><meta charset=\"utf-8\"><title>boson view</title>")?;
    writeln!(file, "<meta http-equiv=\"refresh\" content=\"0; url={address}\"><a href=\"{address}\">boson view</a>")?;
    Ok(file)
}

fn start(file: &NamedTempFile) -> std::io::Result<()> {
    let mut command = Command::new("xdg-open");
    command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    std::thread::Builder::new().name("browser".into()).spawn(move || child.wait())?;
    Ok(())
}
