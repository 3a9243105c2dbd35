//! `render-files explain`: where a value comes from.

use clap::Args;
use dialect_nstance::Levels;
use dialect_nstance::document::Object;
use dialect_nstance::layers::{Origin, merged, origin};
use problem::{Problem, Result, did_you_mean};
use startup::Common;

use crate::inputs::{Inputs, Loaded};
use crate::stdout;

/// The arguments of `explain`.
#[derive(Debug, Args)]
#[command(
    long_about = "Print which level sets a var, an arg or an image, with its file and line, and the lower levels that it \
        shadows. Values are not printed.",
    after_long_help = "Examples:\n\
        \x20\x20render-files explain vars.EXAMPLE --config-path config.json --group red\n\
        \x20\x20render-files explain args.MetadataOptions.HttpTokens --group red\n\
        \x20\x20render-files explain 'args.Labels.\"a.b\"' --group red"
)]
pub(crate) struct Options {
    /// vars.NAME, args.NAME or images.NAME, with further names behind dots; a name with dots stands in double quotes
    #[arg(value_name = "PATH", value_parser = parse_path)]
    path: Path,
    #[command(flatten)]
    inputs: Inputs,
}

/// A path: what it is about, and the names behind that.
#[derive(Debug, Clone)]
struct Path {
    text: String,
    root: Root,
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    Vars,
    Args,
    Images,
}

fn parse_path(text: &str) -> std::result::Result<Path, String> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or("a name in double quotes does not end")?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if name.is_empty() {
            return Err("a name is empty".into());
        }
        names.push(name.to_owned());
        if behind.is_empty() {
            break;
        }
        rest = behind.strip_prefix('.').ok_or("a dot is missing behind a name in double quotes")?;
    }
    let root = match names.remove(0).as_str() {
        "vars" | "Vars" | "var" | "Var" => Root::Vars,
        "args" => Root::Args,
        "images" | "Image" => Root::Images,
        _ => return Err("must begin with vars, args or images".into()),
    };
    match (root, names.len()) {
        (_, 0) => Err("a name is missing, as in vars.NAME".into()),
        (Root::Images, 2..) => Err("an image has one name, as in images.NAME".into()),
        _ => Ok(Path { text: text.to_owned(), root, names }),
    }
}

/// Runs the verb; gives the exit code.
pub(crate) fn run(options: &Options, common: &Common) -> Result<u8> {
    let loaded = options.inputs.load(common)?;
    let path = &options.path;
    let text = match path.root {
        Root::Images => image(&loaded, path)?,
        root => level(&loaded, path, root)?,
    };
    stdout::print(text.as_bytes())?;
    Ok(0)
}

fn level(loaded: &Loaded, path: &Path, root: Root) -> Result<String> {
    let group = loaded.configuration.group(&loaded.instance)?;
    let levels = Levels::of(&loaded.configuration, group, &loaded.instance);
    let layers = if root == Root::Vars { levels.vars } else { levels.args };
    let Some(Origin { set, shadowed }) = origin(&layers, &path.names) else {
        let mut problem = Problem::input(format!("{} is not set", path.text));
        if let Some(similar) = similar(&merged(&layers), &path.names) {
            problem = problem.hint(format!("did you mean '{similar}'?"));
        }
        return Err(problem.into());
    };
    let mut text = String::new();
    let how = if set.len() > 1 { "is merged from" } else { "is set by" };
    for (index, (name, position)) in set.iter().enumerate() {
        let start = if index == 0 { format!("{} {how}", path.text) } else { "  and".to_owned() };
        text.push_str(&format!("{start} {name} at {position}\n"));
    }
    for (name, position) in shadowed {
        text.push_str(&format!("  shadows {name} at {position}\n"));
    }
    Ok(text)
}

/// The name that is probably meant by the first one of a path that does not exist: one that differs in case alone, or else a
/// similar one.
fn similar(members: &Object, names: &[String]) -> Option<String> {
    let (name, rest) = names.split_first()?;
    if let Some(node) = members.get(name) {
        return similar(node.as_object()?, rest);
    }
    let known = || members.keys().map(String::as_str);
    let same = known().find(|known| known.eq_ignore_ascii_case(name));
    same.or_else(|| did_you_mean(name, known())).map(str::to_owned)
}

fn image(loaded: &Loaded, path: &Path) -> Result<String> {
    let name = &path.names[0];
    let given = loaded.instance.images.get(name);
    let configured = loaded.configuration.images.get(name);
    Ok(match (given, configured) {
        (Some(node), configured) => {
            let mut text = format!("{} is set by images of the instance document at {}\n", path.text, node.position);
            if let Some(image) = configured {
                text.push_str(&format!("  shadows images at {}\n", image.position));
            }
            text
        }
        (None, Some(image)) => {
            let fallback = if image.fallback.is_some() { "with" } else { "without" };
            format!("{} is looked up by images at {}, {fallback} a fallback\n", path.text, image.position)
        }
        (None, None) => {
            let mut problem = Problem::input(format!("{} is not configured", path.text));
            let known = loaded.configuration.images.keys().chain(loaded.instance.images.keys());
            if let Some(similar) = did_you_mean(name, known.map(String::as_str)) {
                problem = problem.hint(format!("did you mean '{similar}'?"));
            }
            return Err(problem.into());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_names_behind_dots() {
        let names = |text: &str| parse_path(text).map(|path| path.names.join("|"));
        assert_eq!(names("vars.A").as_deref(), Ok("A"));
        assert_eq!(names("args.A.b.c").as_deref(), Ok("A|b|c"));
        assert_eq!(names("args.\"a.b\".c").as_deref(), Ok("a.b|c"));
        assert_eq!(names("images.debian-13").as_deref(), Ok("debian-13"));
        for bad in ["", "vars", "vars.", "vars..a", "x.y", "images.a.b", "args.\"a", "args.\"a\"b", "args.\"\""] {
            assert!(parse_path(bad).is_err(), "{bad}");
        }
    }
}
