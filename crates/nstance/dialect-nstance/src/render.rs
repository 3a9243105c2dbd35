//! All that is rendered for an instance of a group: args, vars, userdata and files.

use problem::{Place as ProblemPlace, Problem, Problems, Result};
use template::RenderedFile;

use crate::args;
use crate::configuration::{Configuration, File, FileKind, Group};
use crate::document::{Data, Node, Object};
use crate::engine::{Engine, Images, Place, Settings};
use crate::instance::Instance;
use crate::json;
use crate::layers::merged;
use crate::levels::Levels;
use crate::report::{Report, Warning, element, member};
use crate::userdata::{Source, Userdata};

/// More userdata than AWS accepts, in bytes.
const AWS_USERDATA: usize = 16 * 1024;

/// What is rendered for an instance, in memory.
#[derive(Debug)]
pub struct Rendered {
    /// `args.json`, `vars.json`, `userdata` if one is configured, and `files/NAME`.
    pub files: Vec<RenderedFile>,
    /// What looks wrong.
    pub warnings: Vec<Warning>,
}

/// What a group is rendered from, in addition to its configuration.
#[derive(Clone, Copy)]
pub struct Inputs<'i> {
    /// The instance.
    pub instance: &'i Instance,
    /// The ids of the configured images.
    pub images: &'i Images,
    /// What is at a URL; `None` if the download failed, which the caller reports.
    pub download: &'i dyn Fn(&str) -> Option<&'i [u8]>,
    /// How templates are executed.
    pub settings: Settings,
}

/// Userdata that is to be downloaded.
pub struct UserdataUrl<'c> {
    /// Its URL, which may contain secrets.
    pub url: &'c str,
    /// The path of the URL in the configuration.
    pub path: String,
    /// Its place.
    pub place: ProblemPlace,
}

/// The userdata of a group, if it is to be downloaded.
pub fn userdata_url<'c>(configuration: &'c Configuration, group: &Group) -> Option<UserdataUrl<'c>> {
    let userdata = userdata_of(configuration, group).filter(|userdata| userdata.source == Source::Url)?;
    let url = userdata.content.as_str()?;
    Some(UserdataUrl { url, path: member(&userdata.path, "content"), place: userdata.content.position.place() })
}

fn userdata_of<'c>(configuration: &'c Configuration, group: &Group) -> Option<&'c Userdata> {
    let of_template = configuration.template_of(group).and_then(|template| template.userdata.as_ref());
    of_template.or(configuration.userdata.as_ref())
}

/// Renders all of a group's instance.
///
/// # Errors
/// All problems of args, userdata and files.
pub fn render(configuration: &Configuration, group: &Group, inputs: Inputs<'_>) -> Result<Rendered> {
    let levels = Levels::of(configuration, group, inputs.instance);
    let (args, vars) = (merged(&levels.args), merged(&levels.vars));
    let engine = Engine::new(configuration, group, inputs.instance, &vars, inputs.images, inputs.settings);
    let mut report = Report::default();
    args::check(engine.field("Provider", "Kind"), &args, &mut report);
    let Report { mut problems, mut warnings } = report;
    let mut files = vec![
        file("args.json", json::pretty(&render_object(&engine, "args", "args", &args, &mut problems))),
        file("vars.json", json::pretty(&vars)),
    ];
    if let Some(userdata) = userdata_of(configuration, group) {
        match render_userdata(&engine, userdata, inputs) {
            Ok(Some(content)) => {
                if content.len() > AWS_USERDATA && engine.field("Provider", "Kind") == "aws" {
                    let message = format!("{}: aws accepts no more than 16 KiB", userdata.path);
                    warnings.push(Warning { message, place: userdata.content.position.place() });
                }
                files.push(file("userdata", content));
            }
            Ok(None) => {}
            Err(failed) => problems.extend(failed.into_vec()),
        }
    }
    for configured in configuration.template_of(group).map(|template| &template.files[..]).unwrap_or_default() {
        if let Some(content) = render_file(&engine, configured, &mut problems) {
            files.push(file(format!("files/{}", configured.name), content));
        }
    }
    Problems::check(problems)?;
    Ok(Rendered { files, warnings })
}

fn file(path: impl Into<String>, content: Vec<u8>) -> RenderedFile {
    RenderedFile { path: path.into(), content }
}

/// The userdata; `None` if its template could not be downloaded.
fn render_userdata(engine: &Engine<'_>, userdata: &Userdata, inputs: Inputs<'_>) -> Result<Option<Vec<u8>>> {
    let content = userdata.content.as_str().unwrap_or_default();
    let path = member(&userdata.path, "content");
    let position = &userdata.content.position;
    let is_url = userdata.source == Source::Url;
    let encoded = if is_url { (inputs.download)(content) } else { Some(content.as_bytes()) };
    let Some(encoded) = encoded else { return Ok(None) };
    let text = userdata.decode(encoded, inputs.settings.inflated_limit).map_err(|why| {
        let message = format!("{path}: cannot decode the userdata: {why}");
        let problem = if is_url { Problem::internal(message) } else { Problem::input(message) };
        problem.at(position.place())
    })?;
    engine.render(&Place { name: "userdata", path: &path, position }, &text).map(Some)
}

fn render_file(engine: &Engine<'_>, file: &File, problems: &mut Vec<Problem>) -> Option<Vec<u8>> {
    let path = member(&file.path, "template");
    match &file.kind {
        FileKind::Env(template) => Some(render_env(engine, &file.name, &path, template.as_object()?, problems)),
        FileKind::Json(template) => {
            Some(json::pretty(&render_object(engine, &file.name, &path, template.as_object()?, problems)))
        }
        FileKind::String(template) => {
            let place = Place { name: &file.name, path: &path, position: &template.position };
            kept(engine.render(&place, template.as_str()?.as_bytes()), problems)
        }
        FileKind::Other => None,
    }
}

/// A result; a problem is collected.
fn kept<T>(result: Result<T>, problems: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|failed| problems.extend(failed.into_vec())).ok()
}

/// An object whose strings are templates. Keys and all other values stay.
fn render_object(engine: &Engine<'_>, name: &str, path: &str, members: &Object, problems: &mut Vec<Problem>) -> Object {
    let one =
        |(key, node): (&String, &Node)| (key.clone(), render_node(engine, name, &member(path, key), node, problems));
    members.iter().map(one).collect()
}

fn render_node(engine: &Engine<'_>, name: &str, path: &str, node: &Node, problems: &mut Vec<Problem>) -> Node {
    let data = match &node.data {
        Data::String(text) => {
            let place = Place { name, path, position: &node.position };
            let rendered = kept(engine.render(&place, text.as_bytes()), problems).unwrap_or_default();
            Data::String(json::lossy(&rendered))
        }
        Data::List(items) => {
            let items = items.iter().enumerate();
            Data::List(
                items.map(|(index, item)| render_node(engine, name, &element(path, index), item, problems)).collect(),
            )
        }
        Data::Object(members) => Data::Object(render_object(engine, name, path, members, problems)),
        other => other.clone(),
    };
    Node { position: node.position.clone(), data }
}

/// Lines of `KEY=value`, in the configuration's order.
fn render_env(engine: &Engine<'_>, name: &str, path: &str, members: &Object, problems: &mut Vec<Problem>) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, node) in members {
        let path = member(path, key);
        let place = Place { name, path: &path, position: &node.position };
        let rendered = engine.render(&place, node.as_str().unwrap_or_default().as_bytes());
        let Some(value) = kept(rendered, problems) else { continue };
        if value.contains(&0) {
            let message = format!("{path}: the value has a zero byte, which no variable can hold");
            problems.push(Problem::template(message).at(node.position.place()));
            continue;
        }
        out.extend_from_slice(key.as_bytes());
        out.push(b'=');
        push_env_value(&mut out, &value);
        out.push(b'\n');
    }
    out
}

/// A value as POSIX shells and systemd read it: bare, or in double quotes.
fn push_env_value(out: &mut Vec<u8>, value: &[u8]) {
    let is_bare = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./:@%+,=-".contains(byte);
    if value.iter().all(is_bare) {
        out.extend_from_slice(value);
        return;
    }
    out.push(b'"');
    for byte in value {
        if b"\"\\$`".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_values_are_quoted_where_they_must_be() {
        for (value, expected) in [
            ("", ""),
            ("aZ09_./:@%+,=-", "aZ09_./:@%+,=-"),
            ("a b", "\"a b\""),
            ("a\nB=c", "\"a\nB=c\""),
            ("\"\\$`'", "\"\\\"\\\\\\$\\`'\""),
            ("~", "\"~\""),
            ("ü", "\"ü\""),
        ] {
            let mut out = Vec::new();
            push_env_value(&mut out, value.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
