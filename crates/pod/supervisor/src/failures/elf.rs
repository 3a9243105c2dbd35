//! The little of an executable's header that explains why it does not start (`elf.h`).

use std::path::PathBuf;

/// A machine's number.
pub(super) type Machine = u16;

const X86_64: Machine = 62;
const AARCH64: Machine = 183;
/// The machine that this program was built for.
pub(super) const MINE: Machine = if cfg!(target_arch = "aarch64") { AARCH64 } else { X86_64 };

/// Names of machines for which Linux executables are built.
const NAMES: [(Machine, &str); 8] = [
    (3, "x86"),
    (8, "mips"),
    (21, "ppc64"),
    (22, "s390x"),
    (40, "arm"),
    (X86_64, "x86_64"),
    (AARCH64, "aarch64"),
    (243, "riscv"),
];

/// The program header that names the loader (`PT_INTERP`).
const INTERPRETER: u32 = 3;

/// The machine that an executable was built for, if the file is one.
pub(super) fn machine(start: &[u8]) -> Option<Machine> {
    let little = *header(start)?.get(5)? == 1;
    let bytes = start.get(18..20)?.try_into().ok()?;
    Some(if little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
}

pub(super) fn name(machine: Machine) -> String {
    let name = NAMES.iter().find(|(number, _)| *number == machine).map(|(_, name)| (*name).to_owned());
    name.unwrap_or_else(|| format!("another machine (number {machine})"))
}

/// What loads the executable, of a 64-bit little-endian one.
pub(super) fn loader(start: &[u8]) -> Option<PathBuf> {
    let header = header(start)?;
    if header.get(4..6)? != [2, 1] {
        return None;
    }
    let (table, size, count) = (number(header, 32, 8)?, number(header, 54, 2)?, number(header, 56, 2)?);
    let entries = (0..count).filter_map(|n| header.get(table.checked_add(n.checked_mul(size)?)?..));
    let entry = entries.into_iter().find(|entry| number(entry, 0, 4) == Some(INTERPRETER as usize))?;
    let (offset, length) = (number(entry, 8, 8)?, number(entry, 32, 8)?);
    let path = header.get(offset..offset.checked_add(length)?)?;
    let path = path.strip_suffix(b"\0").unwrap_or(path);
    Some(PathBuf::from(std::str::from_utf8(path).ok()?))
}

fn header(start: &[u8]) -> Option<&[u8]> {
    start.starts_with(b"\x7fELF").then_some(start)
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    bytes.iter().rev().try_fold(0usize, |n, byte| n.checked_mul(256)?.checked_add(usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_executable_is_parsed() {
        let start = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(machine(&start), Some(MINE));
        assert_eq!(name(MINE), std::env::consts::ARCH);
        // A static one has none.
        assert!(loader(&start).is_none_or(|loader| loader.exists()));
    }

    #[test]
    fn truncated_or_invalid_headers_are_rejected() {
        let start = std::fs::read("/proc/self/exe").unwrap();
        for length in 0..start.len().min(5_000) {
            let _ = (machine(&start[..length]), loader(&start[..length]));
        }
        let mut wrong = start[..start.len().min(5_000)].to_vec();
        for byte in &mut wrong[16..] {
            *byte = 0xff;
        }
        assert_eq!(loader(&wrong), None);
        assert_eq!(machine(b"#!/bin/sh\n"), None);
        assert_eq!(name(machine(&wrong).unwrap()), "another machine (number 65535)");
    }
}
