//! The verbs of release authors, whole processes: `render --job`, `lint`, `test` and `diff`.
//!
//! `cargo bench -p e2e --bench author`, or `-- --input DIR JOBS CASES` to only write the release and look at it.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

mod generate;
mod measure;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use generate::{cf_like, release};
use measure::{Executables, Result, median_of, ms, table, timed};

const JOBS: usize = 25;
const CASES: usize = 200;
/// The cases for which Ruby is started; the time of the others is extrapolated.
const RUBY_CASES: usize = 20;
const RUNS: usize = 9;

fn main() -> std::process::ExitCode {
    measure::main(bench)
}

fn bench(arguments: &[String]) -> Result<()> {
    if let [first, directory, jobs, cases] = arguments
        && first == "--input"
    {
        return release::write(Path::new(directory), jobs.parse()?, cases.parse()?);
    }
    let executables = Executables::find();
    let scratch = measure::scratch()?;
    let bench = Bench { executables, directory: scratch.path() };
    release::write(&bench.release(), JOBS, CASES)?;
    run(&mut bench.boson(&["test", "--update"]))?;
    println!("verbs of release authors, whole processes (medians; ms)");
    table(
        &["what", "time", "goal", "of", "time of that", "ratio", "goal"],
        &[bench.render()?, bench.lint()?, bench.test()?, bench.diff()?],
    );
    Ok(())
}

struct Bench<'a> {
    executables: Executables,
    directory: &'a Path,
}

impl Bench<'_> {
    fn release(&self) -> std::path::PathBuf {
        self.directory.join("release")
    }

    /// `boson` in the directory of the release.
    fn boson(&self, arguments: &[&str]) -> Command {
        let mut command = self.executables.command("boson");
        command.args(arguments).current_dir(self.release()).env("XDG_CACHE_HOME", self.directory.join("cache"));
        command
    }

    fn render(&self) -> Result<Vec<String>> {
        let render = || Ok(self.boson(&["render", "--job", release::JOB, "-r", ".", "config/web.yml"]));
        let (took, other) = alternating(RUNS, render, start_of_ruby)?;
        Ok(row("render --job of one template", took, "60", "ruby -e 1", other, ms(took) / ms(other), ""))
    }

    fn lint(&self) -> Result<Vec<String>> {
        let lint = || Ok(self.boson(&["lint"]));
        let (took, other) = alternating(RUNS, lint, start_of_ruby)?;
        let what = format!("lint of {} templates", JOBS * release::TEMPLATES);
        Ok(row(&what, took, "1000", "ruby -e 1", other, ms(took) / ms(other), ""))
    }

    /// All cases, and a process of Ruby for each.
    fn test(&self) -> Result<Vec<String>> {
        let took = median_of(3, |_| Ok(self.boson(&["test"])))?;
        let mut each = Duration::ZERO;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/ruby/case.rb");
        for case in 0..RUBY_CASES {
            let mut command = Command::new("ruby");
            command.arg(&script).arg(self.release()).args([format!("web{}", case % JOBS), format!("case{case:04}")]);
            each += timed(&mut command)?;
        }
        let ruby = each / u32::try_from(RUBY_CASES)? * u32::try_from(CASES)?;
        let what = format!("test of {CASES} cases");
        Ok(row(&what, took, "5000", "ruby each, one at a time (~)", ruby, ms(ruby) / ms(took), "20x"))
    }

    /// Two versions of a deployment of cf-deployment's size, and planning it twice.
    fn diff(&self) -> Result<Vec<String>> {
        let input = generate::write(&self.directory.join("cf"), cf_like(1))?;
        let changed = self.directory.join("changed.yml");
        let text = fs::read_to_string(&input.manifest)?;
        fs::write(&changed, text.replacen("instances: 2", "instances: 3", 1))?;
        let releases = input.base.join("jobs-src");
        // As an image has them.
        for release in fs::read_dir(&releases)? {
            for job in fs::read_dir(release?.path())? {
                let job = job?.path();
                if job.join("spec").is_file() {
                    fs::rename(job.join("spec"), job.join("job.MF"))?;
                }
            }
        }
        let diff = || {
            let mut command = self.boson(&["diff"]);
            command.arg(&input.manifest).arg(&changed).arg("-r").arg(&releases);
            // 1 is a difference.
            let mut shell = Command::new("sh");
            shell
                .args(["-c", "\"$@\" >/dev/null; [ $? -eq 1 ]", "sh"])
                .arg(command.get_program())
                .args(command.get_args());
            Ok(shell)
        };
        let plan = || {
            let mut command = self.executables.command("plan");
            command.arg("--bosh-manifest-path").arg(&input.manifest).arg("--base-dir").arg(&input.base);
            command.arg("--output-dir").arg(self.directory.join("planned"));
            let _ = fs::remove_dir_all(self.directory.join("planned"));
            Ok(command)
        };
        let (took, one) = alternating(5, diff, plan)?;
        Ok(row("diff of 17 groups", took, "", "two plans", one * 2, ms(took) / ms(one * 2), "1.5x"))
    }
}

/// What the machine takes for a program that does nothing.
fn start_of_ruby() -> Result<Command> {
    let mut command = Command::new("ruby");
    command.args(["-e", "1"]);
    Ok(command)
}

/// The medians of two commands that run alternately.
fn alternating(
    runs: usize,
    one: impl Fn() -> Result<Command>,
    other: impl Fn() -> Result<Command>,
) -> Result<(Duration, Duration)> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        first.push(timed(&mut one()?)?);
        second.push(timed(&mut other()?)?);
    }
    Ok((measure::median(first)?, measure::median(second)?))
}

fn row(what: &str, took: Duration, goal: &str, of: &str, other: Duration, ratio: f64, wanted: &str) -> Vec<String> {
    let number = |duration: Duration| format!("{:.0}", ms(duration));
    vec![
        what.to_owned(),
        number(took),
        goal.to_owned(),
        of.to_owned(),
        number(other),
        format!("{ratio:.2}x"),
        wanted.to_owned(),
    ]
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into()) }
}
