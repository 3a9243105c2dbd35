//! libyaml, which is Psych's parser too, from Rust: both accept the same texts.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use unsafe_libyaml as unsafe_sys;

/// The text is no YAML.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The events of a text.
pub(super) struct Parser<'t> {
    // Boxed: libyaml keeps a pointer to it.
    parser: Box<MaybeUninit<unsafe_sys::yaml_parser_t>>,
    _text: PhantomData<&'t [u8]>,
}

impl<'t> Parser<'t> {
    /// A parser of a text that is UTF-8.
    pub(super) fn new(text: &'t str) -> Result<Parser<'t>, Malformed> {
        let mut parser = Box::new(MaybeUninit::<unsafe_sys::yaml_parser_t>::uninit());
        // SAFETY: initialize writes the whole struct. The input is borrowed for as long as the parser lives, which is
        // never moved out of its box.
        unsafe {
            if unsafe_sys::yaml_parser_initialize(parser.as_mut_ptr()).fail {
                return Err(Malformed);
            }
            unsafe_sys::yaml_parser_set_encoding(parser.as_mut_ptr(), unsafe_sys::YAML_UTF8_ENCODING);
            unsafe_sys::yaml_parser_set_input_string(parser.as_mut_ptr(), text.as_ptr(), text.len() as u64);
        }
        Ok(Parser { parser, _text: PhantomData })
    }

    /// The next event.
    pub(super) fn next(&mut self) -> Result<Event, Malformed> {
        let mut event = MaybeUninit::<unsafe_sys::yaml_event_t>::uninit();
        // SAFETY: the parser is initialized; parse writes the event where it succeeds, and empties it where it fails.
        unsafe {
            if unsafe_sys::yaml_parser_parse(self.parser.as_mut_ptr(), event.as_mut_ptr()).fail {
                return Err(Malformed);
            }
            Ok(Event(event.assume_init()))
        }
    }
}

impl Drop for Parser<'_> {
    fn drop(&mut self) {
        // SAFETY: initialized in `new`, and deleted only here.
        unsafe { unsafe_sys::yaml_parser_delete(self.parser.as_mut_ptr()) }
    }
}

/// One event.
pub(super) struct Event(unsafe_sys::yaml_event_t);

/// What an event says.
pub(super) enum Kind<'e> {
    /// The end of the stream.
    StreamEnd,
    /// The end of a document.
    DocumentEnd,
    /// `*name`.
    Alias(&'e [u8]),
    /// A scalar.
    Scalar {
        /// Its text.
        text: &'e [u8],
        /// Its anchor.
        anchor: Option<&'e [u8]>,
        /// It has a tag.
        tagged: bool,
        /// It is a String whatever it looks like.
        quoted: bool,
    },
    /// The start of a sequence.
    SequenceStart {
        /// Its anchor.
        anchor: Option<&'e [u8]>,
        /// It has a tag.
        tagged: bool,
    },
    /// The end of a sequence.
    SequenceEnd,
    /// The start of a mapping.
    MappingStart {
        /// Its anchor.
        anchor: Option<&'e [u8]>,
        /// It has a tag.
        tagged: bool,
    },
    /// The end of a mapping.
    MappingEnd,
    /// Starts of streams and documents.
    Other,
}

impl Event {
    /// What it says.
    pub(super) fn kind(&self) -> Kind<'_> {
        let data = &self.0.data;
        // SAFETY: libyaml fills the part of the union that the type names; its texts end in a zero byte (anchors) or have
        // the length beside them, and live as long as the event.
        unsafe {
            match self.0.type_ {
                unsafe_sys::YAML_STREAM_END_EVENT => Kind::StreamEnd,
                unsafe_sys::YAML_DOCUMENT_END_EVENT => Kind::DocumentEnd,
                unsafe_sys::YAML_ALIAS_EVENT => Kind::Alias(name(data.alias.anchor).unwrap_or_default()),
                unsafe_sys::YAML_SCALAR_EVENT => Kind::Scalar {
                    text: std::slice::from_raw_parts(data.scalar.value, data.scalar.length as usize),
                    anchor: name(data.scalar.anchor),
                    tagged: !data.scalar.tag.is_null(),
                    quoted: data.scalar.quoted_implicit,
                },
                unsafe_sys::YAML_SEQUENCE_START_EVENT => Kind::SequenceStart {
                    anchor: name(data.sequence_start.anchor),
                    tagged: !data.sequence_start.tag.is_null(),
                },
                unsafe_sys::YAML_SEQUENCE_END_EVENT => Kind::SequenceEnd,
                unsafe_sys::YAML_MAPPING_START_EVENT => Kind::MappingStart {
                    anchor: name(data.mapping_start.anchor),
                    tagged: !data.mapping_start.tag.is_null(),
                },
                unsafe_sys::YAML_MAPPING_END_EVENT => Kind::MappingEnd,
                _ => Kind::Other,
            }
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: libyaml made it, and it is deleted only here.
        unsafe { unsafe_sys::yaml_event_delete(&raw mut self.0) }
    }
}

/// A C string of libyaml's.
///
/// # Safety
/// `text` is null, or points to bytes that end in zero and live for `'e`.
unsafe fn name<'e>(text: *const u8) -> Option<&'e [u8]> {
    // SAFETY: as the caller promises.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text.cast()) }.to_bytes())
}
