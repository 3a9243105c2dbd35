//! Compiling packages as BOSH's agent does, cached by their content.

mod step;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use problem::{Problems, Result};

use crate::cache::Cache;
use crate::digests::digests;
use crate::fingerprint::fingerprint;
use crate::order;
use crate::package::{Content, Package};
use crate::package_file::{FileKind, PackageFile};
use crate::release::Release;
use crate::runner::Runner;

/// Compiles packages into a cache directory; many may use one at the same time.
pub struct Compiler<'a> {
    cache: Cache,
    runner: &'a dyn Runner,
    progress: &'a dyn Fn(Progress),
}

/// What a [`Compiler`] reports while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
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
}

/// A package that is ready to be used as `/var/vcap/packages/<name>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledPackage {
    /// Its name.
    pub name: String,
    /// Where its content lies; it must not be written to.
    pub dir: PathBuf,
    /// Identifies what it was compiled from.
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
}

impl<'a> Compiler<'a> {
    /// Compiles into `cache_dir` (made when needed) by `runner`, and reports to `progress`.
    pub fn new(cache_dir: &Path, runner: &'a dyn Runner, progress: &'a dyn Fn(Progress)) -> Self {
        Compiler { cache: Cache::new(cache_dir), runner, progress }
    }

    /// Compiles `wanted` and everything they depend on, as far as it is not in the cache; dependencies come first.
    ///
    /// All packages' files are checked, and all problems reported, before anything is compiled.
    pub fn compile(&self, release: &Release, wanted: &[&str]) -> Result<Vec<CompiledPackage>> {
        let plans = plan(release, wanted, &self.cache.digests(&release.dir)?)?;
        self.check_blobs(release, &plans)?;
        self.cache.clear_dead_work(self.runner)?;
        let mut compiled: Vec<CompiledPackage> = Vec::new();
        for plan in &plans {
            let dependencies = compiled
                .iter()
                .filter(|done| plan.package.dependencies.contains(&done.name))
                .map(|done| (done.name.clone(), done.dir.clone()))
                .collect();
            let dir = self.ensure(release, plan, dependencies)?;
            compiled.push(CompiledPackage {
                name: plan.package.name.clone(),
                dir,
                fingerprint: plan.fingerprint.clone(),
                dependencies: plan.package.dependencies.clone(),
            });
        }
        Ok(compiled)
    }

    /// Only of packages that will be compiled: those in the cache were checked when they were compiled.
    fn check_blobs(&self, release: &Release, plans: &[Plan]) -> Result<()> {
        let mut problems = Vec::new();
        for plan in plans {
            if self.cache.get(&plan.key())?.is_none() {
                problems.extend(release.blobs.damaged(&plan.files));
            }
        }
        Problems::check(problems)
    }

    fn ensure(&self, release: &Release, plan: &Plan, dependencies: Vec<(String, PathBuf)>) -> Result<PathBuf> {
        let package = plan.package.name.as_str();
        if let Content::Compiled(_) = plan.package.content {
            (self.progress)(Progress::Given { package });
            return Ok(plan.package.dir.clone());
        }
        let key = plan.key();
        if let Some(dir) = self.cache.get(&key)? {
            (self.progress)(Progress::Cached { package });
            return Ok(dir);
        }
        let work = self.cache.begin(&key, self.runner, &|| (self.progress)(Progress::Waiting { package }))?;
        // The process that held the lock may have compiled the same package.
        if let Some(dir) = self.cache.get(&key)? {
            (self.progress)(Progress::Cached { package });
            return Ok(dir);
        }
        let started = Instant::now();
        (self.progress)(Progress::Started { package });
        step::compile(release, plan, dependencies, &work, self.runner)?;
        let dir = work.commit()?;
        (self.progress)(Progress::Finished { package, took: started.elapsed() });
        Ok(dir)
    }
}

fn plan<'a>(release: &'a Release, wanted: &[&'a str], memory: &Path) -> Result<Vec<Plan<'a>>> {
    let ordered = order::by_dependencies(&release.packages, wanted.iter().copied())?;
    let mut problems = Vec::new();
    let mut collected = Vec::new();
    for package in ordered {
        match package.collect(release) {
            Ok(files) => collected.push((package, files)),
            Err(found) => problems.extend(found.into_vec()),
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
        let fingerprint = fingerprint(package, &files, &digests, &dependencies.collect())?;
        fingerprints.insert(&package.name, fingerprint.clone());
        plans.push(Plan { package, files, fingerprint });
    }
    Ok(plans)
}
