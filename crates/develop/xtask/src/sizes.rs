//! `cargo run -p xtask -- sizes [DIR]`: what the executables that ship weigh, need and contain, against the table in
//! `docs/architecture.md`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, elf};

use crate::architecture::{Architecture, Executable};

/// The findings as a table, and the violations.
#[derive(Debug)]
pub struct Report {
    /// Lines of a table.
    pub table: Vec<[String; 5]>,
    /// The violations.
    pub errors: Vec<String>,
}

/// How an executable is linked.
#[derive(Debug, PartialEq, Eq)]
pub enum Linkage {
    /// It needs nothing, and may be loaded anywhere.
    StaticPie,
    /// It needs nothing, and is always loaded at the same place.
    Static,
    /// It needs an interpreter, or these libraries.
    Dynamic(Vec<String>),
}

impl std::fmt::Display for Linkage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Linkage::StaticPie => f.write_str("static-pie"),
            Linkage::Static => f.write_str("static"),
            Linkage::Dynamic(needed) => write!(f, "dynamic ({})", needed.join(", ")),
        }
    }
}

/// How often a program is started to see how long that takes.
const STARTS: usize = 21;

/// Looks at the executables in `directory` that the workspace has (`members`).
///
/// # Errors
/// The document cannot be read.
pub fn check(directory: &Path, members: &[&str]) -> Result<Report, String> {
    let rows = Architecture::load()?.executables;
    let mut report = Report { table: Vec::new(), errors: unproven(&rows) };
    for row in &rows {
        let path = directory.join(&row.name);
        if !members.contains(&row.name.as_str()) {
            continue;
        }
        match std::fs::read(&path) {
            Ok(bytes) => look_at(row, &path, &bytes, &mut report),
            Err(error) => report.errors.push(format!("{}: {error} (`make static` builds it)", path.display())),
        }
    }
    Ok(report)
}

fn look_at(row: &Executable, path: &Path, bytes: &[u8], report: &mut Report) {
    let Executable { name, at_most, contains, never_contains } = row;
    let size = bytes.len() as u64;
    if size > *at_most {
        report.errors.push(format!("{name} has {size} bytes, {} more than it may", size - at_most));
    }
    let linkage = match linkage(bytes) {
        Ok(linkage) => linkage,
        Err(error) => return report.errors.push(format!("{name}: {error}")),
    };
    if linkage != Linkage::StaticPie {
        report.errors.push(format!("{name} is not a static-pie but {linkage}"));
    }
    let has = |mark: &String| memchr::memmem::find(bytes, mark.as_bytes()).is_some();
    for mark in contains.iter().filter(|mark| !has(mark)) {
        report.errors.push(format!("{name} has lost `{mark}`, by which others are seen not to contain it"));
    }
    for mark in never_contains.iter().filter(|mark| has(mark)) {
        report.errors.push(format!("{name} contains `{mark}`"));
    }
    match start_up(path) {
        Ok((time, version)) => report.table.push([
            name.clone(),
            size.to_string(),
            at_most.to_string(),
            format!("{:.1} ms", time.as_secs_f64() * 1000.0),
            format!("{linkage}: {version}"),
        ]),
        Err(error) => report.errors.push(format!("{name} --version: {error}")),
    }
}

/// A mark that no executable contains proves nothing when it is missing.
fn unproven(rows: &[Executable]) -> Vec<String> {
    let known = |mark: &String| rows.iter().any(|row| row.contains.contains(mark));
    let marks = rows.iter().flat_map(|row| &row.never_contains).filter(|mark| !known(mark));
    marks.map(|mark| format!("no executable is listed as containing `{mark}`")).collect()
}

/// How an ELF file is linked.
///
/// # Errors
/// Bytes that are not such a file.
pub fn linkage(bytes: &[u8]) -> Result<Linkage, String> {
    let wrong = |error: object::Error| format!("no executable: {error}");
    let header = elf::FileHeader64::<Endianness>::parse(bytes).map_err(wrong)?;
    let endian = header.endian().map_err(wrong)?;
    let (mut interpreter, mut needed) = (false, Vec::new());
    for segment in header.program_headers(endian, bytes).map_err(wrong)? {
        interpreter |= segment.p_type(endian) == elf::PT_INTERP;
    }
    let sections = header.sections(endian, bytes).map_err(wrong)?;
    let dynamic = sections.dynamic_table(endian, bytes).map_err(wrong)?;
    for entry in dynamic.iter().filter(|entry| entry.tag == elf::DT_NEEDED) {
        needed.push(String::from_utf8_lossy(dynamic.string(entry).map_err(wrong)?).into_owned());
    }
    Ok(match (interpreter || !needed.is_empty(), header.e_type.get(endian)) {
        (true, _) => Linkage::Dynamic(needed),
        (false, elf::ET_DYN) => Linkage::StaticPie,
        (false, _) => Linkage::Static,
    })
}

/// How long `--version` takes, the median, and its output.
fn start_up(path: &Path) -> Result<(Duration, String), String> {
    let mut times = Vec::new();
    let mut version = String::new();
    for _ in 0..STARTS {
        let start = Instant::now();
        let output = Command::new(path).arg("--version").output().map_err(|e| e.to_string())?;
        times.push(start.elapsed());
        if !output.status.success() {
            return Err(output.status.to_string());
        }
        version = String::from_utf8_lossy(&output.stdout).trim_end().replace('\n', "; ");
    }
    times.sort();
    Ok((times[STARTS / 2], version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_not_a_static_executable() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let Linkage::Dynamic(needed) = linkage(&bytes).unwrap() else { panic!("static") };
        assert!(needed.iter().any(|name| name.starts_with("libc.")), "{needed:?}");
        assert!(linkage(b"#!/bin/sh\n").is_err());
    }

    #[test]
    fn forbidden_content_of_an_executable_is_found() {
        let path = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let row = Executable {
            name: "it".into(),
            at_most: 1,
            contains: [["nowhere", "to be found"].join(" ")].into(),
            never_contains: ["a string that stands here".to_owned()].into(),
        };
        let mut report = Report { table: Vec::new(), errors: Vec::new() };
        look_at(&row, &path, &bytes, &mut report);
        let errors = report.errors.join("\n");
        for wrong in ["more than it may", "not a static-pie", "has lost `", "contains `a string that stands"] {
            assert!(errors.contains(wrong), "{wrong}: {errors}");
        }
        assert_eq!(
            unproven(std::slice::from_ref(&row)),
            ["no executable is listed as containing `a string that stands here`"]
        );
    }
}
