//! Giving back memory that only the start needed.

use std::fs;

use nix::libc;

/// Drops the program's own code from this process' memory; code that is executed again is reloaded.
///
/// Reading flags, bpm.yml and the like takes most of the code, waiting next to none. The code is the executable's, never
/// changed and never written to, so nothing is lost but the mapping.
pub fn forget_code() {
    for (start, length) in code(&fs::read_to_string("/proc/self/maps").unwrap_or_default()) {
        // SAFETY: the range is a mapping of a file that is executable and not writable. Whatever page of it is touched
        // next, this very code included, is read from the file again.
        unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED) };
    }
}

/// The mappings that are code of files: where they start, and how long they are.
fn code(maps: &str) -> Vec<(usize, usize)> {
    let of_line = |line: &str| {
        let mut fields = line.split_whitespace();
        let (range, rights) = (fields.next()?, fields.next()?);
        let (start, end) = range.split_once('-')?;
        let [start, end] = [start, end].map(|n| usize::from_str_radix(n, 16));
        let (start, end) = (start.ok()?, end.ok()?);
        let is_file = fields.nth(3).is_some_and(|path| path.starts_with('/'));
        (rights == "r-xp" && is_file).then(|| (start, end.saturating_sub(start)))
    };
    maps.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_file_mappings_count_as_code() {
        let maps = "1000-2000 r--p 00000000 08:01 7 /bin/x\n\
            2000-5000 r-xp 00001000 08:01 7 /bin/x (deleted)\n\
            5000-6000 rw-p 00004000 08:01 7 /bin/x\n\
            6000-7000 rwxp 00004000 08:01 7 /bin/x\n\
            7000-8000 r-xp 00000000 00:00 0 [vdso]\n\
            9000-a000 r-xp 00000000 00:00 0 \n";
        assert_eq!(code(maps), [(0x2000, 0x3000)]);
        // And one that goes on running.
        forget_code();
        assert!(!code(&fs::read_to_string("/proc/self/maps").unwrap()).is_empty());
    }
}
