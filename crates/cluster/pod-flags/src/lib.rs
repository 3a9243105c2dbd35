//! The flags for images, placement and users of a deployment's pods: of `boson gather`, and of `deploy`, which it starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use handoff::deployment::{Count, Update, VmResources};
use kubernetes_objects::{ReleaseRef, ScriptsAs, Settings, UpdatedBy, release_images};
use problem::{Place, Problem, Problems, Result, code};
use startup::parse_duration;

/// The image that has this program.
const BOSON_IMAGE: &str = concat!("boson/boson:", env!("CARGO_PKG_VERSION"));

/// CoreDNS as Kubernetes itself uses it.
const DNS_IMAGE: &str = "coredns/coredns:1.12.4";

/// What the manifest does not say about pods.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Pods")]
pub struct ObjectFlags {
    /// boson's image
    #[arg(long, env = "BOSON_IMAGE", value_name = "IMAGE", default_value = BOSON_IMAGE)]
    pub boson_image: String,
    /// The image of a release; repeatable
    #[arg(long = "image", value_name = "RELEASE=IMAGE")]
    pub images: Vec<String>,
    /// A YAML file with the images of releases, `RELEASE: IMAGE`; --image takes precedence
    #[arg(long, env = "IMAGES_FILE", value_name = "FILE")]
    pub images_file: Option<PathBuf>,
    /// Where the images of all other releases are: REGISTRY/RELEASE:VERSION
    #[arg(long, env = "REGISTRY", value_name = "REGISTRY")]
    pub registry: Option<String>,
    /// A Secret with the credentials of a registry; repeatable
    #[arg(long = "pull-secret", value_name = "NAME")]
    pub pull_secrets: Vec<String>,
    /// The priority class of the pods
    #[arg(long, env = "PRIORITY_CLASS", value_name = "NAME")]
    pub priority_class: Option<String>,
    /// A YAML file with the sizes of VM types, for manifests without a cloud config:
    /// `TYPE: {cpu: CPUS, ram: MB, ephemeral_disk_size: MB}`
    #[arg(long, env = "VM_TYPES", value_name = "FILE")]
    pub vm_types: Option<PathBuf>,
    /// The size of a VM type; repeatable, takes precedence over --vm-types
    #[arg(long = "vm-type", value_name = "TYPE=CPUS,RAM,DISK")]
    pub vm_type: Vec<String>,
    /// The zone of the nodes (topology.kubernetes.io/zone) for an AZ of the manifest, if its name differs; repeatable
    #[arg(long = "zone", value_name = "AZ=ZONE")]
    pub zones: Vec<String>,
    /// The user that lifecycle scripts, hooks and errands run as; vcap needs no privileges
    #[arg(long, env = "RUN_HOOKS_AS", value_name = "USER", default_value = "root")]
    pub run_hooks_as: User,
    /// Make network policies: pods are reached by those of the deployment, and by everybody at the ports that the manifest names; the
    /// gather Job reaches API servers only
    #[arg(long, env = "NETWORK_POLICIES")]
    pub network_policies: bool,
    /// The image of CoreDNS, which answers BOSH's DNS aliases
    #[arg(long, env = "DNS_IMAGE", value_name = "IMAGE", default_value = DNS_IMAGE)]
    pub dns_image: String,
    /// Refuse DNS aliases of instance groups that the deployment does not have, which are otherwise ignored
    #[arg(long, env = "STRICT_ALIASES")]
    pub strict_aliases: bool,
    /// How long an instance has to stop, scripts and processes together
    #[arg(long, env = "BOSON_GRACE", value_name = "DURATION", default_value = "60s")]
    pub grace: String,
}

/// The user that scripts run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum User {
    /// As in BOSH.
    Root,
    /// Without privileges.
    Vcap,
}

/// How instances are updated, instead of what the manifest says.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct UpdateFlags {
    /// How many instances of a group are updated first, instead of the manifest's `canaries`
    #[arg(long, value_name = "COUNT|PERCENT%")]
    pub canaries: Option<Count>,
    /// How many instances of a group are updated at a time, instead of the manifest's `max_in_flight`
    #[arg(long, value_name = "COUNT|PERCENT%")]
    pub max_in_flight: Option<Count>,
}

impl UpdateFlags {
    /// These, or what `others` have where these have nothing.
    #[must_use]
    pub fn or(self, others: UpdateFlags) -> UpdateFlags {
        UpdateFlags {
            canaries: self.canaries.or(others.canaries),
            max_in_flight: self.max_in_flight.or(others.max_in_flight),
        }
    }

    /// Replaces what the manifest says.
    pub fn apply_to(self, update: &mut Update) {
        update.canaries = self.canaries.unwrap_or(update.canaries);
        update.max_in_flight = self.max_in_flight.unwrap_or(update.max_in_flight);
    }

    /// The arguments from which `deploy` reads them.
    pub fn arguments(self) -> impl Iterator<Item = String> {
        let flags = [("--canaries", self.canaries), ("--max-in-flight", self.max_in_flight)];
        flags.into_iter().filter_map(|(flag, count)| Some(format!("{flag}={}", count?)))
    }
}

/// Which instances a run replaces although nothing of them changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct ReplaceFlags {
    /// Replace all instances, also those that do not change
    #[arg(long)]
    pub recreate: bool,
    /// Also replace instances that are failing
    #[arg(long)]
    pub fix: bool,
}

impl ReplaceFlags {
    /// The arguments from which `deploy` reads them.
    pub fn arguments(self) -> impl Iterator<Item = &'static str> {
        let flags = [("--recreate", self.recreate), ("--fix", self.fix)];
        flags.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

impl ObjectFlags {
    /// The settings for a deployment with these releases.
    ///
    /// # Errors
    /// Malformed flags, an images file that cannot be read, releases without an image; all of them together.
    pub fn settings(&self, releases: &[ReleaseRef]) -> Result<Settings> {
        let mut problems = Vec::new();
        let mut given = self.images_of_file().unwrap_or_else(|found| {
            problems.extend(found.into_vec());
            BTreeMap::new()
        });
        let of_flags = pairs("--image", "RELEASE=IMAGE", &self.images, &mut problems);
        let zones = pairs("--zone", "AZ=ZONE", &self.zones, &mut problems);
        let grace = parse_duration(&self.grace).unwrap_or_else(|why| {
            problems.push(Problem::usage(format!("--grace {why}, not '{}'", self.grace)));
            Duration::ZERO
        });
        let vm_types = self.vm_types(&mut problems);
        warn_of_unknown(&of_flags, releases);
        given.extend(of_flags.clone());
        let images = release_images(releases, &given, self.registry.as_deref()).unwrap_or_else(|missing| {
            problems.extend(missing.iter().map(|name| {
                Problem::input(format!("release '{name}' has no image"))
                    .code(code::IMAGE_MISSING)
                    .hint(format!("give --image {name}=IMAGE, --images-file or --registry"))
            }));
            BTreeMap::new()
        });
        Problems::check(problems)?;
        Ok(Settings {
            boson_image: self.boson_image.clone(),
            release_images: images,
            pull_secrets: self.pull_secrets.clone(),
            priority_class: self.priority_class.clone().filter(|name| !name.is_empty()),
            zones,
            scripts_as: self.scripts_as(),
            network_policies: self.network_policies,
            patches: BTreeMap::new(),
            dns_image: self.dns_image.clone(),
            strict_aliases: self.strict_aliases,
            updated_by: UpdatedBy::default(),
            name_server: None,
            grace,
            vm_types,
        })
    }

    /// The sizes of VM types.
    fn vm_types(&self, problems: &mut Vec<Problem>) -> BTreeMap<String, VmResources> {
        let path = self.vm_types.as_deref().filter(|path| *path != Path::new(""));
        let mut types = path.map_or_else(BTreeMap::new, |path| {
            vm_types_of_file(path).unwrap_or_else(|found| {
                problems.extend(found.into_vec());
                BTreeMap::new()
            })
        });
        for (name, size) in pairs("--vm-type", "TYPE=CPUS,RAM,DISK", &self.vm_type, problems) {
            let numbers: Vec<Option<u32>> = size.split(',').map(|number| number.trim().parse().ok()).collect();
            match numbers.as_slice() {
                [Some(cpu), Some(ram), Some(ephemeral_disk_size)] => {
                    let size = VmResources { cpu: *cpu, ram: *ram, ephemeral_disk_size: *ephemeral_disk_size };
                    types.insert(name, size);
                }
                _ => problems.push(Problem::usage(format!(
                    "--vm-type must be TYPE=CPUS,RAM,DISK with the sizes in MB, not '{name}={size}'"
                ))),
            }
        }
        types
    }

    /// The user that scripts run as.
    pub fn scripts_as(&self) -> ScriptsAs {
        match self.run_hooks_as {
            User::Root => ScriptsAs::Root,
            User::Vcap => ScriptsAs::Vcap,
        }
    }

    fn images_of_file(&self) -> Result<BTreeMap<String, String>> {
        let path = self.images_file.as_deref().filter(|path| *path != Path::new(""));
        let Some(path) = path else { return Ok(BTreeMap::new()) };
        let place = Place::file(path.display().to_string());
        let problem = |message: &str| Problem::input(message).code(code::INPUT_FILE).at(place.clone());
        let bytes = vcap::input::read(path).map_err(|error| problem("cannot read the images file").because(error))?;
        serde_yaml::from_slice(&bytes)
            .map_err(|_| problem("the images file is not a mapping of releases to images").into())
    }
}

/// One list of images may be that of several deployments, so an unknown release is no error. A misspelt one is: then another release
/// has no image.
fn warn_of_unknown(images: &BTreeMap<String, String>, releases: &[ReleaseRef]) {
    for name in images.keys().filter(|name| releases.iter().all(|release| release.name != **name)) {
        let known = releases.iter().map(|release| release.name.as_str());
        let near = problem::did_you_mean(name, known).map(|near| format!("; did you mean '{near}'?"));
        tracing::warn!("--image: the manifest has no release '{name}'{}", near.unwrap_or_default());
    }
}

fn vm_types_of_file(path: &Path) -> Result<BTreeMap<String, VmResources>> {
    let place = Place::file(path.display().to_string());
    let problem = |message: &str| Problem::input(message).code(code::INPUT_FILE).at(place.clone());
    let bytes = vcap::input::read(path).map_err(|error| problem("cannot read the file of VM types").because(error))?;
    serde_yaml::from_slice(&bytes).map_err(|_| {
        problem("not a mapping of VM types to sizes")
            .hint("an entry is TYPE: {cpu: CPUS, ram: MB, ephemeral_disk_size: MB}")
            .into()
    })
}

/// The flags that give the same settings to another program; images are given one by one.
pub fn arguments(settings: &Settings) -> Vec<String> {
    let mut arguments = vec!["--boson-image".to_owned(), settings.boson_image.clone()];
    let mut add = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
    add("--dns-image", settings.dns_image.clone());
    settings.release_images.iter().for_each(|(release, image)| add("--image", format!("{release}={image}")));
    settings.pull_secrets.iter().for_each(|name| add("--pull-secret", name.clone()));
    settings.priority_class.iter().for_each(|name| add("--priority-class", name.clone()));
    settings.zones.iter().for_each(|(az, zone)| add("--zone", format!("{az}={zone}")));
    for (name, size) in &settings.vm_types {
        add("--vm-type", format!("{name}={},{},{}", size.cpu, size.ram, size.ephemeral_disk_size));
    }
    if settings.scripts_as == ScriptsAs::Vcap {
        add("--run-hooks-as", "vcap".to_owned());
    }
    add("--grace", format!("{}s", settings.grace.as_secs()));
    if settings.network_policies {
        arguments.push("--network-policies".to_owned());
    }
    if settings.strict_aliases {
        arguments.push("--strict-aliases".to_owned());
    }
    arguments
}

fn pairs(flag: &str, form: &str, texts: &[String], problems: &mut Vec<Problem>) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    for text in texts {
        match text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty()) {
            Some((name, value)) => drop(pairs.insert(name.to_owned(), value.to_owned())),
            None => problems.push(Problem::usage(format!("{flag} must be {form}, not '{text}'"))),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        flags: ObjectFlags,
    }

    fn settings(args: &[&str], releases: &[&str]) -> Result<Settings> {
        let releases: Vec<ReleaseRef> = releases
            .iter()
            .map(|name| ReleaseRef { name: (*name).to_owned(), is_needed: true, ..ReleaseRef::default() })
            .collect();
        Command::parse_from([&["x"], args].concat()).flags.settings(&releases)
    }

    #[test]
    fn flags_survive_a_round() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("images.yml");
        std::fs::write(&file, "b: r/b@sha256:1\nc: r/c:1\nother: r/d:1\n").unwrap();
        let vm_types = dir.path().join("vm-types.yml");
        std::fs::write(
            &vm_types,
            "small: {cpu: 9, ram: 9, ephemeral_disk_size: 9}\nlarge: {cpu: 4, ram: 8192, ephemeral_disk_size: 0}\n",
        )
        .unwrap();
        let args = ["--image", "c=r/c:2", "--images-file", file.to_str().unwrap(), "--registry", "r"];
        let more = [
            "--zone",
            "z1=eu-1",
            "--run-hooks-as",
            "vcap",
            "--grace",
            "2m",
            "--pull-secret",
            "s",
            "--vm-types",
            vm_types.to_str().unwrap(),
            "--vm-type",
            "small=1,512,1024",
            "--network-policies",
            "--strict-aliases",
            "--dns-image",
            "r/coredns:1",
        ];
        let first = settings(&[&args[..], &more].concat(), &["a", "b", "c"]).unwrap();
        assert_eq!(first.release_images["a"], "r/a:latest");
        assert_eq!(first.release_images["b"], "r/b@sha256:1");
        assert_eq!(first.release_images["c"], "r/c:2");
        assert_eq!((first.vm_types["small"].ram, first.vm_types["large"].cpu), (512, 4));
        let again = arguments(&first);
        let again: Vec<&str> = again.iter().map(String::as_str).collect();
        assert_eq!(settings(&again, &["a", "b", "c"]).unwrap(), first);
    }

    #[test]
    fn everything_that_is_wrong_is_reported_together() {
        let problems =
            settings(&["--image", "natz=x", "--zone", "z1", "--grace", "soon", "--vm-type", "s=1"], &["nats", "uaa"]);
        let text = problems.unwrap_err().to_string();
        for part in
            ["--vm-type must be TYPE=", "--zone must be AZ=ZONE", "--grace must be", "'nats' has no image", "'uaa'"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
