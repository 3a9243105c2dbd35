//! `bpm logs`: the end of a process' log files, as BPM has it from `tail`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use clap::Args;
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use problem::{IoContext, Problem, Result, code};
use vcap::Vcap;

use crate::{NO, Named};

/// Which log files, and how much of them.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    named: Named,
    /// Both what it printed on stdout and on stderr
    #[arg(short, long)]
    all: bool,
    /// What it printed on stderr
    #[arg(short, long)]
    err: bool,
    /// Go on printing what is logged from now on
    #[arg(short, long)]
    follow: bool,
    /// How many lines
    #[arg(short = 'n', long, value_name = "LINES", default_value_t = 25)]
    lines: usize,
    /// No names of files
    #[arg(short, long)]
    quiet: bool,
}

/// Prints; gives the exit code.
pub(crate) fn run(vcap: &Vcap, options: &Options) -> Result<u8> {
    let dir = vcap.log(&options.named.job);
    let file = |stream: &str| dir.join(format!("{}.{stream}.log", options.named.process()));
    let mut wanted = Vec::new();
    if !options.err || options.all {
        wanted.push(file("stdout"));
    }
    if options.err || options.all {
        wanted.push(file("stderr"));
    }
    let mut logs = Vec::new();
    for path in wanted {
        match File::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                startup::finish(Err(Problem::internal("logs not found").code(code::IO).because(path.display()).into()));
                return Ok(NO);
            }
            opened => logs.push(Log { file: opened.io("read", &path)?, path }),
        }
    }
    let mut output = Output { named: logs.len() > 1 && !options.quiet, last: None, out: io::stdout().lock() };
    match show(&mut logs, options, &mut output) {
        // Nobody reads any more.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        other => other.io("print", &dir).map(|()| 0),
    }
}

fn show(logs: &mut [Log], options: &Options, output: &mut Output) -> io::Result<()> {
    // Watched first, so that nothing is missed that is written between.
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC)?;
    for log in logs.iter() {
        inotify.add_watch(&log.path, AddWatchFlags::IN_MODIFY)?;
    }
    for (number, log) in logs.iter_mut().enumerate() {
        let start = log.start_of_last(options.lines)?;
        log.file.seek(SeekFrom::Start(start))?;
        output.heading(number, log)?;
        log.print_rest(number, output)?;
    }
    if !options.follow {
        return Ok(());
    }
    loop {
        match inotify.read_events() {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        for (number, log) in logs.iter_mut().enumerate() {
            log.print_rest(number, output)?;
        }
    }
}

struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Where the last lines start, read from the end.
    fn start_of_last(&mut self, lines: usize) -> io::Result<u64> {
        let mut buffer = [0; 8192];
        let mut end = self.file.seek(SeekFrom::End(0))?;
        let (mut newlines, mut last) = (0, true);
        while end > 0 {
            let start = end.saturating_sub(buffer.len() as u64);
            let part = &mut buffer[..usize::try_from(end - start).unwrap_or(0)];
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_exact(part)?;
            for (at, byte) in part.iter().enumerate().rev() {
                // What ends the file ends its last line and starts no other.
                if *byte == b'\n' && !std::mem::take(&mut last) {
                    newlines += 1;
                }
                last = false;
                if newlines >= lines {
                    return Ok(start + at as u64 + 1);
                }
            }
            end = start;
        }
        Ok(0)
    }

    fn print_rest(&mut self, number: usize, output: &mut Output) -> io::Result<()> {
        // Emptied, as rotation does.
        if self.file.metadata()?.len() < self.file.stream_position()? {
            self.file.rewind()?;
        }
        let mut buffer = [0; 8192];
        loop {
            let n = self.file.read(&mut buffer)?;
            if n == 0 {
                return output.out.flush();
            }
            output.heading(number, self)?;
            output.out.write_all(&buffer[..n])?;
        }
    }
}

struct Output<'a> {
    named: bool,
    last: Option<usize>,
    out: io::StdoutLock<'a>,
}

impl Output<'_> {
    /// As `tail` prints it: before what is from another file than what was before.
    fn heading(&mut self, number: usize, log: &Log) -> io::Result<()> {
        if !self.named || self.last == Some(number) {
            return Ok(());
        }
        let gap = if self.last.is_some() { "\n" } else { "" };
        self.last = Some(number);
        writeln!(self.out, "{gap}==> {} <==", log.path.display())
    }
}
