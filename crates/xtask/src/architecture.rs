//! Reads the tables of `docs/architecture.md`, which the workspace is checked against.

use std::collections::BTreeSet;

/// The document.
pub const DOCUMENT: &str = "docs/architecture.md";

/// The tables of the document.
#[derive(Debug, Default)]
pub struct Architecture {
    /// The crates, in the document's order.
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
    /// The heading of its table: `Verbs`, `Pure crates`...
    pub heading: String,
}

impl Crate {
    /// The heading in lower case and the singular, as rules name it: `verb`, `pure crate`...
    fn kind(&self) -> String {
        let heading = self.heading.to_lowercase();
        heading.strip_suffix('s').unwrap_or(&heading).to_owned()
    }
}

/// The section that lists the crates, one table for each kind.
const CRATES: &str = "crates";

/// A line of a rule table.
#[derive(Debug)]
pub struct Rule {
    /// First column.
    pub who: Names,
    /// Second column.
    pub never: Names,
}

/// Names as the document writes them: `every <kind>`, `all but` and names, or names; each in backticks.
#[derive(Debug)]
pub enum Names {
    /// `every verb`, and perhaps more names.
    Every(String, BTreeSet<String>),
    /// `all but` these.
    AllBut(BTreeSet<String>),
    /// These.
    These(BTreeSet<String>),
}

impl Architecture {
    /// Reads the document.
    pub fn load() -> Result<Architecture, String> {
        Architecture::parse(&crate::read(DOCUMENT)?)
    }

    fn parse(text: &str) -> Result<Architecture, String> {
        let mut architecture = Architecture::default();
        let (mut section, mut title) = (String::new(), "");
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with('#') {
                title = line.trim_start_matches('#').trim();
            }
            if line.starts_with("## ") {
                section = title.to_lowercase();
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
                (_, [name, _]) if section == CRATES => {
                    let name: String = ticked(name).into_iter().collect();
                    if architecture.crates.iter().any(|known| known.name == name) {
                        return Err(wrong("this crate has a line already"));
                    }
                    architecture.crates.push(Crate { name, heading: title.to_owned() });
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
                let is_one = |known: &Crate| known.name == name && (kind == "crate" || known.kind() == *kind);
                more.contains(name) || self.crates.iter().any(is_one)
            }
            Names::AllBut(names) => !names.contains(name),
            Names::These(names) => names.contains(name),
        }
    }
}

impl Names {
    fn parse(cell: &str) -> Names {
        let names = ticked(cell);
        let words: String = cell.split('`').step_by(2).collect();
        let words = words.trim();
        if words.starts_with("all but") {
            Names::AllBut(names)
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

## Crates
### Verbs
| crate | what it is |
|---|---|
| `plan` | plans with `clap` |

## Rules
### Who never depends on what
| who | never |
|---|---|
| every verb, `x` | `plan` |
| all but `plan` | every verb |

### What ships
| executable | bytes | contains | never contains |
|---|---|---|---|
| `x` | 1,000 | a (`a b`) | b (`c `), d (`d`) |
";

    #[test]
    fn tables_are_read() {
        let a = Architecture::parse(TEXT).unwrap();
        let [plan] = a.crates.as_slice() else { panic!("{:?}", a.crates) };
        assert_eq!((plan.name.as_str(), plan.kind().as_str()), ("plan", "verb"));
        assert_eq!(a.dependency_rules.len(), 2);
        let [first, second] = a.dependency_rules.as_slice() else { panic!() };
        assert!(a.means(&first.who, "plan") && a.means(&first.who, "x") && !a.means(&first.who, "y"));
        assert_eq!(a.executables.len(), 1);
        assert_eq!((a.executables[0].name.as_str(), a.executables[0].at_most), ("x", 1000));
        assert_eq!(a.executables[0].contains, ["a b".to_owned()].into());
        assert_eq!(a.executables[0].never_contains, ["c ", "d"].map(String::from).into());
        assert!(a.means(&second.never, "plan") && !a.means(&second.who, "plan") && a.means(&second.who, "y"));
    }

    #[test]
    fn a_crate_has_one_line() {
        let twice = TEXT.replace("| `plan` | plans with `clap` |", "| `plan` | a |\n| `plan` | b |");
        assert!(Architecture::parse(&twice).unwrap_err().ends_with("this crate has a line already"));
    }
}
