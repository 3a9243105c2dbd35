//! Log files as an archive.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use problem::{IoContext, Problem, Result};
use tar::{Archive, Builder, Header};

use super::files::{Files, LOGS};
use super::{Options, Source, reading, run_inside};

/// Writes the logs of the instances into an archive, which is there as a whole or not at all. With the options of the verb, processes
/// inside the instances read the files. Returns the exit code.
pub(super) fn write(path: &Path, sources: &[Source], files: &Files, inside: Option<&Options>) -> Result<u8> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Logs may hold secrets: the file is its owner's.
    let file = tempfile::NamedTempFile::new_in(directory).io("write", path)?;
    let mut builder = Builder::new(GzEncoder::new(file, Compression::default()));
    let mut exit_code = 0;
    for source in sources {
        // As bosh has it, the only instance needs no name.
        let prefix = if sources.len() == 1 { String::new() } else { format!("{}/", source.instance) };
        match inside {
            Some(options) => {
                exit_code = exit_code.max(copy(&mut builder, source, &prefix, options).io("write", path)??)
            }
            None => add(&mut builder, &source.dir.vcap(), &prefix, files)?.io("write", path)?,
        }
    }
    let file = builder.into_inner().and_then(GzEncoder::finish).io("write", path)?;
    if exit_code == 0 {
        file.persist(path).map_err(|e| e.error).io("write", path)?;
    }
    Ok(exit_code)
}

/// Writes the logs of a `/var/vcap` to standard output, as an archive for [`copy`].
pub(super) fn to_stdout(vcap: &Path, files: &Files) -> Result<()> {
    let failed = |e: io::Error| Problem::internal("cannot pass logs on").because(e);
    let mut builder = Builder::new(io::stdout().lock());
    add(&mut builder, vcap, "", files)?.map_err(failed)?;
    builder.into_inner().and_then(|mut out| out.flush()).map_err(failed)?;
    Ok(())
}

/// Adds the files of a `/var/vcap`; the inner error is one of writing.
fn add(builder: &mut Builder<impl Write>, vcap: &Path, prefix: &str, files: &Files) -> Result<io::Result<()>> {
    for path in files.below(vcap)? {
        let Some(file) = reading::open(vcap, &format!("{LOGS}/{path}"))? else { continue };
        let meta = file.metadata().io("read", &vcap.join(LOGS).join(&path))?;
        let mut header = Header::new_gnu();
        header.set_size(meta.len());
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(meta.mtime()).unwrap_or(0));
        // A file that is cut meanwhile has zeros at its end.
        let content = file.chain(io::repeat(0)).take(meta.len());
        let added = builder.append_data(&mut header, format!("{prefix}{path}"), BufReader::new(content));
        if added.is_err() {
            return Ok(added);
        }
    }
    Ok(Ok(()))
}

/// Adds what a process inside an instance reads; returns its exit code.
fn copy(builder: &mut Builder<impl Write>, source: &Source, prefix: &str, options: &Options) -> io::Result<Result<u8>> {
    let (content, output) = io::pipe()?;
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run_inside(source, options, output.into()));
        let mut archive = Archive::new(BufReader::new(content));
        for entry in archive.entries()? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.path()?.display());
            builder.append_data(&mut entry.header().clone(), path, entry)?;
        }
        Ok(running.join().unwrap_or(Ok(70)))
    })
}
