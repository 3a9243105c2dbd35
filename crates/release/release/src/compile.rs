//! Compiling packages as BOSH's agent does, cached by their content.

mod schedule;
mod step;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use problem::{IoContext, Problem, Problems, Result};

use crate::cache::Cache;
use crate::digests::digests;
use crate::fingerprint::fingerprint;
use crate::order;
use crate::package::{Content, PACKAGING, Package};
use crate::package_file::{FileKind, PackageFile};
use crate::release::Release;
use crate::runner::Runner;

/// Compiles packages into a cache directory; many may use one at the same time.
pub struct Compiler<'a> {
    cache: Cache,
    runner: &'a dyn Runner,
    progress: &'a (dyn Fn(Progress) + Sync),
    base: Option<&'a str>,
}

/// The progress that a [`Compiler`] reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// This many packages are neither in the cache nor compiled in the release; reported once, before the first starts.
    Planned {
        /// Their number.
        packages: usize,
    },
    /// Another process is compiling a package.
    Waiting {
        /// Its name.
        package: &'a str,
    },
    /// A package is being compiled now.
    Started {
        /// Its name.
        package: &'a str,
    },
    /// It was compiled.
    Finished {
        /// Its name.
        package: &'a str,
        /// How long it took.
        took: Duration,
    },
    /// It had been compiled before.
    Cached {
        /// Its name.
        package: &'a str,
    },
    /// It is compiled in the release.
    Given {
        /// Its name.
        package: &'a str,
    },
    /// Its script installed nothing, now or when it was compiled before, and goes on after a command that fails.
    Empty {
        /// Its name.
        package: &'a str,
        /// The log of its script, if it is kept.
        log: Option<&'a Path>,
    },
}

/// A package that is ready to be used as `/var/vcap/packages/<name>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledPackage {
    /// Its name.
    pub name: String,
    /// Where its content lies; it must not be written to.
    pub dir: PathBuf,
    /// Identifies its inputs.
    pub fingerprint: String,
    /// The packages it depends on.
    pub dependencies: Vec<String>,
}

/// A package that is to be compiled, with everything that its script sees.
struct Plan<'a> {
    package: &'a Package,
    files: BTreeMap<PathBuf, PackageFile>,
    fingerprint: String,
}

impl Plan<'_> {
    /// Its name in the cache.
    fn key(&self) -> String {
        format!("{}-{}", self.package.name, self.fingerprint)
    }

    fn compiled(&self, dir: PathBuf) -> CompiledPackage {
        CompiledPackage {
            name: self.package.name.clone(),
            dir,
            fingerprint: self.fingerprint.clone(),
            dependencies: self.package.dependencies.clone(),
        }
    }
}

impl<'a> Compiler<'a> {
    /// Compiles into `cache_dir` (made when needed) by `runner`, and reports to `progress`.
    pub fn new(cache_dir: &Path, runner: &'a dyn Runner, progress: &'a (dyn Fn(Progress) + Sync)) -> Self {
        Compiler { cache: Cache::new(cache_dir), runner, progress, base: None }
    }

    /// Compiles on a base other than the host's programs: see [`crate::Stemcell::id`].
    pub fn on(mut self, base: Option<&'a str>) -> Self {
        self.base = base;
        self
    }

    /// Compiles `wanted` and everything they depend on, as far as it is not in the cache; dependencies come first, and
    /// packages that do not depend on each other are compiled at the same time.
    ///
    /// All packages' files are checked, and all problems reported, before anything is compiled.
    pub fn compile(&self, release: &Release, wanted: &[&str]) -> Result<Vec<CompiledPackage>> {
        let plans = plan(release, wanted, &self.cache.digests(&release.dir)?, self.base)?;
        let missing = self.missing(&plans)?;
        Problems::check(missing.iter().flat_map(|plan| release.blobs.damaged(&plan.files)).collect())?;
        self.cache.clear_dead_work(self.runner)?;
        if !missing.is_empty() {
            (self.progress)(Progress::Planned { packages: missing.len() });
        }
        let threads = if self.runner.is_parallel() { schedule::processors() } else { 1 };
        let needs: Vec<Vec<usize>> = plans.iter().map(|plan| needs(plan, &plans)).collect();
        let dirs = schedule::in_order(&needs, threads, |number, done: &BTreeMap<usize, PathBuf>| {
            let name = |at: &usize| plans[*at].package.name.clone();
            let dependencies = needs[number].iter().filter_map(|at| Some((name(at), done.get(at)?.clone())));
            self.ensure(release, &plans[number], dependencies.collect())
        })?;
        Ok(plans.iter().zip(dirs).map(|(plan, dir)| plan.compiled(dir)).collect())
    }

    /// As [`Compiler::compile`], but compiles nothing: the directory of a package that is not in the cache does not exist.
    ///
    /// # Errors
    /// Packages that are missing, and files that cannot be read.
    pub fn locate(&self, release: &Release, wanted: &[&str]) -> Result<Vec<CompiledPackage>> {
        let plans = plan(release, wanted, &self.cache.digests(&release.dir)?, self.base)?;
        let located = plans.iter().map(|plan| {
            let dir = match plan.package.content {
                Content::Compiled(_) => plan.package.dir.clone(),
                _ => self.cache.package(&plan.key())?,
            };
            Ok(plan.compiled(dir))
        });
        located.collect()
    }

    /// The packages to compile.
    fn missing<'p>(&self, plans: &'p [Plan<'p>]) -> Result<Vec<&'p Plan<'p>>> {
        let mut missing = Vec::new();
        for plan in plans {
            if !matches!(plan.package.content, Content::Compiled(_)) && self.cache.get(&plan.key())?.is_none() {
                missing.push(plan);
            }
        }
        Ok(missing)
    }

    fn ensure(&self, release: &Release, plan: &Plan, dependencies: Vec<(String, PathBuf)>) -> Result<PathBuf> {
        let package = plan.package.name.as_str();
        if let Content::Compiled(_) = plan.package.content {
            (self.progress)(Progress::Given { package });
            return Ok(plan.package.dir.clone());
        }
        let key = plan.key();
        if let Some(dir) = self.cached(plan, &key)? {
            return Ok(dir);
        }
        if self.runner.is_interrupted() {
            return Err(Problem::internal("interrupted").code(problem::code::INTERRUPTED).into());
        }
        let work = self.cache.begin_work(&key, self.runner, &|| (self.progress)(Progress::Waiting { package }))?;
        // The process that held the lock may have compiled the same package.
        if let Some(dir) = self.cached(plan, &key)? {
            return Ok(dir);
        }
        let started = Instant::now();
        (self.progress)(Progress::Started { package });
        step::compile(release, plan, dependencies, &work, self.runner)?;
        let dir = work.commit()?;
        (self.progress)(Progress::Finished { package, took: started.elapsed() });
        self.check_content(plan, &key, &dir)?;
        Ok(dir)
    }

    /// The package in the cache, if it is there.
    fn cached(&self, plan: &Plan, key: &str) -> Result<Option<PathBuf>> {
        let Some(dir) = self.cache.get(key)? else { return Ok(None) };
        (self.progress)(Progress::Cached { package: &plan.package.name });
        self.check_content(plan, key, &dir)?;
        Ok(Some(dir))
    }

    /// Reports a package without content whose script may have failed.
    fn check_content(&self, plan: &Plan, key: &str, dir: &Path) -> Result<()> {
        if std::fs::read_dir(dir).io("read", dir)?.next().is_some() {
            return Ok(());
        }
        let script = plan.package.script(PACKAGING)?.unwrap_or_default();
        if ignores_failures(&String::from_utf8_lossy(&script)) {
            let log = self.cache.log(key)?;
            let log = Some(log.as_path()).filter(|log| self.runner.keeps_logs() && log.exists());
            (self.progress)(Progress::Empty { package: &plan.package.name, log });
        }
        Ok(())
    }
}

/// Whether a packaging script, which bash runs without options, goes on after a command that fails.
fn ignores_failures(script: &str) -> bool {
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut can_fail = false;
    for line in lines {
        let words: Vec<&str> = line.split([' ', '\t', ';']).filter(|word| !word.is_empty()).collect();
        let is_set = |word: &&str| *word == "errexit" || (word.starts_with('-') && word.contains('e'));
        match words.first() {
            Some(&"set") if words.iter().any(is_set) => return false,
            // What is read in may set it.
            Some(&"source" | &"." | &"trap") => return false,
            Some(&"set" | &"echo" | &"true" | &":" | &"exit") | None => {}
            Some(_) => can_fail = true,
        }
    }
    can_fail
}

/// The packages that have to be compiled before this one, by their place in the list.
fn needs(plan: &Plan, plans: &[Plan]) -> Vec<usize> {
    let is_needed = |other: &Plan| plan.package.dependencies.contains(&other.package.name);
    plans.iter().enumerate().filter(|(_, other)| is_needed(other)).map(|(at, _)| at).collect()
}

fn plan<'a>(release: &'a Release, wanted: &[&'a str], memory: &Path, base: Option<&str>) -> Result<Vec<Plan<'a>>> {
    let ordered = order::by_dependencies(&release.packages, wanted.iter().copied())?;
    let mut problems = Vec::new();
    let mut collected = Vec::new();
    for package in ordered {
        match package.collect(release) {
            Ok(files) => collected.push((package, files)),
            // A problem of the whole release is found with several packages.
            Err(found) => {
                problems.extend(found.into_vec().into_iter().filter(|new| !problems.contains(new)).collect::<Vec<_>>())
            }
        }
    }
    Problems::check(problems)?;
    let contents = collected.iter().flat_map(|(_, files)| files.values());
    let contents = contents.filter(|file| matches!(file.kind, FileKind::File { .. })).map(|file| file.source.as_path());
    let digests = digests(&contents.collect(), memory)?;
    let mut fingerprints: BTreeMap<&str, String> = BTreeMap::new();
    let mut plans = Vec::new();
    for (package, files) in collected {
        let of_dependency = |name: &'a String| fingerprints.get_key_value(name.as_str());
        let dependencies = package.dependencies.iter().filter_map(of_dependency).map(|(n, f)| (*n, f.as_str()));
        let fingerprint = fingerprint(package, &files, &digests, &dependencies.collect(), base)?;
        fingerprints.insert(&package.name, fingerprint.clone());
        plans.push(Plan { package, files, fingerprint });
    }
    Ok(plans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_go_on_after_a_failure_are_recognised() {
        for script in ["cp -a * \"$BOSH_INSTALL_TARGET\"\n", "#!/bin/bash -e\nset -u\nmake install\n", "cd a\nset +e\n"]
        {
            assert!(ignores_failures(script), "{script}");
        }
        for script in [
            "",
            "# nothing is installed\n",
            "set -x\necho nothing\nexit 0\n",
            "set -e\ncp a b\n",
            "  set -eu -o pipefail; cp a b\n",
            "set -o errexit\ncp a b\n",
            "set -x -e\ncp a b\n",
            "source lib.sh\ncp a b\n",
            "trap 'exit 1' ERR\ncp a b\n",
        ] {
            assert!(!ignores_failures(script), "{script}");
        }
    }
}
