//! What the rendered `bpm.yml`s say.

use std::collections::BTreeSet;

use bpm::{JobConfig, OVERLAID, Overlay, ProcessConfig};
use dialect_erb::Mask;
use instance_group::{Resolved, ResolvedJob};
use problem::{Class, Note, Place, Problem, Problems, Result, code};
use value::Value;

use crate::input::Input;
use crate::rendered_line;
use crate::rendering::STAND_IN_IP;
use crate::templates::{BPM_YML, Rendered};

/// A job: the indexes of its group and of it in the group.
pub(crate) type JobIndex = (usize, usize);

/// Fills each job's `bpm` from its rendered `bpm.yml`s, changed as the manifest wants it. Returns the jobs to which the manifest
/// adds processes: their `bpm.yml` alone decides what runs, for their `monit` does not know the processes.
///
/// # Errors
/// BPM configuration that is wrong, or differs where a pod cannot differ.
pub(crate) fn fill(input: &Input, groups: &mut [Resolved], rendered: &[Rendered]) -> Result<BTreeSet<JobIndex>> {
    let mut problems = Vec::new();
    let mut without_monit = BTreeSet::new();
    let mut done = BTreeSet::new();
    for rendered in rendered.iter().filter(|rendered| rendered.of.is_bpm_yml()) {
        let index = (rendered.of.group, rendered.of.job);
        let file = BpmYml { input, group: &groups[index.0], job: rendered.of.job(groups), rendered };
        done.insert(index);
        match file.processes() {
            Ok((processes, has_added)) => {
                file.warn_of_unknown_keys();
                groups[index.0].jobs[index.1].bpm = processes;
                without_monit.extend(has_added.then_some(index));
            }
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    for (g, group) in groups.iter_mut().enumerate() {
        for (j, job) in group.jobs.iter_mut().enumerate().filter(|(j, _)| !done.contains(&(g, *j))) {
            match without_template(job) {
                Ok(Some(processes)) => {
                    job.bpm = Some(processes);
                    without_monit.insert((g, j));
                }
                Ok(None) => {}
                Err(found) => problems.extend(found.into_vec()),
            }
        }
    }
    Problems::check(problems)?;
    Ok(without_monit)
}

/// The processes that the manifest gives to a job that renders no `bpm.yml`.
fn without_template(job: &ResolvedJob) -> Result<Option<Vec<ProcessConfig>>> {
    let Some(overlay) = &job.bpm_overlay else { return Ok(None) };
    let path = format!("{BPM_YML} of job '{}'", job.name);
    let Some(overlaid) = Overlay::decode(overlay)?.apply(None, &path, &job.name)? else { return Ok(None) };
    bpm::parse_for_job(&overlaid.text, &path, &job.name).map(|config| Some(config.processes))
}

/// The `bpm.yml` of a job, rendered for all its instances.
struct BpmYml<'a> {
    input: &'a Input,
    group: &'a Resolved,
    job: &'a ResolvedJob,
    rendered: &'a Rendered,
}

impl BpmYml<'_> {
    /// The first instance's processes, `None` where there is no instance, and whether the manifest adds some; what a container
    /// cannot vary must not vary.
    fn processes(&self) -> Result<(Option<Vec<ProcessConfig>>, bool)> {
        let (configs, has_added) = self.configs()?;
        let Some((first, others)) = configs.split_first() else { return Ok((None, has_added)) };
        let mut differing: Vec<String> = Vec::new();
        for field in others.iter().flat_map(|other| differences(first, other)) {
            if !differing.contains(&field) {
                differing.push(field);
            }
        }
        Problems::check(differing.iter().map(|field| self.differs(field)).collect())?;
        Ok((Some(first.processes.clone()), has_added))
    }

    /// Each instance's configuration, without those that equal the one before, and whether the manifest adds processes.
    fn configs(&self) -> Result<(Vec<JobConfig>, bool)> {
        let path = format!("{BPM_YML} rendered from {}", self.file());
        let texts = self.texts();
        let overlay = self.job.bpm_overlay.as_deref().map(Overlay::decode).transpose()?;
        let mut has_added = false;
        let mut parse = |text: &[u8]| {
            let changed = overlay.as_ref().map(|of| of.apply(Some(text), &path, &self.job.name)).transpose()?.flatten();
            has_added |= changed.as_ref().is_some_and(|of| of.has_added);
            bpm::parse_for_job(changed.as_ref().map_or(text, |of| of.text.as_slice()), &path, &self.job.name)
        };
        let parsed: Result<_> =
            texts.into_iter().map(|text| parse(text).map_err(|problems| self.explain(problems, text))).collect();
        parsed.map(|configs| (configs, has_added))
    }

    /// Each instance's text, without those that equal the one before.
    fn texts(&self) -> Vec<&[u8]> {
        let mut texts: Vec<&[u8]> = self.rendered.texts.iter().map(|text| &**text).collect();
        texts.dedup();
        texts
    }

    /// Warns of the keys that BPM ignores.
    fn warn_of_unknown_keys(&self) {
        let mut warned = BTreeSet::new();
        for key in self.texts().into_iter().flat_map(bpm::unknown_keys) {
            if warned.insert(key.name.clone()) {
                let (job, group) = (&self.job.name, &self.group.name);
                // The key may be rendered, too.
                let name = self.mask().apply(&key.name);
                let what = format!("in line {} as rendered", key.line);
                let note = Note { place: Place::file(self.file()), what: Some(what), hint: key.hint() };
                let message =
                    format!("bpm ignores the key '{name}' in the bpm.yml of job '{job}' of instance group '{group}'");
                self.input.warnings.warn(Problem { notes: vec![note], ..Problem::input(message) });
            }
        }
    }

    fn file(&self) -> &str {
        &self.rendered.of.template.source.file
    }

    fn differs(&self, field: &str) -> Problem {
        let (job, group) = (&self.job.name, &self.group.name);
        // The name of a process is rendered, too.
        let field = self.mask().apply(field);
        Problem::input(format!(
            "job '{job}' of instance group '{group}' renders a bpm.yml whose {field} differs between instances"
        ))
        .code(code::BPM_DIFFERS)
        .at(Place::file(self.file()))
        .hint("a pod template cannot differ between its replicas; executable, args and env may, this field may not")
    }

    /// BPM's own messages quote what was rendered.
    fn mask(&self) -> Mask {
        let first = self.job.instances.first();
        let spec = first.map_or(Value::Nil, |instance| self.group.spec(self.job, instance, Some(STAND_IN_IP)));
        Mask::new(&spec, &self.input.defaults(self.job), &self.rendered.of.template.source.text)
    }

    fn explain(&self, mut problems: Problems, text: &[u8]) -> Problems {
        let mask = self.mask();
        for problem in problems.iter_mut() {
            problem.message = mask.apply(&problem.message);
            // The file was rendered: the author of the template has to act, unless the manifest changes it.
            if !problem.place.as_ref().is_some_and(|place| place.file.ends_with(OVERLAID)) {
                problem.class = Class::Template;
                rendered_line::show(problem, text, &self.rendered.of.template.source, &mask);
            }
            problem.causes.push(format!("job '{}' of instance group '{}'", self.job.name, self.group.name));
        }
        problems
    }
}

/// Whether two processes agree in a field.
type Same = fn(&ProcessConfig, &ProcessConfig) -> bool;

/// The container-level fields in which two configurations of a job differ.
fn differences(a: &JobConfig, b: &JobConfig) -> Vec<String> {
    let names = |c: &JobConfig| c.processes.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    if names(a) != names(b) {
        return vec!["list of processes".into()];
    }
    let fields: [(&str, Same); 6] = [
        ("capabilities", |a, b| a.capabilities == b.capabilities),
        ("limits", |a, b| a.limits == b.limits),
        ("ephemeral_disk", |a, b| a.ephemeral_disk == b.ephemeral_disk),
        ("persistent_disk", |a, b| a.persistent_disk == b.persistent_disk),
        ("additional_volumes", |a, b| a.additional_volumes == b.additional_volumes),
        ("unsafe", |a, b| a.unsafe_ == b.unsafe_),
    ];
    let mut differing = Vec::new();
    for (a, b) in a.processes.iter().zip(&b.processes) {
        for (field, same) in fields {
            if !same(a, b) {
                differing.push(format!("process '{}' has a field '{field}' that", a.name));
            }
        }
    }
    differing
}
