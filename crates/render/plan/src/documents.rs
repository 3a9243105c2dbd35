//! The texts that planning reads, and the places of problems in them.

use std::io::ErrorKind;
use std::path::Path;

use manifest_inputs::Document;
use problem::{IoContext, Problem, Problems, Result, code};
use ruby::Vm;
use value::Value;

/// The manifest and the configs.
pub(crate) struct Documents(manifest_inputs::Documents);

/// The values of the documents.
pub(crate) struct Values {
    pub(crate) manifest: Value,
    /// What problems call a config, and its value.
    pub(crate) runtime_configs: Vec<(String, Value)>,
    pub(crate) cloud_configs: Vec<(String, Value)>,
}

impl Documents {
    /// Documents that are read already.
    pub(crate) fn of(documents: manifest_inputs::Documents) -> Documents {
        Documents(documents)
    }

    /// Those that another verb has read into a file.
    pub(crate) fn read_together(path: &Path) -> Result<Documents> {
        let text = vcap::input::read(path).io("read", path)?;
        let invalid = |e| Problem::internal(format!("cannot read {}", path.display())).because(e);
        serde_json::from_slice(&text).map(Documents).map_err(|e| invalid(e).into())
    }

    /// What messages call the manifest.
    pub(crate) fn file(&self) -> &str {
        &self.0.manifest.file
    }

    /// The values, as Ruby reads them.
    ///
    /// # Errors
    /// All documents that are not YAML.
    pub(crate) fn values(&self, vm: &Vm) -> Result<Values> {
        let Documents(documents) = self;
        let texts: Vec<ruby::Document> = documents.iter().map(for_ruby).collect();
        let mut problems = Vec::new();
        let mut values = Vec::new();
        for (document, value) in documents.iter().zip(vm.load_yaml(&texts)?) {
            match value {
                Ok(value) => values.push((document.file.clone(), value)),
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        Problems::check(problems)?;
        let mut runtime_configs = values.split_off(1);
        let cloud_configs = runtime_configs.split_off(documents.runtime_configs.len());
        let manifest = values.pop().map_or(Value::Nil, |(_, value)| value);
        Ok(Values { manifest, runtime_configs, cloud_configs })
    }

    /// Completes the places of problems: files, lines and columns.
    pub(crate) fn locate(&self, vm: &Vm, mut problems: Problems) -> Problems {
        for document in self.0.iter() {
            document.locate(&mut problems);
            if document.is_file() {
                vm.locate(&mut problems, &for_ruby(document));
            }
        }
        problems
    }
}

fn for_ruby(document: &Document) -> ruby::Document {
    ruby::Document { file: document.file.clone(), text: document.text().to_vec() }
}

/// A manifest that cannot be read.
pub(crate) fn refused(name: &str, path: &Path, error: std::io::Error) -> Problems {
    match error.kind() {
        ErrorKind::NotFound => Problem::input(format!("the deployment manifest {name} does not exist"))
            .code(code::MANIFEST_MISSING)
            .hint("give its path with --bosh-manifest-path or BOSH_MANIFEST_PATH")
            .into(),
        // A mistaken path, not a broken machine.
        ErrorKind::IsADirectory | ErrorKind::NotADirectory | ErrorKind::FileTooLarge => {
            Problem::input(format!("{name} is not a deployment manifest"))
                .code(code::MANIFEST_MISSING)
                .because(error)
                .into()
        }
        _ => match Err::<(), _>(error).io("read", path) {
            Err(problems) => problems,
            Ok(()) => Problem::internal(format!("cannot read {name}")).into(),
        },
    }
}
