//! `build`: a directory with a manifest becomes a `.brokerpak`.

mod address;
mod checksum;
mod contents;
mod downloads;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use brokerpak_model::manifest::Manifest;
use brokerpak_model::pak::{MANIFEST, Pak};
use brokerpak_model::report::Report;
use brokerpak_model::{layout, packing};
use clap::Args;
use problem::{Problem, Problems, Result, code};
use startup::Common;
use zip_archive::Writer;

use crate::build::contents::Contents;
use crate::build::downloads::Downloads;
use crate::check;
use crate::extract::current;
use crate::output::print;
use crate::paks::{self, Packed, Source};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Pack a directory as a .brokerpak";

/// The arguments of `build`.
#[derive(Debug, Args)]
#[command(
    long_about = "Write NAME-VERSION.brokerpak into the working directory: the manifest, the definitions with their templates, and \
        the executables of terraform_binaries, downloaded or read from files. The last line of stdout is `created: FILE`.\n\n\
        An executable comes from its url_template, else from HashiCorp's or OpenTofu's releases. ${name}, ${version}, ${os} and \
        ${arch} are replaced. A template without `https://`, `http://` or `file://` is a path; relative ones start at the \
        manifest. Zip files are unpacked. Parameters in the query of a URL: checksum=sha256:HEX (or sha512, sha1, or \
        file:URL of a list of checksums), archive=false. The same inputs give the same bytes.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak build my-pak\n\
        \x20\x20brokerpak build my-pak --target linux/amd64 --cache ~/.cache/brokerpak\n\n\
        Exit codes: 0 done; 2 usage; 65 the pak or a download is wrong; 70 a download failed, a file could not be read or \
        written. Nothing is written then."
)]
pub(crate) struct Options {
    /// The directory with manifest.yml
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Pack only one platform of the manifest: OS/ARCH, or `current`
    #[arg(long, short, value_name = "OS/ARCH|current")]
    target: Option<String>,
    /// Pack the source code of the executables, too, as src/NAME.zip
    #[arg(long, short = 's')]
    include_source: bool,
    /// Store files as they are
    #[arg(long)]
    no_compress: bool,
    /// Keep downloads in this directory, and take them from there; their checksums are compared
    #[arg(long, env = "PAK_BUILD_CACHE_PATH", value_name = "DIR")]
    cache: Option<PathBuf>,
    /// A PEM file with the certificates to trust instead of Mozilla's
    #[arg(long, env = "SSL_CERT_FILE", value_name = "FILE")]
    ssl_cert_file: Option<PathBuf>,
}

/// Runs `build`; gives the exit code.
///
/// # Errors
/// A pak that is wrong, downloads that fail or are wrong, failures of the machine.
pub(crate) fn run(options: &Options, common: &Common) -> Result<u8> {
    let directory = &options.directory;
    if !directory.is_dir() {
        return Err(Problem::input(format!("the directory {} does not exist", directory.display())).into());
    }
    let mut report = Report::naming_services();
    let (pak, manifest) = Source::directory(directory.clone()).read(&mut report)?;
    check::lint_all(&pak, &manifest, &mut report);
    paks::checked(&report)?;
    let platforms = platforms(&pak.manifest, options.target.as_deref())?;
    let files = Source::files(directory.clone());
    let documents = packing::documents(&files, MANIFEST, &pak, &platforms, &mut report);
    paks::checked(&report)?;
    for warning in report.warnings() {
        check::warn(&warning);
    }
    let mut contents = Contents::default();
    for (name, text) in documents {
        contents.document(&name, text)?;
    }
    let downloads =
        Downloads::new(directory, options.cache.as_deref(), options.ssl_cert_file.as_deref(), &common.root)?;
    contents.add_binaries(&pak.manifest, &platforms, &downloads)?;
    if options.include_source {
        contents.add_sources(&pak.manifest, &downloads)?;
    }
    check_layout(&pak.manifest, &platforms, &mut contents)?;
    let name = format!("{}-{}.brokerpak", pak.manifest.name, pak.manifest.version);
    write(&name, &mut contents, !options.no_compress)?;
    print(&format!("created: {name}\n"))?;
    Ok(0)
}

/// The platforms to pack.
fn platforms(manifest: &Manifest, target: Option<&str>) -> Result<Vec<String>> {
    let target = match target {
        None => return Ok(manifest.platforms.clone()),
        Some("current") => current(),
        Some(target) => target.to_owned(),
    };
    if manifest.platforms.contains(&target) {
        return Ok(vec![target]);
    }
    let message = format!("--target: the manifest does not have the platform {target}");
    Err(Problem::input(message).hint(format!("its platforms are {}", manifest.platforms.join(", "))).into())
}

/// All executables of the manifest are found by those who read the archive; they are made executable.
fn check_layout(manifest: &Manifest, platforms: &[String], contents: &mut Contents) -> Result<()> {
    let names: Vec<String> = contents.names().map(str::to_owned).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut problems = Vec::new();
    for platform in platforms {
        let (found, wrong) = layout::executables(manifest, platform, &names);
        found.iter().for_each(|(path, _)| contents.make_executable(path));
        problems.extend(wrong.into_iter().map(|message| {
            Problem::input(message).hint(format!("what was downloaded for {platform} does not contain it"))
        }));
    }
    Problems::check(problems)
}

/// Writes the archive beside its place, reads it once more, and renames it.
fn write(name: &str, contents: &mut Contents, is_compressed: bool) -> Result<()> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => Problem::input(format!("cannot pack {name}: {error}")),
        _ => Problem::internal(format!("cannot write {name}")).because(error).code(code::IO),
    };
    let permissions = fs::Permissions::from_mode(0o666);
    let mut new = tempfile::Builder::new();
    let new = new.prefix(&format!(".{name}.")).permissions(permissions).tempfile_in(".").map_err(failed)?;
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, new.as_file()), is_compressed);
    contents.write(&mut writer).map_err(failed)?;
    let mut file = writer.finish().map_err(failed)?;
    file.flush().map_err(failed)?;
    drop(file);
    new.as_file().sync_all().map_err(failed)?;
    // What cannot be read again is not left behind.
    let packed = Packed::open(new.path())?;
    let mut report = Report::default();
    Pak::read(&packed, MANIFEST, &mut report);
    paks::checked(&report)?;
    new.persist(Path::new(name)).map_err(|error| failed(error.error))?;
    Ok(())
}
