//! What is looked for: one line for each rule. `docs/lint.md` says when each fires and when it stays silent.

use std::fmt;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It is not reported.
    Allow,
    /// Worth knowing.
    Note,
    /// Probably a mistake.
    Warning,
    /// It fails, or BOSH refuses it.
    Error,
}

impl Severity {
    /// All, by name.
    pub(crate) const ALL: [Severity; 4] = [Severity::Allow, Severity::Note, Severity::Warning, Severity::Error];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Allow => "allow",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }

    /// The severity of this name.
    pub(crate) fn named(name: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|severity| severity.as_str() == name)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its stable code, which `boson explain-error` explains.
    pub code: &'static str,
    /// Its severity, unless lint.yml has another.
    pub severity: Severity,
    /// What it finds.
    pub summary: &'static str,
}

macro_rules! rules {
    ($($name:ident = $severity:ident $code:literal $summary:literal;)*) => {
        $(pub(crate) const $name: &Rule = &Rule { code: $code, severity: Severity::$severity, summary: $summary };)*
        /// All rules, in the order of the page.
        pub const RULES: &[&Rule] = &[$($name),*];
    };
}

rules! {
    // What BOSH refuses; explained in docs/errors.md.
    RELEASE_INVALID = Error "release-invalid" "A release breaks a rule of BOSH.";
    YAML_INVALID = Error "yaml-invalid" "A document is not YAML that BOSH reads.";
    SPEC_INVALID = Error "spec-invalid" "A job's spec has a value that BOSH does not accept.";
    TEMPLATE_MISSING = Error "template-missing" "A template that a spec lists does not exist.";
    TEMPLATE_PLACE = Error "template-place" "A template's source or destination is not possible.";
    TEMPLATE_SYNTAX = Error "template-syntax" "A template has a syntax error.";
    SCHEMA_INVALID = Error "schema-invalid" "A properties_schema.json cannot be used.";

    PROPERTY_UNDECLARED = Error "property-undeclared" "A template needs a property that the job's spec does not declare.";
    PROPERTY_NEVER_SET = Warning "property-never-set" "A template asks for a property that is never set, because the spec does not declare it.";
    PROPERTY_UNUSED = Warning "property-unused" "A declared property is used by no template, link or schema.";
    PROPERTY_REQUIRED = Note "property-required" "A property is optional in one place and required in another.";
    PROPERTY_DEFAULT_KIND = Warning "property-default-kind" "The default of a property has another kind than its uses need.";
    PROPERTY_DESCRIPTION = Note "property-description" "A declared property has no description.";
    MANIFEST_PROPERTY = Warning "manifest-property" "The manifest sets a property that the job's spec does not declare.";

    LINK_UNDECLARED = Error "link-undeclared" "A template uses a link that the spec does not consume.";
    LINK_UNUSED = Warning "link-unused" "A consumed link is used by no template.";
    LINK_OPTIONAL = Warning "link-optional" "A template needs a link that is optional.";
    LINK_METHOD = Error "link-method" "A template calls a method that links do not have.";
    LINK_PROPERTY_UNDECLARED = Warning "link-property-undeclared" "A provided link lists a property that the job does not declare.";
    LINK_PROPERTY_UNPROVIDED = Warning "link-property-unprovided" "A template needs a property that no provider of its link lists.";
    LINK_TYPE = Warning "link-type" "The type of a consumed link is probably misspelt.";

    TEMPLATE_UNLISTED = Warning "template-unlisted" "A file in templates/ is not listed in the spec.";
    FILE_MISSPELT = Warning "file-misspelt" "A well-known file has a name that BOSH does not look for.";
    EXECUTABLE_OUTSIDE_BIN = Error "executable-outside-bin" "A program that is started does not lie in bin/ and is not executable.";
    MONIT_INVALID = Error "monit-invalid" "The monit file has an error.";
    MONIT_PROGRAM = Error "monit-program" "monit starts a file that the job does not have.";
    MONIT_PID_FILE = Error "monit-pid-file" "The pid file in monit is not the one that bpm writes.";
    BPM_INVALID = Error "bpm-invalid" "bpm refuses the bpm.yml.";
    BPM_KEY = Warning "bpm-key" "A bpm.yml has a key that bpm ignores.";
    BPM_PROCESS = Error "bpm-process" "monit starts a process that bpm.yml does not have.";
    BPM_PROCESS_UNUSED = Warning "bpm-process-unused" "A process of bpm.yml is started by nothing.";
    BPM_EXECUTABLE = Error "bpm-executable" "A process of bpm.yml runs a file that the job or its packages do not have.";
    YAML_DUPLICATE_KEY = Warning "yaml-duplicate-key" "A key occurs twice in one mapping; the last counts.";
    SPEC_KEY = Warning "spec-key" "A key of a spec is probably misspelt and has no effect.";
    SHEBANG = Warning "shebang" "A script needs an interpreter that stemcells lack.";
    PACKAGE_UNLISTED = Warning "package-unlisted" "A job's files use a package of the release that its spec does not list.";
    PACKAGE_UNUSED = Warning "package-unused" "No job and no package needs a package.";
    PACKAGE_FILES = Error "package-files" "A pattern of a package's spec matches no file and no blob.";
    BLOBS_INVALID = Error "blobs-invalid" "An entry of config/blobs.yml is malformed.";
    FINAL_INVALID = Warning "final-invalid" "config/final.yml is incomplete.";
    SCHEMA_MISNAMED = Warning "schema-misnamed" "A schema of properties has a name that the director does not look for.";

    METHOD_UNKNOWN = Error "method-unknown" "A template calls a method that does not exist.";
    SPEC_ATTRIBUTE = Warning "spec-attribute" "A template reads an attribute of spec that is never set.";
    TEMPLATE_UNSTABLE = Warning "template-unstable" "A template renders differently each time.";
    TEMPLATE_ENVIRONMENT = Warning "template-environment" "A template reads the environment of the director.";
    TEMPLATE_IO = Warning "template-io" "A template uses files, the network or programs while it is rendered.";
    SECRET_ARGUMENT = Warning "secret-argument" "A secret is in a command line, which every user of the machine can read.";
    VALUE_UNQUOTED = Warning "value-unquoted" "A secret is written without quoting into YAML, JSON or a script.";

    SHELL_SYNTAX = Error "shell-syntax" "A rendered script is not valid for bash.";
    SHELLCHECK = Note "shellcheck" "shellcheck finds a mistake in a rendered script.";
    PRE_START_ERREXIT = Warning "pre-start-errexit" "A pre-start goes on after a command that fails.";
    DRAIN_NUMBER = Error "drain-number" "A drain script prints no number.";
    STORE_UNMOUNTED = Warning "store-unmounted" "A process uses /var/vcap/store, which its bpm.yml does not mount.";
    PACKAGING_ERREXIT = Warning "packaging-errexit" "A packaging script goes on after a command that fails.";

    YAML_NUMBER = Warning "yaml-number" "A default looks like text and is another number in YAML.";
    YAML_BOOLEAN = Note "yaml-boolean" "A word such as yes is a boolean in YAML.";

    POD_PRIVILEGED = Note "pod-privileged" "A process needs a privileged container or the pod's process namespace.";
    POD_CAPABILITIES = Note "pod-capabilities" "A process needs capabilities.";
    POD_KERNEL = Note "pod-kernel" "A script changes the kernel or its parameters.";
    POD_LIMITS = Note "pod-limits" "A script raises limits, which a container may refuse.";
    POD_PACKAGE = Note "pod-package" "A job uses a package of another release.";
    POD_MONIT = Note "pod-monit" "monit starts a program without bpm.";

    STEMCELL_RUNIT = Warning "stemcell-runit" "A file uses runit, which the stemcell lacks.";
    STEMCELL_APT_KEY = Warning "stemcell-apt-key" "A file uses apt-key, which the stemcell lacks.";
    STEMCELL_CGROUP = Warning "stemcell-cgroup" "A file uses paths of cgroup v1, which the stemcell lacks.";
}

/// The rule with this code.
pub(crate) fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages of the rules, and of what BOSH refuses.
    const PAGES: [&str; 2] = [include_str!("../../../../docs/lint.md"), include_str!("../../../../docs/errors.md")];

    #[test]
    fn every_rule_has_a_section() {
        for rule in RULES {
            let heading = format!("\n### {}\n", rule.code);
            assert!(PAGES.iter().any(|page| page.contains(&heading)), "no page has a section '{}'", rule.code);
        }
    }

    #[test]
    fn every_section_of_the_page_is_about_a_rule_and_says_when_it_fires_and_is_silent() {
        let sections: Vec<&str> = PAGES[0].split("\n### ").skip(1).collect();
        for section in &sections {
            let (code, text) = section.split_once('\n').unwrap();
            let text = text.split("\n## ").next().unwrap();
            let rule = rule(code).unwrap_or_else(|| panic!("### {code}"));
            assert!(text.contains(rule.summary), "{code}: {}", rule.summary);
            assert!(text.contains(&format!("Severity: {}.", rule.severity)), "{code}");
            for part in ["\n**Fires** ", "\n**Silent** ", "\n**What to do.** "] {
                assert!(text.contains(part), "{code}: there is no {part:?}");
            }
        }
        assert_eq!(
            sections.len(),
            RULES.iter().filter(|rule| !PAGES[1].contains(&format!("\n### {}\n", rule.code))).count()
        );
    }

    #[test]
    fn codes_are_unique() {
        for (at, rule) in RULES.iter().enumerate() {
            assert!(RULES[..at].iter().all(|other| other.code != rule.code), "{}", rule.code);
        }
    }
}
