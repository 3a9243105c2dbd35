//! The sources of the workspace, and what of a source file is code.

use std::path::Path;

use walkdir::WalkDir;

/// A text file of the workspace.
pub struct Source {
    /// Its path below the workspace's directory.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// The Rust files of the workspace.
pub fn rust() -> Result<Vec<Source>, String> {
    let mut files = all()?;
    files.retain(|f| f.path.ends_with(".rs"));
    Ok(files)
}

/// All text files of the workspace; what git does not know by design (`target`, dot directories) is left out.
pub fn all() -> Result<Vec<Source>, String> {
    let root = crate::root();
    let mut files = Vec::new();
    let wanted = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !(entry.file_type().is_dir() && (name == "target" || name == ".git"))
    };
    for entry in WalkDir::new(&root).sort_by_file_name().into_iter().filter_entry(wanted) {
        let entry = entry.map_err(|e| e.to_string())?;
        if !entry.file_type().is_file() {
            continue;
        }
        let bytes = std::fs::read(entry.path()).map_err(|e| format!("{}: {e}", entry.path().display()))?;
        if let Ok(text) = String::from_utf8(bytes) {
            let path = entry.path().strip_prefix(&root).unwrap_or(Path::new("")).to_string_lossy().into_owned();
            files.push(Source { path, text });
        }
    }
    Ok(files)
}

/// The code of a Rust file that ends up in the product: comments, the insides of string literals and the tests at the
/// file's end are gone, and so is white space that only lays out.
pub fn code(text: &str) -> String {
    let shipped = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    squeeze(&strip(shipped))
}

/// `text` without comments and without what string literals contain.
fn strip(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
        } else if let Some(hashes) = raw_string(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let inside = &rest[hashes + 2..];
            rest = inside.find(&end).map_or("", |at| &inside[at + end.len()..]);
            out.push_str("\"\"");
        } else if c == '"' {
            rest = after_string(&rest[1..]);
            out.push_str("\"\"");
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest = &rest[rest.len().min(if rest.starts_with("'\"'") { 3 } else { 4 })..];
            out.push_str("''");
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// The number of `#` where a raw string starts.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then_some(hashes)
}

/// What follows the string literal whose inside `text` starts with.
fn after_string(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

/// White space goes, except between two words, where one space stays.
fn squeeze(text: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut pending = false;
    for c in text.chars() {
        if c.is_whitespace() {
            pending = true;
            continue;
        }
        if pending && word(c) && out.ends_with(word) {
            out.push(' ');
        }
        pending = false;
        out.push(c);
    }
    out
}

/// Whether code (as [`code`] gives it) names a path such as `std::fs`, be it inside a grouped `use`; or any other text
/// as a whole word.
pub fn names(code: &str, wanted: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |code: &str, wanted: &str| {
        code.match_indices(wanted).any(|(at, _)| {
            let before = code[..at].chars().next_back();
            let after = code[at + wanted.len()..].chars().next();
            let goes_on_before = wanted.starts_with(word) && before.is_some_and(|c| word(c) || c == '#');
            let goes_on_after = wanted.ends_with(word) && after.is_some_and(word);
            !(goes_on_before || goes_on_after)
        })
    };
    if whole(code, wanted) {
        return true;
    }
    let Some((parent, child)) = wanted.rsplit_once("::") else { return false };
    code.split(&format!("use {parent}::{{")).skip(1).any(|group| {
        let end = group.find(';').unwrap_or(group.len());
        whole(&group[..end], child)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_tests_are_removed() {
        let text = "// unsafe\n/* unsafe */ let a = \"unsafe \\\" unsafe\"; let b = r#\"unsafe\"#;\n\
                    let q = '\"'; let c  =  1;\n#[cfg(test)]\nmod tests { unsafe {} }\n";
        assert_eq!(code(text), "let a=\"\";let b=\"\";let q='';let c=1;");
    }

    #[test]
    fn a_path_is_found_in_a_group_too() {
        for text in ["use std::fs;", "use std::{fmt, fs};", "use std::{\n    fs::{self, File},\n};", "std::fs::read(x)"]
        {
            assert!(names(&code(text), "std::fs"), "{text}");
        }
        for text in ["use std::{fmt, str};", "use mystd::fsync;", "let std_fs = 1;", "std::fsx()"] {
            assert!(!names(&code(text), "std::fs"), "{text}");
        }
        assert!(names(&code("unsafe { x() }"), "unsafe"));
        assert!(!names(&code("deny(unsafe_code); config.r#unsafe"), "unsafe"));
    }
}
