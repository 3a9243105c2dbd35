//! `copy-jobs` against `cp -a`, on trees like those that release images carry.
//!
//! `cargo bench -p e2e --bench copy`

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod generate;
mod measure;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use generate::cf_like;
use measure::{Executables, Result, median, ms, peak_of, table, timed};

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(_: &[String]) -> Result<()> {
    let executables = Executables::find();
    let mut rows = Vec::new();
    let (memory, disk) = (measure::scratch()?, measure::disk()?);
    for (place, scratch, factor, runs) in
        [("memory", &memory, 1, 31), ("memory", &memory, 10, 11), ("disk", &disk, 1, 11)]
    {
        rows.push(row(&executables, place, scratch.path(), factor, runs)?);
    }
    println!("copy-jobs against cp -a, into a new directory, one run after the other (medians; ms)");
    table(&["where", "files", "copy-jobs", "cp -a", "copy-jobs / cp", "copy-jobs peak KiB"], &rows);
    Ok(())
}

fn row(executables: &Executables, place: &str, scratch: &Path, factor: usize, runs: usize) -> Result<Vec<String>> {
    let directory = scratch.join(factor.to_string());
    let from = generate::write(&directory, cf_like(factor))?.base;
    let copy_jobs = |to: &Path| {
        let mut command = executables.command("copy-jobs");
        command.arg("--from").arg(&from).arg("--to").arg(to);
        command
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for run in 0..runs {
        // By turns, so that whatever else the machine does meets both; removing is not timed.
        let (a, b) = (directory.join(format!("boson-{run}")), directory.join(format!("cp-{run}")));
        ours.push(timed(&mut copy_jobs(&a))?);
        theirs.push(timed(Command::new("cp").arg("-a").arg(&from).arg(&b))?);
        fs::remove_dir_all(&a)?;
        fs::remove_dir_all(&b)?;
    }
    let (ours, theirs) = (ms(median(ours)?), ms(median(theirs)?));
    Ok(vec![
        place.to_owned(),
        files(&from)?.to_string(),
        format!("{ours:.1}"),
        format!("{theirs:.1}"),
        format!("{:.2}x", ours / theirs),
        peak_of(&copy_jobs(&directory.join("peak")))?.to_string(),
    ])
}

fn files(directory: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        count += if entry.file_type()?.is_dir() { files(&entry.path())? } else { 1 };
    }
    Ok(count)
}
