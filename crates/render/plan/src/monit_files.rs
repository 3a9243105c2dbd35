//! What the rendered `monit` files say: which services an instance has.
//!
//! On a VM, monit starts what runs. So the processes of a job are those that its `monit` starts: processes of BPM, and
//! programs of its own. Without a `monit` file in the job's sources, `bpm.yml` decides. A job for Windows has JSON in its
//! `monit` file: it renders, and has no services.

use std::collections::BTreeSet;

use dialect_erb::{Mask, line_origin};
use handoff::bpm_info::{Run, Service};
use instance_group::{Resolved, ResolvedJob};
use job_templates::is_installed;
use monit::Config;
use problem::{Place, Problem, Problems, Result, code, hint_for_unknown};
use startup::Warnings;
use template::Source;
use value::Value;

use crate::bpm_yml::JobIndex;
use crate::input::Input;
use crate::rendered_line::line;
use crate::rendering::STAND_IN_IP;
use crate::templates::{BPM_YML, Rendered};

/// What a job's `monit` says.
#[derive(Debug, Default)]
pub(crate) struct JobServices {
    pub(crate) services: Vec<Service>,
    /// Whether the file is that of a job for Windows.
    pub(crate) for_windows: bool,
}

/// The services of each job of each group; of the jobs `without_monit` those of `bpm.yml`.
///
/// # Errors
/// Files that monit refuses, alone or together with those of the instance's other jobs; processes of BPM that do not exist.
pub(crate) fn services(
    input: &Input,
    groups: &[Resolved],
    rendered: &[Rendered],
    without_monit: &BTreeSet<JobIndex>,
) -> Result<Vec<Vec<JobServices>>> {
    let mut problems = Vec::new();
    let mut all = Vec::with_capacity(groups.len());
    for (g, group) in groups.iter().enumerate() {
        let of_group = rendered.iter().filter(|file| file.of.group == g && file.of.template.is_monit());
        let files: Vec<File> = of_group
            .map(|rendered| File { input, group, job: rendered.of.job, rendered })
            .filter(|file| is_installed(&file.job().name) && !without_monit.contains(&(g, file.job)))
            .collect();
        match of_group_files(group, &files) {
            Ok(services) => all.push(services),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    Problems::check(problems)?;
    Ok(all)
}

/// The services of each job of a group with these `monit` files.
fn of_group_files(group: &Resolved, files: &[File]) -> Result<Vec<JobServices>> {
    let count = group.jobs.first().map_or(0, |job| job.instances.len());
    let mut problems = Problemset::default();
    let parsed: Vec<Parsed> = files.iter().map(|file| Parsed::new(file, count, &mut problems)).collect();
    Problems::check(problems.0.clone())?;
    let mut checked = BTreeSet::new();
    for instance in 0..count {
        let variants: Vec<usize> = parsed.iter().map(|file| file.of_instance[instance]).collect();
        if checked.insert(variants) {
            check_instance(&parsed, instance, &mut problems);
        }
    }
    let of_bpm_yml = |job| JobServices { services: of_bpm_yml(job), for_windows: false };
    let mut services: Vec<JobServices> = group.jobs.iter().map(of_bpm_yml).collect();
    for file in &parsed {
        services[file.file.job] = JobServices { services: file.services(&mut problems), for_windows: file.for_windows };
        file.warn(&file.file.input.warnings);
    }
    Problems::check(problems.0)?;
    Ok(services)
}

/// The services of a job without a `monit` file.
fn of_bpm_yml(job: &ResolvedJob) -> Vec<Service> {
    let of_process = |process: &bpm::ProcessConfig| Service {
        process: process.name.clone(),
        run: Run::Bpm,
        monit: None,
        depends_on: Vec::new(),
        instances: None,
    };
    job.bpm.iter().flatten().filter(|_| is_installed(&job.name)).map(of_process).collect()
}

/// Applies the rules that hold over all jobs of one instance.
fn check_instance(parsed: &[Parsed], instance: usize, problems: &mut Problemset) {
    let files: Vec<(&str, &Config)> = parsed.iter().map(|file| (file.path.as_str(), file.config(instance))).collect();
    let names: Vec<&str> =
        files.iter().flat_map(|(_, config)| &config.services).map(|service| service.name.as_str()).collect();
    for problem in monit::check(&files) {
        let path = problem.place.as_ref().map(|place| place.file.clone()).unwrap_or_default();
        if let Some(file) = parsed.iter().find(|file| file.path == path) {
            let text = file.file.rendered.text(instance);
            problems.add(file.file.explain(problem, &String::from_utf8_lossy(text), &names));
        }
    }
}

/// Problems, each once: instances that render the same have the same.
#[derive(Default)]
struct Problemset(Vec<Problem>);

impl Problemset {
    fn add(&mut self, problem: Problem) {
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }
}

/// The `monit` of a job, rendered for all instances.
struct File<'a> {
    input: &'a Input,
    group: &'a Resolved,
    /// Index of the job in the group.
    job: usize,
    rendered: &'a Rendered,
}

impl<'a> File<'a> {
    fn job(&self) -> &'a ResolvedJob {
        &self.group.jobs[self.job]
    }

    fn source(&self) -> &'a Source {
        &self.rendered.of.template.source
    }

    /// What messages call the rendered file.
    fn path(&self) -> String {
        format!("monit rendered from {}", self.source().file)
    }

    /// Hides what was rendered.
    fn mask(&self) -> Mask {
        let job = self.job();
        let first = job.instances.first();
        let spec = first.map_or(Value::Nil, |instance| self.group.spec(job, instance, Some(STAND_IN_IP)));
        Mask::new(&spec, &self.input.defaults(job), &self.source().text)
    }

    /// A problem of the rendered file as one of the template, without rendered values. The `names` of services are shown.
    fn explain(&self, mut problem: Problem, text: &str, names: &[&str]) -> Problem {
        problem.message = self.mask().showing(names.iter().copied()).apply(&problem.message);
        let job = self.job();
        problem.code = code::MONIT_INVALID;
        problem.causes.push(format!("job '{}' of instance group '{}'", job.name, self.group.name));
        if let Some(place) = &mut problem.place {
            self.locate(place, text);
        }
        problem
    }

    /// Moves the place of a rendered line to the line of the template, where only one can have rendered it.
    fn locate(&self, place: &mut Place, text: &str) {
        let Some(rendered) = place.line.and_then(|number| line(text, number)) else { return };
        let Some(number) = line_origin(&self.source().text, rendered) else { return };
        place.file.clone_from(&self.source().file);
        place.line = Some(number);
        // Behind a tag, the template has other columns.
        let template = String::from_utf8_lossy(&self.source().text);
        place.column = place.column.filter(|_| line(&template, number) == Some(rendered));
    }
}

/// A `monit` file that was read, for all instances.
struct Parsed<'a> {
    file: &'a File<'a>,
    path: String,
    /// What the instances' files say, each once.
    variants: Vec<Config>,
    /// The index of each instance's variant.
    of_instance: Vec<usize>,
    /// Whether any instance's file is for Windows.
    for_windows: bool,
}

impl<'a> Parsed<'a> {
    fn new(file: &'a File<'a>, count: usize, problems: &mut Problemset) -> Parsed<'a> {
        let path = file.path();
        let mut texts: Vec<&[u8]> = Vec::new();
        let of_instance = (0..count)
            .map(|instance| {
                let text = file.rendered.text(instance);
                texts.iter().rposition(|known| *known == text).unwrap_or_else(|| {
                    texts.push(text);
                    texts.len() - 1
                })
            })
            .collect();
        let mut for_windows = false;
        let read = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            if monit::is_for_windows(&text) {
                for_windows = true;
                return Config::default();
            }
            monit::parse(&text, &path).unwrap_or_else(|found| {
                found.into_vec().into_iter().for_each(|problem| problems.add(file.explain(problem, &text, &[])));
                Config::default()
            })
        };
        let variants = texts.into_iter().map(read).collect();
        Parsed { file, path, variants, of_instance, for_windows }
    }

    fn config(&self, instance: usize) -> &Config {
        &self.variants[self.of_instance[instance]]
    }

    /// What starts in any instance, in the order of the files.
    fn services(&self, problems: &mut Problemset) -> Vec<Service> {
        let mut services: Vec<Service> = Vec::new();
        let mut started_by: Vec<BTreeSet<usize>> = Vec::new();
        for (v, config) in self.variants.iter().enumerate() {
            for service in config.supervised() {
                let Some(service) = self.service(service, v, problems) else { continue };
                // A process of BPM that two services start is started once.
                let same = |known: &Service| (known.run, &known.process) == (service.run, &service.process);
                let index = services.iter().position(same).unwrap_or_else(|| {
                    services.push(service.clone());
                    started_by.push(BTreeSet::new());
                    services.len() - 1
                });
                started_by[index].insert(v);
                let depends_on = &mut services[index].depends_on;
                depends_on.extend(
                    service.depends_on.into_iter().filter(|name| !depends_on.contains(name)).collect::<Vec<_>>(),
                );
            }
        }
        let all = self.variants.len();
        for (service, variants) in services.iter_mut().zip(started_by) {
            if variants.len() < all {
                let instances = self.file.job().instances.iter().zip(&self.of_instance);
                let starting = instances.filter(|(_, variant)| variants.contains(variant));
                service.instances = Some(starting.map(|(instance, _)| instance.index).collect());
            }
        }
        services
    }

    /// A service of a variant of the file, if it can run.
    fn service(&self, service: &monit::Service, variant: usize, problems: &mut Problemset) -> Option<Service> {
        let program = service.start.as_ref().filter(|_| service.is_process());
        let (process, run) = match program.and_then(|program| Some((program, program.bpm_start()?))) {
            Some((program, start)) => {
                if let Some(mut problem) = self.unknown(&start) {
                    problem.place =
                        Some(Place { column: Some(program.at.column), ..Place::line(&self.path, program.at.line) });
                    let instance = self.of_instance.iter().position(|v| *v == variant)?;
                    let text = self.file.rendered.text(instance);
                    let names = [service.name.as_str(), &start.job, &start.process];
                    problems.add(self.file.explain(problem, &String::from_utf8_lossy(text), &names));
                    return None;
                }
                (start.process, Run::Bpm)
            }
            None => (service.name.clone(), Run::Monit),
        };
        let depends_on = service.depends_on.clone();
        Some(Service { process, run, monit: Some(service.name.clone()), depends_on, instances: None })
    }

    /// What is wrong with the start of a process of BPM.
    fn unknown(&self, start: &monit::BpmStart) -> Option<Problem> {
        let job = self.file.job();
        let (name, process) = (&job.name, &start.process);
        if start.job != *name {
            let message = format!("monit of job '{name}' starts job '{}' with bpm, not its own job", start.job);
            let hint = "a job's monit file starts the processes of that job's bpm.yml";
            return Some(Problem::template(message).hint(hint));
        }
        let Some(processes) = &job.bpm else {
            let message =
                format!("monit of job '{name}' starts process '{process}' with bpm, but the job has no {BPM_YML}");
            return Some(Problem::template(message));
        };
        let known: Vec<&str> = processes.iter().map(|process| process.name.as_str()).collect();
        if known.contains(&process.as_str()) {
            return None;
        }
        let message =
            format!("monit of job '{name}' starts process '{process}' with bpm, which its bpm.yml does not have");
        let processes = || format!("its processes are: {}", known.join(", "));
        let hint = hint_for_unknown(process, known.iter().copied(), processes);
        Some(Problem::template(message).hint(hint))
    }

    /// Warns once about what of the file has no effect.
    fn warn(&self, warnings: &Warnings) {
        let mut warned = BTreeSet::new();
        // What is not a process is started by the supervisor of one, or of another such service.
        let has_none = |config: &&Config| config.supervised().is_empty();
        let unstarted = self.variants.iter().filter(has_none).flat_map(|config| &config.services);
        let unstarted = unstarted
            .filter(|service| service.is_started())
            .map(|service| (format!("the start program of '{}', as the job has no process", service.name), service.at));
        let without_effect = self.variants.iter().flat_map(Config::without_effect);
        let unsupported = without_effect.map(|unsupported| match unsupported.service {
            Some(service) => (format!("'{}' of '{service}'", unsupported.what), unsupported.at),
            None => (format!("'{}'", unsupported.what), unsupported.at),
        });
        for (what, at) in unstarted.chain(unsupported) {
            if warned.insert(what.clone()) {
                let (job, group) = (&self.file.job().name, &self.file.group.name);
                let what = self.file.mask().apply(&what);
                let place = format!("{}:{}:{}", self.path, at.line, at.column);
                let message =
                    format!("job '{job}' of instance group '{group}': {what} in monit has no effect ({place})");
                warnings.warn(Problem::input(message));
            }
        }
    }
}
