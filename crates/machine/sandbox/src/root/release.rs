//! Files that name the distribution, as stemcells have them, derived from `os-release` where the machine has none.

/// Name below `/etc` and content of `lsb-release`, `issue` and `issue.net`; none if `os-release` names no distribution.
pub(super) fn files(os_release: &str) -> Vec<(&'static str, String)> {
    let value = |key: &str| {
        let value = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?.trim();
        Some(value.trim_matches(['"', '\''])).filter(|value| !value.is_empty())
    };
    let Some(name) = value("NAME") else { return Vec::new() };
    let version = value("VERSION_ID").unwrap_or_default();
    let description = value("PRETTY_NAME").unwrap_or(name);
    let id = value("ID").map_or_else(|| name.to_owned(), capitalised);
    let codename = value("VERSION_CODENAME").unwrap_or_default();
    let lsb = format!(
        "DISTRIB_ID={id}\nDISTRIB_RELEASE={version}\nDISTRIB_CODENAME={codename}\nDISTRIB_DESCRIPTION=\"{description}\"\n"
    );
    vec![
        ("lsb-release", lsb),
        ("issue", format!("{description} \\n \\l\n\n")),
        ("issue.net", format!("{description}\n")),
    ]
}

/// `ubuntu` is `Ubuntu` in `lsb-release`.
fn capitalised(id: &str) -> String {
    let mut characters = id.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_that_of_os_release() {
        let os_release = "PRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\n\
                          VERSION_CODENAME=jammy\nID=ubuntu\nID_LIKE=debian\n";
        let lsb = "DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=22.04\nDISTRIB_CODENAME=jammy\n\
                   DISTRIB_DESCRIPTION=\"Ubuntu 22.04.4 LTS\"\n";
        let expected = [
            ("lsb-release", lsb.to_owned()),
            ("issue", "Ubuntu 22.04.4 LTS \\n \\l\n\n".to_owned()),
            ("issue.net", "Ubuntu 22.04.4 LTS\n".to_owned()),
        ];
        assert_eq!(files(os_release), expected);
    }

    #[test]
    fn an_unknown_distribution_has_no_files() {
        assert_eq!(files(""), []);
        assert_eq!(files("ID=x\nNAME=\n"), []);
        assert_eq!(
            files("NAME='A'\n")[0].1,
            "DISTRIB_ID=A\nDISTRIB_RELEASE=\nDISTRIB_CODENAME=\nDISTRIB_DESCRIPTION=\"A\"\n"
        );
    }
}
