//! Programs that start a process of BPM.

use crate::model::Program;

/// What `bpm start JOB [-p PROCESS]` starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BpmStart {
    /// The job.
    pub job: String,
    /// The process; the job's name where the program names none.
    pub process: String,
}

impl Program {
    /// What the program starts if it is `.../bpm/bin/bpm start`; nothing if it is another program, which runs as it is.
    pub fn bpm_start(&self) -> Option<BpmStart> {
        let (program, args) = self.argv.split_first()?;
        if !program.ends_with("/bpm/bin/bpm") {
            return None;
        }
        let mut process = None;
        let mut plain = Vec::new();
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            // The flags as cobra, which BPM uses, reads them.
            match arg {
                "-p" | "--process" => process = Some(args.next()?),
                _ => match arg.strip_prefix("--process=").or_else(|| arg.strip_prefix("-p")) {
                    Some(name) => process = Some(name.strip_prefix('=').unwrap_or(name)),
                    None if arg.starts_with('-') => return None,
                    None => plain.push(arg),
                },
            }
        }
        let ["start", job] = plain.as_slice() else { return None };
        Some(BpmStart { job: (*job).to_owned(), process: process.unwrap_or(job).to_owned() })
    }
}
