//! YAML documents as BOSH's director reads them.

mod reader;
mod scalar;

use std::rc::Rc;

use problem::{Place, Problem, Problems, Step, code};
use value::Value;
use value::{Encoding, Text};

use crate::vm::{RubyError, Vm};

/// A YAML text and where it is from.
#[derive(Clone)]
pub struct Document {
    /// What messages call it.
    pub file: String,
    /// The bytes.
    pub text: Vec<u8>,
}

/// As many values as a document may have with its aliases written out; the largest public manifests have some 10,000.
const MOST_VALUES: u64 = 5_000_000;

impl Vm {
    /// Loads documents in one call; each is a value or the problem with it.
    ///
    /// # Errors
    /// Only where the VM itself fails.
    pub fn load_yaml(&self, documents: &[Document]) -> problem::Result<Vec<problem::Result<Value>>> {
        let read: Vec<Option<Value>> = documents.iter().map(|d| self.read_here(&d.text)).collect();
        let rare: Vec<&Document> = documents.iter().zip(&read).filter(|(_, v)| v.is_none()).map(|(d, _)| d).collect();
        let mut rare = self.load_all_by_psych(&rare)?.into_iter();
        let lost = || Err(Problem::internal("the embedded Ruby gave no document").into());
        let read = read.into_iter().map(|value| value.map_or_else(|| rare.next().unwrap_or_else(lost), Ok));
        Ok(read.zip(documents).map(|(value, document)| small_enough(value?, document)).collect())
    }

    /// The value of a document that holds nothing rare.
    fn read_here(&self, text: &[u8]) -> Option<Value> {
        reader::read(text, &mut |plain| self.scalar(plain)).ok()
    }

    /// What Psych makes of a plain scalar; `None` where it refuses it.
    fn scalar(&self, plain: &str) -> Option<Value> {
        self.load_reader();
        self.call("scalar", Value::str(plain)).ok()
    }

    fn load_all_by_psych(&self, documents: &[&Document]) -> problem::Result<Vec<problem::Result<Value>>> {
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        self.load_reader();
        let texts = Value::array(documents.iter().map(|d| bytes(&d.text)));
        let loaded = self.call("load_yaml", texts).map_err(|e| e.internal("read YAML"))?;
        let loaded = loaded.as_array().unwrap_or_default();
        Ok(documents
            .iter()
            .zip(loaded)
            .map(|(document, outcome)| match outcome.as_array() {
                Some([Value::Bool(true), value]) => Ok(value.clone()),
                Some([_, facts]) => Err(unreadable(document, &RubyError::from_value(facts)).into()),
                _ => Err(Problem::internal("the embedded Ruby gave no document").into()),
            })
            .collect())
    }

    /// Dumps values as Psych does, each as a document of its own.
    ///
    /// # Errors
    /// Only where the VM itself fails.
    pub fn dump_yaml(&self, values: Vec<Value>) -> problem::Result<Vec<String>> {
        let count = values.len();
        let dumped = self.call("dump_yaml", Value::array(values)).map_err(|e| e.internal("write YAML"))?;
        let texts = dumped.as_array().unwrap_or_default().iter().filter_map(|text| text.as_str().map(str::to_owned));
        let texts: Vec<String> = texts.collect();
        if texts.len() == count {
            Ok(texts)
        } else {
            Err(Problem::internal("the embedded Ruby lost a document").into())
        }
    }

    /// Completes the places of problems that lie in this document: node paths become lines and columns.
    pub fn locate(&self, problems: &mut Problems, document: &Document) {
        let mut places: Vec<&mut Place> = problems
            .iter_mut()
            .flat_map(|p| p.place.iter_mut().chain(p.notes.iter_mut().map(|note| &mut note.place)))
            .filter(|place| place.line.is_none() && place.file == document.file && !place.path.is_empty())
            .collect();
        if places.is_empty() {
            return;
        }
        let paths = Value::array(places.iter().map(|place| {
            Value::array(place.path.iter().map(|step| match step {
                Step::Key(key) => Value::str(key.clone()),
                Step::Index(i) => Value::Int(*i as i64),
            }))
        }));
        // A document that cannot be located keeps its places without lines: the problem itself matters more.
        let Ok(found) = self.call("locate", Value::array([bytes(&document.text), paths])) else { return };
        for (place, position) in places.iter_mut().zip(found.as_array().unwrap_or_default()) {
            if let Some([line, column]) = position.as_array() {
                place.line = line.as_int().and_then(|n| u32::try_from(n).ok());
                place.column = column.as_int().and_then(|n| u32::try_from(n).ok());
            }
        }
    }
}

/// Refuses a document whose aliases expand to too much.
fn small_enough(value: Value, document: &Document) -> problem::Result<Value> {
    if value.written_out() <= MOST_VALUES {
        return Ok(value);
    }
    let problem = Problem::input("too large a YAML document").code(code::YAML_INVALID).at(Place::file(&document.file));
    Err(problem.because(format!("with its aliases written out it has more than {MOST_VALUES} values")).into())
}

fn bytes(text: &[u8]) -> Value {
    Value::Str(Rc::new(Text { bytes: text.to_vec(), encoding: Encoding::Utf8 }))
}

fn unreadable(document: &Document, error: &RubyError) -> Problem {
    let mut place = Place::file(&document.file);
    if let Some((line, column)) = error.position {
        place.line = Some(line.max(1));
        place.column = Some(column.max(1));
    }
    let problem = Problem::input("not a YAML document that BOSH reads").code(code::YAML_INVALID).at(place);
    match error.class.as_str() {
        "Psych::SyntaxError" => problem.because(&error.message),
        // The alias' name is not shown: it is a value that should have stood in quotes more often than a name.
        "Psych::BadAlias" | "Psych::AnchorNotDefined" => problem
            .because("an alias that has no anchor before it")
            .hint("*name stands for what was marked with &name; a value that begins with an asterisk needs quotes"),
        "Boson::Documents::Endless" => problem.because("an alias inside of what it stands for"),
        "Psych::DisallowedClass" => {
            let hint = match error.message.rsplit(' ').next() {
                Some("Date" | "Time") => "a bare date or time is not a plain value in BOSH: put it in quotes",
                _ => "only plain values and Symbols are allowed",
            };
            problem.because(&error.message).hint(hint)
        }
        "SystemStackError" => problem.because("it is nested too deeply"),
        // Other messages (of `!!float x`, for example) quote the value.
        class => problem.because(format!("{class} (the message is not shown, it may hold a value)")),
    }
}

#[cfg(test)]
mod tests;
