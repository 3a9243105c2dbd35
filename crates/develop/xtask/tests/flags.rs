//! The short flags of all executables are those of the table in the guide for users of the bosh CLI.

use std::collections::BTreeSet;

use xtask::sources::all;

/// A short flag and its long one.
type Flag = (char, String);

/// The flags that a page of help texts lists: `-d, --deployment <NAME>`.
fn listed(page: &str) -> BTreeSet<Flag> {
    let flag = |line: &str| {
        let mut words = line.trim_start().strip_prefix('-')?.split([' ', ',']);
        let short = words.next()?.chars().next().filter(|c| c.is_ascii_alphabetic())?;
        let long = words.nth(1)?.strip_prefix("--")?.to_owned();
        Some((short, long))
    };
    page.lines().filter_map(flag).collect()
}

/// The flags of the table: those of the first column stand for the long ones of the second.
fn documented(guide: &str) -> BTreeSet<Flag> {
    let table = guide.split("## Short flags").nth(1).unwrap_or_default();
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let mut flags = BTreeSet::new();
    for line in table.lines().filter(|line| line.starts_with("| `-")) {
        let mut cells = line.trim_matches('|').split('|').map(quoted);
        let (short, long) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let short: Vec<char> = short.iter().filter_map(|flag| flag.strip_prefix('-')?.chars().next()).collect();
        let long: Vec<&String> = long.iter().filter(|flag| flag.starts_with("--")).collect();
        for (at, flag) in long.iter().enumerate() {
            // With several short flags, each has one long one.
            let own = if short.len() > 1 { &short[at..=at] } else { &short[..] };
            flags.extend(own.iter().map(|short| (*short, flag.trim_start_matches('-').to_owned())));
        }
    }
    flags
}

#[test]
fn every_short_flag_has_the_meaning_that_the_guide_gives_it() {
    let files = all().unwrap();
    let pages = files.iter().filter(|file| file.path.starts_with("docs/cli") && file.path.ends_with(".md"));
    let listed: BTreeSet<Flag> = pages.flat_map(|page| listed(&page.text)).collect();
    let documented = documented(&xtask::read("docs/guides/from-bosh.md").unwrap());
    assert_eq!(listed.difference(&documented).collect::<Vec<_>>(), Vec::<&Flag>::new(), "not in the guide");
    assert_eq!(documented.difference(&listed).collect::<Vec<_>>(), Vec::<&Flag>::new(), "in the guide only");
}
