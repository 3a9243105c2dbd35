//! The stable names of all classes of mistakes, which `docs/errors.md` explains one by one.

use std::fmt;

/// The stable name of a class of mistakes, such as `link-ambiguous`; one of the constants of this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(&'static str);

impl Code {
    /// The name itself, as it is printed.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: Code = Code($text);)*
        /// Every code with the name of its constant.
        pub const ALL: &[(&str, Code)] = &[$((stringify!($name), $name)),*];
    };
}

codes! {
    // Defaults, used if no more precise code applies.

    /// A flag or a variable is malformed, contradicts another one, or is missing.
    USAGE = "usage";
    /// The operator's input is wrong in a way that has no code of its own.
    INPUT_INVALID = "input-invalid";
    /// A template could not be rendered, for a reason that has no code of its own.
    TEMPLATE_FAILED = "template-failed";
    /// A warning, which `--strict` makes an error.
    WARNING = "warning";
    /// An error of boson or of its environment that has no code of its own.
    INTERNAL = "internal";
    /// A file or directory could not be read, written, created or removed.
    IO = "io";

    // The manifest.

    /// The deployment manifest does not exist or is not a readable file.
    MANIFEST_MISSING = "manifest-missing";
    /// The deployment manifest has a value that BOSH does not accept there.
    MANIFEST_INVALID = "manifest-invalid";
    /// A cloud or runtime config has a value that BOSH does not accept there, or contradicts the manifest.
    CONFIG_INVALID = "config-invalid";
    /// A job's spec has a value that BOSH does not accept there.
    SPEC_INVALID = "spec-invalid";
    /// A document is not YAML, or not YAML that can be used.
    YAML_INVALID = "yaml-invalid";
    /// The manifest has `((variables))` that were not interpolated.
    VARIABLE_UNRESOLVED = "variable-unresolved";
    /// The definition of a variable does not allow to generate it.
    VARIABLE_INVALID = "variable-invalid";
    /// A variables store is damaged.
    STORE_INVALID = "store-invalid";
    /// Another process uses a variables store.
    STORE_LOCKED = "store-locked";
    /// A file that a flag names could not be read.
    INPUT_FILE = "input-file";
    /// A document is not a list of operations.
    OPS_INVALID = "ops-invalid";
    /// A path of an ops file leads nowhere in the manifest, or a test of one does not hold.
    OPS_FAILED = "ops-failed";
    /// Two names become the same name in Kubernetes or DNS.
    NAME_CONFLICT = "name-conflict";
    /// A job asks to be privileged, and the user does not allow it.
    PRIVILEGED_NOT_ALLOWED = "privileged-not-allowed";
    /// An instance group of this name does not exist.
    GROUP_UNKNOWN = "group-unknown";
    /// The manifest does not list a release of this name.
    RELEASE_UNKNOWN = "release-unknown";
    /// A release has no job of this name.
    JOB_UNKNOWN = "job-unknown";

    // Releases.

    /// The sources of a release or of its jobs are not where they are expected.
    RELEASE_MISSING = "release-missing";
    /// A release's specs, jobs or packages break a rule of BOSH.
    RELEASE_INVALID = "release-invalid";
    /// A file of a release is not the one that the release lists.
    RELEASE_DAMAGED = "release-damaged";
    /// A patch is not a unified diff, or changes what is no job source.
    PATCH_INVALID = "patch-invalid";
    /// A patch does not apply to the job sources of its release.
    PATCH_FAILED = "patch-failed";
    /// A stemcell is not a root file system, or is damaged.
    STEMCELL_INVALID = "stemcell-invalid";
    /// A package could not be compiled.
    COMPILE_FAILED = "compile-failed";
    /// No release has a package that a job needs.
    PACKAGE_MISSING = "package-missing";
    /// Two releases have a package of the same name that one instance group would need.
    PACKAGE_CONFLICT = "package-conflict";

    // Links and properties.

    /// A link has no provider.
    LINK_UNRESOLVED = "link-unresolved";
    /// A link has several possible providers.
    LINK_AMBIGUOUS = "link-ambiguous";
    /// A `consumes` or `provides` section is wrong.
    LINK_INVALID = "link-invalid";
    /// A property has a value that the job's spec does not accept.
    PROPERTY_INVALID = "property-invalid";
    /// A job's properties break the job's `properties_schema.json`.
    SCHEMA_VIOLATED = "schema-violated";
    /// A job's `properties_schema.json` cannot be used.
    SCHEMA_INVALID = "schema-invalid";

    // Templates.

    /// A template that the job's spec lists does not exist.
    TEMPLATE_MISSING = "template-missing";
    /// A template's source or destination is not a place that a template may have.
    TEMPLATE_PLACE = "template-place";
    /// A template has a syntax error.
    TEMPLATE_SYNTAX = "template-syntax";
    /// A template did not finish within `TEMPLATE_TIMEOUT`.
    TEMPLATE_TIMEOUT = "template-timeout";
    /// A template needs a property that has neither value nor default.
    PROPERTY_MISSING = "property-missing";
    /// A template uses a link that its job does not have.
    LINK_UNKNOWN = "link-unknown";

    // Kubernetes Templates.

    /// A document is not a Template, or has fields that a Template does not have.
    TEMPLATE_INVALID = "template-invalid";
    /// The declaration of a parameter is wrong, or a value does not fit it.
    PARAMETER_INVALID = "parameter-invalid";
    /// A required parameter has no value.
    PARAMETER_MISSING = "parameter-missing";
    /// A reference names a parameter that is not declared.
    REFERENCE_UNDECLARED = "reference-undeclared";
    /// A reference could be resolved to a parameter or to a variable of the container.
    REFERENCE_CONFLICT = "reference-conflict";
    /// A field or key cannot have the value that substitution gives it.
    SUBSTITUTION_INVALID = "substitution-invalid";
    /// The key or value of a label is malformed.
    LABEL_INVALID = "label-invalid";
    /// An object of a template is not an object of Kubernetes.
    OBJECT_INVALID = "object-invalid";

    /// A job's `dns/aliases.json` cannot be used.
    DNS_ALIASES_INVALID = "dns-aliases-invalid";

    // bpm.yml and monit.

    /// A `bpm.yml` is not one that BPM accepts.
    BPM_INVALID = "bpm-invalid";
    /// A `monit` is not one that monit accepts, or starts what does not exist.
    MONIT_INVALID = "monit-invalid";
    /// A job for Windows cannot run in an instance.
    JOB_FOR_WINDOWS = "job-for-windows";
    /// The instances of a group have `bpm.yml`s that differ where a pod template cannot.
    BPM_DIFFERS = "bpm-differs";
    /// A job has no process of this name.
    PROCESS_UNKNOWN = "process-unknown";

    // Instances.

    /// The variables that identify an instance contradict the instance group.
    INSTANCE_OUT_OF_RANGE = "instance-out-of-range";
    /// A document of another stage does not exist.
    DOCUMENT_MISSING = "document-missing";
    /// A document of another stage is malformed.
    DOCUMENT_INVALID = "document-invalid";
    /// A document of another stage has a version that this program does not read.
    DOCUMENT_VERSION = "document-version";
    /// The output would destroy something that boson has not written.
    OUTPUT_CONFLICT = "output-conflict";

    // Processes and scripts.

    /// A job is not rendered where it is needed.
    JOB_NOT_RENDERED = "job-not-rendered";
    /// An executable could not be started.
    PROCESS_NOT_STARTED = "process-not-started";
    /// A process ended while its deployment was starting.
    PROCESS_ENDED = "process-ended";
    /// A lifecycle script or a hook failed.
    SCRIPT_FAILED = "script-failed";
    /// The container lacks something that `bpm.yml` asks for.
    CONTAINER_INSUFFICIENT = "container-insufficient";
    /// A volume or the persistent disk does not exist.
    VOLUME_MISSING = "volume-missing";
    /// Something is running already.
    ALREADY_RUNNING = "already-running";
    /// Something is not running.
    NOT_RUNNING = "not-running";
    /// A process runs, but is not ready.
    NOT_READY = "not-ready";
    /// A process could not be controlled.
    CONTROL_REFUSED = "control-refused";
    /// Something that was waited for did not come in time.
    WAIT_TIMEOUT = "wait-timeout";
    /// The reader of stdout has gone.
    STDOUT_CLOSED = "stdout-closed";

    // Deployments on a cluster.

    /// A release has no image.
    IMAGE_MISSING = "image-missing";
    /// The API server of the cluster cannot be reached.
    CLUSTER_UNREACHABLE = "cluster-unreachable";
    /// The API server does not permit a request.
    CLUSTER_FORBIDDEN = "cluster-forbidden";
    /// The API server has a version that is too old.
    CLUSTER_TOO_OLD = "cluster-too-old";
    /// The API server refuses an object.
    CLUSTER_REFUSED = "cluster-refused";
    /// A storage class of the manifest does not exist in the cluster.
    STORAGE_CLASS_UNKNOWN = "storage-class-unknown";
    /// An object belongs to something else than this deployment.
    CLUSTER_CONFLICT = "cluster-conflict";
    /// A document is too large for the cluster.
    DOCUMENT_TOO_LARGE = "document-too-large";
    /// The instances of a deployment did not become ready.
    DEPLOYMENT_NOT_READY = "deployment-not-ready";
    /// Another run updates the deployment.
    UPDATE_UNDER_WAY = "update-under-way";
    /// Something has changed since a run was planned.
    RUN_OUTDATED = "run-outdated";

    // Deployments on one machine.

    /// A deployment on this machine was not found, or not only one.
    DEPLOYMENT_UNKNOWN = "deployment-unknown";
    /// The deployment has no instance of this name.
    INSTANCE_UNKNOWN = "instance-unknown";
    /// The deployment has no errand of this name.
    ERRAND_UNKNOWN = "errand-unknown";
    /// The machine does not allow a sandbox.
    SANDBOX_UNAVAILABLE = "sandbox-unavailable";
    /// A port of this machine cannot be listened on.
    PORT_UNAVAILABLE = "port-unavailable";
    /// A signal interrupted the run.
    INTERRUPTED = "interrupted";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_distinct_and_named_like_their_constants() {
        let names: BTreeSet<Code> = ALL.iter().map(|(_, code)| *code).collect();
        assert_eq!(names.len(), ALL.len());
        for (constant, code) in ALL {
            assert_eq!(constant.to_lowercase().replace('_', "-"), code.as_str());
        }
    }
}
