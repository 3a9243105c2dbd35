//! The events of a YAML text, with positions: libyaml 0.2.5 (`unsafe-libyaml`) behind a safe interface.
//!
//! Psych's parser is libyaml, and BPM's (go-yaml) is a port of it, so all three accept the same texts. The crate resolves
//! nothing: what a plain scalar means is up to the caller.
#![allow(unsafe_code)]

mod emitter;

use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

pub use emitter::{Emitter, NotWritten, Style};
use unsafe_libyaml as unsafe_sys;

/// A position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// How many characters are before it.
    pub index: usize,
}

impl From<unsafe_sys::yaml_mark_t> for Mark {
    fn from(mark: unsafe_sys::yaml_mark_t) -> Mark {
        let from_one = |n: u64| u32::try_from(n.saturating_add(1)).unwrap_or(u32::MAX);
        Mark { line: from_one(mark.line), column: from_one(mark.column), index: mark.index as usize }
    }
}

/// The text is not YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// libyaml's message: the problem, and behind it what was being read.
    pub message: String,
    /// The problem alone.
    pub problem: String,
    /// Where what was being read begins.
    pub context_mark: Option<Mark>,
    /// Where the text is wrong; absent where bytes are invalid.
    pub mark: Option<Mark>,
    /// How many bytes are before those that are invalid; absent where the order of characters is wrong.
    pub offset: Option<usize>,
    /// Whether characters are wrong, and not only their order: no parser can read beyond them.
    pub is_lexical: bool,
}

impl Malformed {
    /// A message of the caller's own, about the order of characters.
    pub fn new(message: &str, mark: Mark) -> Malformed {
        let message = message.to_owned();
        Malformed {
            problem: message.clone(),
            message,
            context_mark: None,
            mark: Some(mark),
            offset: None,
            is_lexical: false,
        }
    }
}

/// The events of a text.
pub struct Parser<'t> {
    // Boxed: libyaml keeps a pointer to it.
    parser: Box<MaybeUninit<unsafe_sys::yaml_parser_t>>,
    _text: PhantomData<&'t [u8]>,
}

impl<'t> Parser<'t> {
    /// A parser of a text in UTF-8, or in UTF-16 with a byte order mark.
    pub fn new(text: &'t [u8]) -> Parser<'t> {
        let mut parser = Box::new(MaybeUninit::<unsafe_sys::yaml_parser_t>::uninit());
        // SAFETY: initialize writes the whole struct. The input is borrowed for as long as the parser lives, which is never
        // moved out of its box.
        unsafe {
            assert!(unsafe_sys::yaml_parser_initialize(parser.as_mut_ptr()).ok, "no memory for a YAML parser");
            unsafe_sys::yaml_parser_set_input_string(parser.as_mut_ptr(), text.as_ptr(), text.len() as u64);
        }
        Parser { parser, _text: PhantomData }
    }

    /// A parser of a text in UTF-8, whose byte order mark is a character like others.
    pub fn utf8(text: &'t str) -> Parser<'t> {
        let mut parser = Parser::new(text.as_bytes());
        // SAFETY: initialized in `new`, and nothing has been read yet.
        unsafe { unsafe_sys::yaml_parser_set_encoding(parser.parser.as_mut_ptr(), unsafe_sys::YAML_UTF8_ENCODING) };
        parser
    }

    /// The next event. After the end of the stream it is an end again; after an error, the error.
    #[allow(clippy::should_implement_trait, reason = "an event borrows nothing, but an Iterator would end")]
    pub fn next(&mut self) -> Result<Event, Malformed> {
        let mut event = Event::default();
        self.read(&mut event).map(|()| event)
    }

    /// The next event, in the place of another one: as [`Parser::next`], without moving it.
    pub fn read(&mut self, event: &mut Event) -> Result<(), Malformed> {
        // SAFETY: the parser is initialized. An event is libyaml's or empty, delete leaves it empty, and what parse has written where
        // it fails is not deleted.
        unsafe {
            unsafe_sys::yaml_event_delete(&raw mut event.0);
            if unsafe_sys::yaml_parser_parse(self.parser.as_mut_ptr(), &raw mut event.0).fail {
                std::ptr::write(event, Event::default());
                return Err(self.malformed());
            }
        }
        Ok(())
    }

    fn malformed(&self) -> Malformed {
        // SAFETY: initialized in `new`; the messages are null or static C strings.
        unsafe {
            let parser = self.parser.assume_init_ref();
            let of_libyaml = [c_string(parser.problem.cast()), c_string(parser.context.cast())];
            let problem = of_libyaml[0].map(String::from_utf8_lossy).unwrap_or_default().into_owned();
            let parts: Vec<_> = of_libyaml.into_iter().flatten().map(String::from_utf8_lossy).collect();
            let is_of_reader = parser.error == unsafe_sys::YAML_READER_ERROR;
            Malformed {
                message: parts.join(" "),
                problem,
                context_mark: (!parser.context.is_null()).then(|| parser.context_mark.into()),
                mark: (!is_of_reader).then(|| parser.problem_mark.into()),
                offset: is_of_reader.then_some(parser.problem_offset as usize),
                is_lexical: is_of_reader || parser.error == unsafe_sys::YAML_SCANNER_ERROR,
            }
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
pub struct Event(unsafe_sys::yaml_event_t);

/// What an event says.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind<'e> {
    /// The end of the stream.
    StreamEnd,
    /// The start of a document.
    DocumentStart,
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
        /// Its tag in full: `tag:yaml.org,2002:str` for `!!str`, `!` for the one without a name.
        tag: Option<&'e [u8]>,
        /// Whether it has no tag and is a String whatever it looks like.
        quoted: bool,
        /// Whether it is written without quotes, `|` and `>`.
        plain: bool,
    },
    /// The start of a sequence.
    SequenceStart {
        /// Its anchor.
        anchor: Option<&'e [u8]>,
        /// Its tag.
        tag: Option<&'e [u8]>,
    },
    /// The end of a sequence.
    SequenceEnd,
    /// The start of a mapping.
    MappingStart {
        /// Its anchor.
        anchor: Option<&'e [u8]>,
        /// Its tag.
        tag: Option<&'e [u8]>,
    },
    /// The end of a mapping.
    MappingEnd,
    /// The start of the stream.
    StreamStart,
}

impl Default for Event {
    /// One that says the end of the stream.
    fn default() -> Event {
        // SAFETY: every byte of it may be zero: its type is YAML_NO_EVENT then, whose data nothing reads.
        Event(unsafe { MaybeUninit::zeroed().assume_init() })
    }
}

impl Event {
    /// What it says.
    // Whoever asks for one kind only need not look at the rest.
    #[inline]
    pub fn kind(&self) -> Kind<'_> {
        let data = &self.0.data;
        // SAFETY: libyaml fills the part of the union that the type names; its texts end in a zero byte (anchors, tags) or
        // have the length beside them, and live as long as the event.
        unsafe {
            match self.0.type_ {
                unsafe_sys::YAML_STREAM_END_EVENT | unsafe_sys::YAML_NO_EVENT => Kind::StreamEnd,
                unsafe_sys::YAML_DOCUMENT_START_EVENT => Kind::DocumentStart,
                unsafe_sys::YAML_DOCUMENT_END_EVENT => Kind::DocumentEnd,
                unsafe_sys::YAML_ALIAS_EVENT => Kind::Alias(c_string(data.alias.anchor).unwrap_or_default()),
                unsafe_sys::YAML_SCALAR_EVENT => Kind::Scalar {
                    text: std::slice::from_raw_parts(data.scalar.value, data.scalar.length as usize),
                    anchor: c_string(data.scalar.anchor),
                    tag: c_string(data.scalar.tag),
                    quoted: data.scalar.quoted_implicit,
                    plain: data.scalar.style == unsafe_sys::YAML_PLAIN_SCALAR_STYLE,
                },
                unsafe_sys::YAML_SEQUENCE_START_EVENT => Kind::SequenceStart {
                    anchor: c_string(data.sequence_start.anchor),
                    tag: c_string(data.sequence_start.tag),
                },
                unsafe_sys::YAML_SEQUENCE_END_EVENT => Kind::SequenceEnd,
                unsafe_sys::YAML_MAPPING_START_EVENT => Kind::MappingStart {
                    anchor: c_string(data.mapping_start.anchor),
                    tag: c_string(data.mapping_start.tag),
                },
                unsafe_sys::YAML_MAPPING_END_EVENT => Kind::MappingEnd,
                _ => Kind::StreamStart,
            }
        }
    }

    /// The version that a `%YAML` line before this start of a document names.
    pub fn version(&self) -> Option<(i32, i32)> {
        // SAFETY: libyaml fills the part of the union that the type names; the directive is null or lives as long as the event.
        unsafe {
            let directive = self.0.data.document_start.version_directive;
            let has_one = self.0.type_ == unsafe_sys::YAML_DOCUMENT_START_EVENT && !directive.is_null();
            has_one.then(|| ((*directive).major, (*directive).minor))
        }
    }

    /// Where it begins.
    pub fn start(&self) -> Mark {
        self.0.start_mark.into()
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
unsafe fn c_string<'e>(text: *const u8) -> Option<&'e [u8]> {
    // SAFETY: as the caller promises.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text.cast()) }.to_bytes())
}
