//! Reading all that the flags name.

use std::path::{Path, PathBuf};

use go_yaml::{Node, Origin, Parsed, Source, Value, read};
use interpolation::{Failure, Kind, parse_assignment, parse_value};
use ops_file::{FIELDS, Operation, unknown_fields};
use problem::{Place, Problem, Problems, Result, code, did_you_mean};

use crate::braces;
use crate::documents::{Document, Documents, VariableTexts};
use crate::flags::{Configs, Inputs};
use crate::packed;
use crate::parts::Part;
use crate::places::Sources;
use crate::store::{StoreFile, StorePaths};

/// What the flags name, read and checked.
pub(crate) struct Files {
    pub(crate) manifest: Node,
    /// Each config with its file's name: runtime configs, then cloud configs.
    pub(crate) configs: Vec<(String, Node)>,
    /// Each operation with its number in its file, from 0, and the file's name.
    pub(crate) operations: Vec<(usize, String, Operation)>,
    pub(crate) values: interpolation::Sources,
    pub(crate) store: Option<StoreFile>,
    pub(crate) sources: Sources,
}

/// Collects problems while files are read.
#[derive(Default)]
struct Reader {
    sources: Sources,
    problems: Vec<Problem>,
    values: interpolation::Sources,
}

impl Files {
    /// Reads everything that the flags name; `manifest` is the manifest's text, or the problems with reading it.
    ///
    /// `parts` are files whose documents become parts of the manifest.
    pub(crate) fn read(
        inputs: &Inputs,
        configs: &Configs,
        name: &str,
        manifest: Result<Vec<u8>>,
        parts: &[Part],
    ) -> Result<Files> {
        let mut reader = Reader { sources: Sources::new(inputs.strict), ..Reader::default() };
        let mut manifest = match manifest {
            Ok(text) => reader.parse(name.to_owned(), &text, "the manifest", Parsed::node),
            Err(problems) => {
                reader.problems.extend(problems.into_vec());
                None
            }
        };
        for part in parts {
            if let (Some(value), Some(manifest)) = (reader.document(part.file, part.what, Parsed::node), &mut manifest)
            {
                part.place(manifest, value);
            }
        }
        let mut operations = Vec::new();
        for path in &inputs.ops_files {
            operations.extend(reader.operations(path));
        }
        for path in &inputs.vars_files {
            reader.vars_file(path);
        }
        for prefix in &inputs.vars_env {
            reader.environment(prefix);
        }
        for text in &inputs.var_files {
            reader.var_file(text);
        }
        for text in &inputs.vars {
            reader.var(text);
        }
        let mut read_config =
            |path: &PathBuf| Some((path.display().to_string(), reader.document(path, CONFIG, Parsed::node)?));
        let configs = configs.files().filter_map(&mut read_config).collect();
        let store = inputs.vars_store.as_deref().map(|path| {
            let path = expanded(path);
            StoreFile::read_as(StorePaths::from(path.as_path()), &mut reader.sources)
        });
        let Reader { sources, mut problems, values } = reader;
        let store = match store.transpose() {
            Ok(store) => store,
            Err(found) => {
                problems.extend(found.into_vec());
                None
            }
        };
        let merged = values.merge().map_err(|failures| sources.problems(failures));
        match (manifest, merged) {
            (Some(manifest), Ok(values)) if problems.is_empty() => {
                Ok(Files { manifest, configs, operations, values, store, sources })
            }
            (_, merged) => {
                problems.extend(merged.err().map(Problems::into_vec).unwrap_or_default());
                Err(Problems::check(problems).err().unwrap_or_else(|| Problem::internal("no manifest was read").into()))
            }
        }
    }
}

/// What messages call a runtime config or a cloud config.
const CONFIG: &str = "the config";

/// The manifest and the configs as they are; warns as if they were interpolated.
pub(crate) fn unchanged(configs: &Configs, name: &str, manifest: Result<Vec<u8>>, strict: bool) -> Result<Documents> {
    let mut reader = Reader { sources: Sources::new(strict), ..Reader::default() };
    let mut documents = |paths: &[PathBuf]| -> Vec<Document> {
        let document = |path: &PathBuf| {
            let name = path.display().to_string();
            let text = reader.bytes(path, &format!("cannot read {CONFIG} {name}"))?;
            reader.warn_of_unread(&name, &text);
            Some(Document::of_file(name, text))
        };
        paths.iter().filter_map(document).collect()
    };
    let (runtime_configs, cloud_configs) = (documents(&configs.runtime_configs), documents(&configs.cloud_configs));
    match manifest {
        Ok(text) => {
            reader.warn_of_unread(name, &text);
            Problems::check(reader.problems)?;
            let (manifest, variables) = (Document::of_file(name, text), VariableTexts::default());
            Ok(Documents { manifest, runtime_configs, cloud_configs, variables })
        }
        Err(problems) => {
            let mut problems = problems.into_vec();
            problems.extend(reader.problems);
            Err(Problems::check(problems).err().unwrap_or_else(|| Problem::internal("no manifest was read").into()))
        }
    }
}

impl Reader {
    /// A document; `None` after a problem.
    fn document<T>(
        &mut self,
        path: &Path,
        what: &str,
        read: impl Fn(&Parsed) -> std::result::Result<T, go_yaml::Error>,
    ) -> Option<T> {
        let name = path.display().to_string();
        let text = self.bytes(path, &format!("cannot read {what} {name}"))?;
        self.parse(name, &text, what, read)
    }

    fn parse<T>(
        &mut self,
        name: String,
        text: &[u8],
        what: &str,
        read: impl Fn(&Parsed) -> std::result::Result<T, go_yaml::Error>,
    ) -> Option<T> {
        let source = self.sources.add(name);
        let read = go_yaml::parse(text, source).and_then(|parsed| Ok((read(&parsed)?, parsed.doubtful_input())));
        let (document, doubtful_input) =
            read.map_err(|e| self.invalid(&format!("{what} is not valid YAML"), &e, braces::hint(text, &e))).ok()?;
        self.warn_of_doubtful(doubtful_input);
        Some(document)
    }

    fn warn_of_doubtful(&mut self, input: Vec<(String, Origin)>) {
        self.warn(input.into_iter().map(|(message, origin)| Failure::new(message, origin)).collect());
    }

    fn warn(&mut self, warnings: Vec<Failure>) {
        self.problems.extend(self.sources.warn(warnings).err().map(Problems::into_vec).unwrap_or_default());
    }

    /// Warns of what is lost when a document is read. One that is not valid is another reader's to refuse.
    fn warn_of_unread(&mut self, name: &str, text: &[u8]) {
        let source = self.sources.add(name.to_owned());
        if let Ok(parsed) = go_yaml::parse(text, source) {
            self.warn_of_doubtful(parsed.doubtful_input());
        }
    }

    fn bytes(&mut self, path: &Path, message: &str) -> Option<Vec<u8>> {
        let problem = |e| Problem::input(message).because(e).code(code::INPUT_FILE);
        packed::read(path).map_err(|e| self.problems.push(problem(e))).ok()
    }

    fn invalid(&mut self, message: &str, error: &go_yaml::Error, hint: Option<String>) {
        let mut problem = Problem::input(message).because(error).code(code::YAML_INVALID);
        problem.place = self.sources.place(error.origin);
        problem.hint = hint;
        self.problems.push(problem);
    }

    fn operations(&mut self, path: &Path) -> Vec<(usize, String, Operation)> {
        let name = path.display().to_string();
        let Some(document) = self.document(path, "the ops file", Parsed::node) else {
            return Vec::new();
        };
        for (field, origin) in unknown_fields(&document) {
            let message = format!("the field '{}' of an operation has no effect", field.escape_debug());
            let mut warning = Failure::new(message, origin);
            warning.hint = did_you_mean(&field, FIELDS).map(|name| format!("did you mean '{name}'?"));
            self.warn(vec![warning]);
        }
        match ops_file::parse(&document) {
            Ok(operations) => operations
                .into_iter()
                .enumerate()
                .map(|(number, operation)| (number, name.clone(), operation))
                .collect(),
            Err(e) => {
                let mut problem = Problem::input(format!("Building ops: {e}")).code(code::OPS_INVALID);
                problem.place = self.sources.place(e.origin).or_else(|| Some(Place::file(name)));
                self.problems.push(problem);
                Vec::new()
            }
        }
    }

    fn vars_file(&mut self, path: &Path) {
        let Some(values) = self.document(path, "the variables file", Parsed::names) else { return };
        for (key, value) in values {
            self.values.add(Kind::File, key.as_str().unwrap_or_default(), value);
        }
    }

    fn environment(&mut self, prefix: &str) {
        if prefix.is_empty() {
            self.problems.push(Problem::usage("Expected environment variable prefix to be non-empty"));
            return;
        }
        let start = format!("{prefix}_");
        for (name, value) in std::env::vars_os() {
            let Some(variable) = name.to_str().and_then(|name| name.strip_prefix(&start)) else { continue };
            let shown = format!("Deserializing YAML from environment variable '{start}{variable}'");
            match read(value.as_encoded_bytes(), Source::default()) {
                Ok(node) => self.values.add(Kind::Environment, variable, Node::new(node.value)),
                Err(e) => self.problems.push(Problem::input(shown).because(e).code(code::YAML_INVALID)),
            }
        }
    }

    fn var_file(&mut self, text: &str) {
        let Some((name, path)) = self.assignment(text, "path") else { return };
        let path = expanded(Path::new(path));
        let message = format!("Reading variable from file '{}'", path.display());
        let Some(content) = self.bytes(&path, &message) else { return };
        let value = String::from_utf8(content).map_or_else(|e| Value::Binary(e.into_bytes()), Value::String);
        let source = self.sources.add(path.display().to_string());
        self.values.add(Kind::FileContent, name, Node { value, origin: Origin { source, line: 1, column: 1 } });
    }

    fn var(&mut self, text: &str) {
        let Some((name, value)) = self.assignment(text, "value") else { return };
        match parse_value(value) {
            Ok(node) => self.values.add(Kind::Flag, name, node),
            Err(e) => self.problems.push(Problem::usage(format!("Deserializing variable '{name}'")).because(e)),
        }
    }

    fn assignment<'a>(&mut self, text: &'a str, second: &str) -> Option<(&'a str, &'a str)> {
        parse_assignment(text, second).map_err(|message| self.problems.push(Problem::usage(message))).ok()
    }
}

/// A path in whose place a shell does not put the home directory, because of what is before it.
pub(crate) fn expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}
