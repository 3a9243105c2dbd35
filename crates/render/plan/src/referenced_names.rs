//! What rendered files name of packages and other jobs.

use std::collections::BTreeSet;

use crate::sysctls;

pub(crate) const PACKAGES: &str = "/var/vcap/packages/";
const JOBS: &str = "/var/vcap/jobs/";

/// What a rendered file names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ReferencedNames {
    pub(crate) packages: BTreeSet<String>,
    /// The jobs of which it names a file below `bin/`.
    pub(crate) called_jobs: BTreeSet<String>,
    /// The kernel's settings that it writes, if it is a script.
    pub(crate) sysctls: BTreeSet<String>,
}

impl ReferencedNames {
    /// What texts name.
    pub(crate) fn of<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> ReferencedNames {
        let mut all = ReferencedNames::default();
        for text in texts {
            all.packages.extend(names_after(text, PACKAGES).map(|(name, _)| name.to_owned()));
            let jobs = names_after(text, JOBS).filter(|(_, rest)| rest.starts_with(b"/bin/"));
            all.called_jobs.extend(jobs.map(|(name, _)| name.to_owned()));
            sysctls::find(text, &mut all.sysctls);
        }
        all
    }
}

/// The names that follow a path in a text, and what follows them. A name that a shell or Ruby completes is none.
fn names_after<'t>(text: &'t [u8], path: &'static str) -> impl Iterator<Item = (&'t str, &'t [u8])> {
    memchr::memmem::find_iter(text, path).filter_map(move |at| {
        let rest = &text[at + path.len()..];
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(byte);
        let end = rest.iter().position(|byte| !is_of_name(byte)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let is_whole = !matches!(after.first(), Some(b'$' | b'*' | b'?' | b'{' | b'[' | b'#'));
        // The full stop of a sentence.
        let name = std::str::from_utf8(name).ok()?.trim_end_matches('.');
        (is_whole && !name.is_empty()).then_some((name, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packages_and_called_jobs_are_found() {
        let text = b"PATH=/var/vcap/packages/cf-cli-8/bin:/var/vcap/packages/jq:$PATH # see /var/vcap/packages/docs.\n\
            . /var/vcap/jobs/cfdot/bin/setup; cat /var/vcap/jobs/rep/config/ca.crt\n\
            ls /var/vcap/packages/ruby-*/bin /var/vcap/packages/$NAME/bin /var/vcap/packages/a${b} /var/vcap/packages/";
        let mentions = ReferencedNames::of([&text[..]]);
        assert_eq!(mentions.packages, ["cf-cli-8", "docs", "jq"].map(str::to_owned).into());
        assert_eq!(mentions.called_jobs, ["cfdot".to_owned()].into());
    }
}
