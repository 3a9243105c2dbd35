//! Reads the tables of `docs/architecture.md` and of the subjects' pages, which the workspace is checked against.

use std::collections::BTreeSet;

/// The document of the rules.
pub const DOCUMENT: &str = "docs/architecture.md";

/// The directory of the executables that ship.
pub const EXECUTABLES: &str = "bins";

/// The subjects below `crates/`, in the order in which data flows.
pub const SUBJECTS: [&str; 12] = [
    "base",
    "release",
    "manifest",
    "render",
    "pod",
    "machine",
    "author",
    "cluster",
    "nstance",
    "brokerpak",
    "kubernetes-templates",
    "develop",
];

/// The tables of the document.
#[derive(Debug, Default)]
pub struct Architecture {
    /// The crates, in the order of the pages: executables, then subject by subject.
    pub crates: Vec<Crate>,
    /// Who never depends on what, not even indirectly.
    pub dependency_rules: Vec<Rule>,
    /// Whose sources never contain what.
    pub source_rules: Vec<Rule>,
    /// What ships.
    pub executables: Vec<Executable>,
}

/// What an executable that ships may be.
#[derive(Debug)]
pub struct Executable {
    /// Its name, and that of its package.
    pub name: String,
    /// The most bytes that it may have.
    pub at_most: u64,
    /// Strings that it contains.
    pub contains: BTreeSet<String>,
    /// Strings that it must not contain.
    pub never_contains: BTreeSet<String>,
}

/// A crate's line.
#[derive(Debug)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// The directory that its page is in, without `crates/`: its subject, or `bins`.
    pub subject: String,
    /// Its kind: `verb`, `pure crate`...
    pub kind: String,
}

/// A line of a rule table.
#[derive(Debug)]
pub struct Rule {
    /// First column.
    pub who: Names,
    /// Second column.
    pub never: Names,
}

/// Names as the document writes them: `every <kind>`, `every crate of` and subjects, `all but` and names or kinds, or names; names are in
/// backticks.
#[derive(Debug)]
pub enum Names {
    /// `every crate of` these subjects.
    Of(BTreeSet<String>),
    /// `every verb`, and perhaps more names.
    Every(String, BTreeSet<String>),
    /// `all but` these, and those of these kinds: `all but every executable and every orchestrator`.
    AllBut {
        /// Names of crates, or paths.
        names: BTreeSet<String>,
        /// Kinds of crates.
        kinds: BTreeSet<String>,
    },
    /// These.
    These(BTreeSet<String>),
}

impl Architecture {
    /// Reads the document, and the page of each subject.
    pub fn load() -> Result<Architecture, String> {
        let mut architecture = Architecture::parse(&crate::read(DOCUMENT)?)?;
        architecture.list(EXECUTABLES, "bins/README.md")?;
        for subject in SUBJECTS {
            architecture.list(subject, &format!("crates/{subject}/README.md"))?;
        }
        Ok(architecture)
    }

    /// Adds the crates of a subject's page.
    fn list(&mut self, subject: &str, page: &str) -> Result<(), String> {
        self.add_crates(subject, page, &crate::read(page)?)
    }

    fn add_crates(&mut self, subject: &str, page: &str, text: &str) -> Result<(), String> {
        for (number, line) in (1..).zip(text.lines()) {
            let Some(cells) = cells(line) else { continue };
            let [name, kind, _] = cells.as_slice() else { continue };
            let name: String = ticked(name).into_iter().collect();
            if self.crates.iter().any(|known| known.name == name) {
                return Err(format!("{page}:{number}: this crate has a line already"));
            }
            self.crates.push(Crate { name, subject: subject.to_owned(), kind: (*kind).to_owned() });
        }
        Ok(())
    }

    fn parse(text: &str) -> Result<Architecture, String> {
        let mut architecture = Architecture::default();
        let mut title = "";
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with('#') {
                title = line.trim_start_matches('#').trim();
            }
            let Some(cells) = cells(line) else { continue };
            let wrong = |what: &str| format!("{DOCUMENT}:{number}: {what}");
            match (title.to_lowercase().as_str(), cells.as_slice()) {
                ("who never depends on what", [who, never, ..]) => {
                    architecture.dependency_rules.push(Rule { who: Names::parse(who), never: Names::parse(never) });
                }
                ("whose sources never contain what", [who, never, ..]) => {
                    architecture.source_rules.push(Rule { who: Names::parse(who), never: Names::parse(never) });
                }
                ("what ships", [name, at_most, contains, never_contains]) => {
                    let digits: String = at_most.chars().filter(char::is_ascii_digit).collect();
                    architecture.executables.push(Executable {
                        name: ticked(name).into_iter().collect(),
                        at_most: digits.parse().map_err(|_| wrong("not a number of bytes"))?,
                        contains: ticked(contains),
                        never_contains: ticked(never_contains),
                    });
                }
                _ => {}
            }
        }
        Ok(architecture)
    }

    /// Whether `names` means this crate.
    pub fn means(&self, names: &Names, name: &str) -> bool {
        match names {
            Names::Every(kind, more) => {
                let is_one = |known: &Crate| known.name == name && (kind == "crate" || known.kind == *kind);
                more.contains(name) || self.crates.iter().any(is_one)
            }
            Names::Of(subjects) => {
                self.crates.iter().any(|known| known.name == name && subjects.contains(&known.subject))
            }
            Names::AllBut { names, kinds } => {
                let is_one = |known: &Crate| known.name == name && kinds.contains(&known.kind);
                !names.contains(name) && !self.crates.iter().any(is_one)
            }
            Names::These(names) => names.contains(name),
        }
    }
}

impl Names {
    fn parse(cell: &str) -> Names {
        let names = ticked(cell);
        let words: String = cell.split('`').step_by(2).collect();
        let words = words.trim();
        if let Some(exceptions) = words.strip_prefix("all but") {
            let kind = |text: &str| text.trim_end_matches([',', ' ']).trim_end_matches(" and").trim().to_owned();
            Names::AllBut { names, kinds: exceptions.split("every ").skip(1).map(kind).collect() }
        } else if words == "every crate of" {
            Names::Of(names)
        } else if let Some(kind) = words.strip_prefix("every ") {
            Names::Every(kind.trim_end_matches([',', ' ']).to_owned(), names)
        } else {
            Names::These(names)
        }
    }
}

/// The cells of a table's line; neither its head nor its ruler has any that matter, but they do no harm.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = inside.split('|').map(str::trim).collect();
    let ruler = cells.iter().all(|c| c.chars().all(|c| matches!(c, '-' | ':')));
    let head = !inside.contains('`');
    (!ruler && !head).then_some(cells)
}

/// What stands in backticks.
fn ticked(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
| stage | reads | writes |
|---|---|---|
| plan | `this` | `that` |

## Rules
### Who never depends on what
| who | never |
|---|---|
| every verb, `x` | `plan` |
| all but `plan` | every verb |
| every crate of `base` | every crate of `render` `pod` |
| all but every verb and every pure crate, `x` | `y` |

### What ships
| executable | bytes | contains | never contains |
|---|---|---|---|
| `x` | 1,000 | a (`a b`) | b (`c `), d (`d`) |
";

    /// The table of a subject's page.
    const PAGE: &str = "
| crate | kind | content |
|---|---|---|
| `plan` | verb | plans with `clap` |
";

    #[test]
    fn tables_are_read() {
        let mut a = Architecture::parse(TEXT).unwrap();
        a.add_crates("render", "page", PAGE).unwrap();
        let [plan] = a.crates.as_slice() else { panic!("{:?}", a.crates) };
        assert_eq!((plan.name.as_str(), plan.kind.as_str(), plan.subject.as_str()), ("plan", "verb", "render"));
        assert_eq!(a.dependency_rules.len(), 4);
        let [first, second, third, fourth] = a.dependency_rules.as_slice() else { panic!() };
        assert!(a.means(&first.who, "plan") && a.means(&first.who, "x") && !a.means(&first.who, "y"));
        assert_eq!(a.executables.len(), 1);
        assert_eq!((a.executables[0].name.as_str(), a.executables[0].at_most), ("x", 1000));
        assert_eq!(a.executables[0].contains, ["a b".to_owned()].into());
        assert_eq!(a.executables[0].never_contains, ["c ", "d"].map(String::from).into());
        assert!(a.means(&second.never, "plan") && !a.means(&second.who, "plan") && a.means(&second.who, "y"));
        assert!(!a.means(&fourth.who, "plan") && !a.means(&fourth.who, "x") && a.means(&fourth.who, "y"));
        let Names::AllBut { kinds, .. } = &fourth.who else { panic!("{fourth:?}") };
        assert_eq!(kinds, &["pure crate", "verb"].map(String::from).into());
        assert!(a.means(&third.never, "plan") && !a.means(&third.who, "plan") && !a.means(&third.never, "x"));
    }

    #[test]
    fn a_crate_has_one_line() {
        let mut a = Architecture::default();
        a.add_crates("render", "page", PAGE).unwrap();
        assert_eq!(a.add_crates("pod", "page", PAGE).unwrap_err(), "page:4: this crate has a line already");
    }
}
