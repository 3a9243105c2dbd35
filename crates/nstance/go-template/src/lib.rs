//! Go's text/template as Go 1.26 has it: the language alone.
//!
//! Templates and data are bytes. Output and messages are Go's, byte for byte; where Go's depend on addresses in memory
//! (`%p`) they are always the same here. Nothing is read or written: a caller gives the text and the data, and bounds for
//! output, memory and time ([`Bounds`]). Neither the nesting of a template nor that of data takes stack.
//!
//! ```
//! use go_template::{Delimiters, Map, Options, Template, Value};
//!
//! let template = Template::parse("greeting", "Hello {{.name}}!", &Delimiters::default())?;
//! let data = Value::Map(Map::new([(Box::from(&b"name"[..]), Value::from("world"))]));
//! assert_eq!(template.execute(&data, &Options::default())?, b"Hello world!");
//!
//! let template = Template::parse("greeting", "Hello {{.name.first}}!", &Delimiters::default())?;
//! let error = template.execute(&data, &Options::default()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     r#"template: greeting:1:13: executing "greeting" at <.name.first>: can't evaluate field first in type interface {}"#
//! );
//! # Ok::<(), Box<go_template::Error>>(())
//! ```

mod code;
mod context;
mod error;
mod escape;
mod exec;
mod fmt;
mod json;
mod key_index;
mod lexer;
mod message;
mod number;
mod parse;
mod token;
mod unused;
mod value;

pub use error::{Error, Stage};
pub use exec::{Bounds, MissingKey, Options};
pub use json::{JsonError, Numbers};
pub use token::Delimiters;
pub use value::{Elements, Field, List, Map, Struct, StructType, Value};

/// A parsed template, with all that its text defines.
#[derive(Debug)]
pub struct Template {
    program: code::Program,
}

impl Template {
    /// Parses a text as the template `name`, which messages show.
    pub fn parse(name: impl AsRef<[u8]>, text: impl AsRef<[u8]>, delimiters: &Delimiters) -> Result<Self, Box<Error>> {
        parse::parse(name.as_ref(), text.as_ref(), delimiters).map(|program| Template { program })
    }

    /// Executes it with this data as dot, and returns what it writes.
    pub fn execute(&self, data: &Value, options: &Options<'_>) -> Result<Vec<u8>, Box<Error>> {
        let mut out = Vec::new();
        self.execute_into(data, options, &mut out)?;
        Ok(out)
    }

    /// The same, behind what `out` holds; if it fails, `out` keeps what was written before.
    pub fn execute_into(&self, data: &Value, options: &Options<'_>, out: &mut Vec<u8>) -> Result<(), Box<Error>> {
        exec::execute(&self.program, data, options, out)
    }

    /// The names of the templates that it consists of, its own included, in the order of their definitions.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.program.definitions.iter().map(|definition| &*definition.name)
    }
}
