//! Texts for Ruby.

use std::rc::Rc;

use value::{Encoding, Text, Value};

/// A String of these bytes, which Ruby takes for UTF-8.
pub(crate) fn utf8(bytes: Vec<u8>) -> Value {
    Value::Str(Rc::new(Text { bytes, encoding: Encoding::Utf8 }))
}
