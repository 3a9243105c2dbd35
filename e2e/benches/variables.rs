//! Generation of 200 variables, 60 of them RSA certificates and 10 RSA keys: whether it uses all cores, and how much of the time
//! OpenSSL needs for the same keys alone.
//!
//! `cargo bench -p e2e --bench variables`; `BOSON_E2E_BIN=$PWD/target/static` measures what `make static` has built.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod measure;

use std::fmt::Write;
use std::fs;
use std::process::{Command, ExitCode};

use measure::{Executables, Result, median_of, ms, table};

/// The time to find primes differs from key to key.
const RUNS: usize = 3;
const AUTHORITIES: usize = 6;
const CERTIFICATES: usize = 54;
const KEYS: usize = 10;
const PASSWORDS: usize = 130;
const BITS: usize = 2048;

fn main() -> ExitCode {
    measure::main(bench)
}

fn bench(_: &[String]) -> Result<()> {
    let executables = Executables::find();
    let scratch = measure::scratch()?;
    let directory = scratch.path();
    fs::write(directory.join("manifest.yml"), manifest())?;
    let store = directory.join("store.yml");
    let generate = |cores: Option<&str>| {
        if store.exists() {
            fs::remove_file(&store)?;
        }
        let boson = executables.command("boson");
        let mut command = match cores {
            Some(cores) => {
                let mut command = Command::new("taskset");
                command.args(["--cpu-list", cores]).arg(boson.get_program());
                command
            }
            None => boson,
        };
        command.args(["interpolate", "manifest.yml", "--vars-store", "store.yml"]).current_dir(directory);
        Ok(command)
    };
    let one = median_of(RUNS, |_| generate(Some("0")))?;
    let all = median_of(RUNS, |_| generate(None))?;
    let stored = median_of(RUNS, |_| {
        let mut command = executables.command("boson");
        command.args(["interpolate", "manifest.yml", "--vars-store", "store.yml"]).current_dir(directory);
        Ok(command)
    })?;
    let keys = CERTIFICATES + AUTHORITIES + KEYS;
    let openssl = median_of(RUNS, |_| {
        let mut command = Command::new("sh");
        let loop_ = format!("for i in $(seq {keys}); do openssl genrsa {BITS} >/dev/null 2>&1; done");
        command.args(["-c", &format!("exec taskset --cpu-list 0 sh -c '{loop_}'")]);
        Ok(command)
    })?;
    let row = |name: &str, time: std::time::Duration| {
        vec![name.to_owned(), format!("{:.0}", ms(time)), format!("{:.2}x", one.as_secs_f64() / time.as_secs_f64())]
    };
    println!(
        "{} variables, {} of them RSA certificates of {BITS} bits, whole process (medians of {RUNS} runs):",
        keys + PASSWORDS,
        CERTIFICATES + AUTHORITIES
    );
    table(
        &["", "ms", "speed"],
        &[
            row("one core", one),
            row(&format!("all cores ({})", std::thread::available_parallelism()?), all),
            row("all are in the store", stored),
            row(&format!("openssl genrsa {keys} times, one core"), openssl),
        ],
    );
    Ok(())
}

fn manifest() -> String {
    let mut text = "name: large\nvariables:\n".to_owned();
    for n in 0..CERTIFICATES {
        let _ = writeln!(
            text,
            "- {{name: certificate-{n}, type: certificate, options: {{ca: ca-{}, common_name: n{n}.example.com, key_length: {BITS}}}}}",
            n % AUTHORITIES
        );
    }
    for n in 0..AUTHORITIES {
        let _ = writeln!(
            text,
            "- {{name: ca-{n}, type: certificate, options: {{is_ca: true, common_name: ca-{n}, key_length: {BITS}}}}}"
        );
    }
    for n in 0..KEYS {
        let _ = writeln!(text, "- {{name: key-{n}, type: rsa}}");
    }
    for n in 0..PASSWORDS {
        let _ = writeln!(text, "- {{name: password-{n}, type: password}}");
    }
    text
}
