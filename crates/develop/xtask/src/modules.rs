//! Which modules of a crate use which others, and where they use each other in a circle.
//!
//! A module is a file. It uses another one where its tokens name it in a path: `crate::a::f()`, `use super::{a, b::C}`, or
//! `a::f()` for a module of its own. A name that the path's module re-exports counts as the module that it is from.
//! Tests and the paths of `pub(in ...)` do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module's path below its crate's root: `["engine", "start"]`; empty for the root.
pub type ModulePath = Vec<String>;

/// The modules of one crate.
#[derive(Debug, Default)]
pub struct Modules {
    uses: BTreeMap<ModulePath, BTreeSet<ModulePath>>,
}

/// A file's own paths, not resolved yet.
#[derive(Debug, Default)]
struct Found {
    paths: Vec<Vec<String>>,
    /// Name and path of what a `pub use` makes a name of this module.
    reexports: BTreeMap<String, Vec<String>>,
    /// Modules that exist in tests only.
    of_tests: Vec<String>,
}

impl Modules {
    /// Reads a crate from its files: path below `src`, and text.
    pub fn of(files: &[(String, String)]) -> Result<Modules, String> {
        let mut found = BTreeMap::new();
        for (path, text) in files.iter().filter(|(path, _)| !path.starts_with("bin/")) {
            let tokens = TokenStream::from_str(text).map_err(|e| format!("{path}: {e}"))?;
            let mut of_file = Found::default();
            of_file.read(tokens);
            found.insert(module_of(path), of_file);
        }
        let of_tests: Vec<ModulePath> =
            found.iter().flat_map(|(module, f)| f.of_tests.iter().map(|name| child(module, name))).collect();
        found.retain(|module, _| !of_tests.iter().any(|test| module.starts_with(test)));
        let uses = found.iter().map(|(module, of_file)| {
            let targets = of_file.paths.iter().filter_map(|path| resolve(&found, module, path, 0));
            (module.clone(), targets.filter(|target| target != module).collect())
        });
        Ok(Modules { uses: uses.collect() })
    }

    /// The modules that a module uses.
    pub fn used_by(&self, module: &[&str]) -> Vec<String> {
        let module: ModulePath = module.iter().map(|&name| name.to_owned()).collect();
        self.uses.get(&module).into_iter().flatten().map(|path| shown(path)).collect()
    }

    /// The circles: modules each of which reaches every other one, the largest circle first.
    pub fn circles(&self) -> Vec<Vec<ModulePath>> {
        let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
            self.uses.keys().map(|module| (module, self.reached(module))).collect();
        let mut circles = BTreeSet::new();
        for (module, targets) in &reached {
            let circle: Vec<ModulePath> =
                targets.iter().filter(|other| reached[*other].contains(*module)).map(|&path| path.clone()).collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        let mut circles: Vec<_> = circles.into_iter().collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    /// The circles that are more than a module and its own children, each of which may use what its parent has: circles
    /// between siblings, or between distant relatives.
    pub fn tangles(&self) -> Vec<Vec<ModulePath>> {
        self.circles().into_iter().filter(|circle| !self.is_family(circle)).collect()
    }

    fn is_family(&self, circle: &[ModulePath]) -> bool {
        // The shortest path comes first.
        let Some(parent) = circle.iter().min_by_key(|path| path.len()) else { return true };
        let is_child = |path: &ModulePath| path.len() == parent.len() + 1 && path.starts_with(parent);
        let children: Vec<&ModulePath> = circle.iter().filter(|path| *path != parent).collect();
        let without_parent = Modules {
            uses: self
                .uses
                .iter()
                .filter(|(module, _)| children.contains(module))
                .map(|(module, targets)| {
                    (module.clone(), targets.iter().filter(|t| children.contains(t)).cloned().collect())
                })
                .collect(),
        };
        children.iter().all(|path| is_child(path)) && without_parent.circles().is_empty()
    }

    fn reached<'a>(&'a self, from: &'a ModulePath) -> BTreeSet<&'a ModulePath> {
        let mut reached = BTreeSet::new();
        let mut queue: Vec<&ModulePath> = self.uses[from].iter().collect();
        while let Some(module) = queue.pop() {
            if reached.insert(module) {
                queue.extend(&self.uses[module]);
            }
        }
        reached
    }
}

/// How a module is written: `crate::engine::start`.
pub fn shown(path: &[String]) -> String {
    std::iter::once("crate").chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join("::")
}

fn module_of(path: &str) -> ModulePath {
    let path = Path::new(path).with_extension("");
    let mut names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

fn child(module: &ModulePath, name: &str) -> ModulePath {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The module that a path leads to, as seen from a module; nothing if it leads out of the crate.
fn resolve(found: &BTreeMap<ModulePath, Found>, from: &ModulePath, path: &[String], depth: u8) -> Option<ModulePath> {
    let mut segments = path.iter().peekable();
    let mut at = from.clone();
    match segments.peek()?.as_str() {
        "crate" => {
            segments.next();
            at.clear();
        }
        "self" => {
            segments.next();
        }
        "super" => {
            while segments.next_if(|s| *s == "super").is_some() {
                at.pop()?;
            }
        }
        first => {
            if !found.contains_key(&child(&at, first)) {
                return None;
            }
        }
    }
    while let Some(segment) = segments.peek() {
        let inner = child(&at, segment);
        if !found.contains_key(&inner) {
            break;
        }
        at = inner;
        segments.next();
    }
    // A name that the module has from elsewhere; a re-export of a re-export ends somewhere.
    if let Some(name) = segments.next()
        && at != *from
        && depth < 8
        && let Some(reexported) = found[&at].reexports.get(name)
        && let Some(target) = resolve(found, &at, reexported, depth + 1)
    {
        return Some(target);
    }
    Some(at)
}

impl Found {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut at, mut public, mut of_test) = (0, false, false);
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Punct(p) if p.as_char() == '#' => {
                    if let Some(TokenTree::Group(group)) = tokens.get(at + 1) {
                        of_test |= group.stream().to_string().replace(' ', "") == "cfg(test)";
                        at += 1;
                    }
                }
                TokenTree::Ident(ident) if *ident == "pub" => {
                    public = true;
                    if matches!(tokens.get(at + 1), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis)
                    {
                        at += 1;
                    }
                }
                TokenTree::Ident(ident) if *ident == "mod" && of_test => {
                    if let Some(TokenTree::Ident(name)) = tokens.get(at + 1) {
                        self.of_tests.push(name.to_string());
                    }
                    // Its name, and its body or the semicolon.
                    at += 2;
                    (public, of_test) = (false, false);
                }
                TokenTree::Ident(ident) if *ident == "use" => {
                    let end = (at..tokens.len()).find(|&i| is_punct(&tokens[i], ';')).unwrap_or(tokens.len());
                    if !of_test {
                        self.read_use(&tokens[at + 1..end], &[], public);
                    }
                    at = end;
                    (public, of_test) = (false, false);
                }
                TokenTree::Ident(_) => {
                    let (path, next) = path_at(&tokens, at);
                    if path.len() > 1 {
                        self.paths.push(path);
                    }
                    at = next - 1;
                    public = false;
                }
                TokenTree::Group(group) => {
                    self.read(group.stream());
                    (public, of_test) = (false, false);
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// A `use` tree below `prefix`.
    fn read_use(&mut self, tokens: &[TokenTree], prefix: &[String], public: bool) {
        for item in tokens.split(|token| is_punct(token, ',')) {
            let (mut path, mut next) = (prefix.to_vec(), 0);
            if matches!(item.first(), Some(TokenTree::Ident(_))) {
                let (own, after) = path_at(item, 0);
                path.extend(own);
                next = after;
            }
            let group = item[next..].iter().find_map(|token| match token {
                TokenTree::Group(group) => Some(group.stream().into_iter().collect::<Vec<_>>()),
                _ => None,
            });
            if let Some(inner) = group {
                self.read_use(&inner, &path, public);
                continue;
            }
            let renamed = item.iter().rev().take(1).find_map(|token| match token {
                TokenTree::Ident(ident) => Some(ident.to_string()),
                _ => None,
            });
            if path.last().is_some_and(|name| name == "self") && path.len() > 1 {
                path.pop();
            }
            if let (true, Some(name)) = (public, renamed) {
                self.reexports.insert(name, path.clone());
            }
            if !path.is_empty() {
                self.paths.push(path);
            }
        }
    }
}

/// The identifiers from `at` on that `::` joins, and where the path ends.
fn path_at(tokens: &[TokenTree], at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    let mut next = at;
    while let Some(TokenTree::Ident(ident)) = tokens.get(next) {
        path.push(ident.to_string());
        next += 1;
        if !(tokens.get(next).is_some_and(|t| is_punct(t, ':'))
            && tokens.get(next + 1).is_some_and(|t| is_punct(t, ':')))
        {
            break;
        }
        next += 2;
    }
    (path, next)
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Modules {
        let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Modules::of(&files).unwrap()
    }

    #[test]
    fn a_module_uses_what_its_paths_name() {
        let found = modules(&[
            ("main.rs", "mod a; mod b; mod c; mod d; pub use d::D; fn main() { a::run(\"crate::b\") }"),
            (
                "a.rs",
                "mod inner;\npub(in crate::b) use self::inner::X;\n// crate::b\nuse crate::{c::{self, C as E}, D};",
            ),
            ("a/inner.rs", "fn f() { let v = vec![super::super::b::x()]; }\n#[cfg(test)]\nmod tests { use crate::d; }"),
            ("b.rs", "fn f() { c.crate_(); std::a::b() }\n#[cfg(test)]\nuse crate::c;"),
            ("c.rs", "#[cfg(test)]\nmod tests;"),
            ("c/tests.rs", "use crate::a;"),
            ("d.rs", "pub struct D;"),
        ]);
        assert_eq!(found.used_by(&[]), ["crate::a", "crate::d"]);
        assert_eq!(found.used_by(&["a"]), ["crate::a::inner", "crate::c", "crate::d"]);
        assert_eq!(found.used_by(&["a", "inner"]), ["crate::b"]);
        assert_eq!(found.used_by(&["b"]), [""; 0]);
        assert_eq!(found.circles(), [[[""; 0]; 0]; 0]);
    }

    #[test]
    fn a_parent_and_its_children_may_use_each_other_but_siblings_may_not() {
        let family = modules(&[
            ("lib.rs", "mod a; mod b; fn f() { a::f(); b::f() }"),
            ("a.rs", "use crate::b; use crate::f;"),
            ("b.rs", "use crate::f;"),
        ]);
        assert_eq!(family.circles().iter().map(Vec::len).collect::<Vec<_>>(), [3]);
        assert!(family.tangles().is_empty());
        let tangle = modules(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b;"), ("b.rs", "use crate::a;")]);
        assert_eq!(tangle.tangles(), [[["a".to_owned()], ["b".to_owned()]]]);
        let distant =
            modules(&[("lib.rs", "mod a; fn f() { a::b::f() }"), ("a.rs", "mod b;"), ("a/b.rs", "use crate::f;")]);
        assert_eq!(distant.tangles().len(), 1);
    }
}
