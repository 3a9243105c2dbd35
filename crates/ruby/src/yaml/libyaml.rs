//! libyaml, which is Psych's parser and emitter too, from Rust: so that both take and give the same texts.
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

/// Writes events to a text.
pub(super) struct Emitter {
    // Boxed: libyaml keeps pointers to the emitter and to its output.
    emitter: Box<MaybeUninit<unsafe_sys::yaml_emitter_t>>,
    output: *mut Vec<u8>,
}

/// How a scalar is written, where that is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// As libyaml likes.
    Any,
    /// Without quotes.
    Plain,
    /// In `'`.
    SingleQuoted,
    /// In `"`.
    DoubleQuoted,
    /// Line for line below `|`.
    Literal,
}

/// Whether a scalar without quotes, or with them, stands for what is meant without a tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Implicit {
    /// Without quotes.
    pub(super) plain: bool,
    /// With them.
    pub(super) quoted: bool,
}

/// Adds what libyaml has written to the output.
///
/// # Safety
/// `output` is the `Vec` of the emitter that calls, and `bytes` are as many as `size` says.
unsafe fn write(output: *mut std::ffi::c_void, bytes: *mut u8, size: u64) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { (*output.cast::<Vec<u8>>()).extend_from_slice(std::slice::from_raw_parts(bytes, size as usize)) };
    1
}

impl Emitter {
    /// An emitter with the settings that Psych dumps with.
    pub(super) fn new() -> Result<Emitter, Malformed> {
        let mut emitter = Box::new(MaybeUninit::<unsafe_sys::yaml_emitter_t>::uninit());
        // SAFETY: initialize writes the whole struct, which is never moved out of its box.
        if unsafe { unsafe_sys::yaml_emitter_initialize(emitter.as_mut_ptr()) }.fail {
            return Err(Malformed);
        }
        let output = Box::into_raw(Box::<Vec<u8>>::default());
        // SAFETY: the output lives until the emitter is dropped.
        unsafe {
            unsafe_sys::yaml_emitter_set_output(emitter.as_mut_ptr(), write, output.cast());
            unsafe_sys::yaml_emitter_set_unicode(emitter.as_mut_ptr(), true);
        }
        Ok(Emitter { emitter, output })
    }

    /// Makes an event and writes it. `initialize` is one of libyaml's functions that fill an event.
    fn emit(&mut self, initialize: impl FnOnce(*mut unsafe_sys::yaml_event_t) -> bool) -> Result<(), Malformed> {
        let mut event = MaybeUninit::<unsafe_sys::yaml_event_t>::uninit();
        if !initialize(event.as_mut_ptr()) {
            return Err(Malformed);
        }
        // SAFETY: the event is initialized, and libyaml takes it.
        if unsafe { unsafe_sys::yaml_emitter_emit(self.emitter.as_mut_ptr(), event.as_mut_ptr()) }.fail {
            return Err(Malformed);
        }
        Ok(())
    }

    /// Starts the one document.
    pub(super) fn start(&mut self) -> Result<(), Malformed> {
        let none = std::ptr::null_mut();
        // SAFETY: the event is written where it succeeds; there are no directives.
        self.emit(|e| unsafe { unsafe_sys::yaml_stream_start_event_initialize(e, unsafe_sys::YAML_UTF8_ENCODING) }.ok)?;
        // SAFETY: the same.
        self.emit(|e| {
            unsafe {
                unsafe_sys::yaml_document_start_event_initialize(e, none, std::ptr::null_mut(), none.cast(), false)
            }
            .ok
        })
    }

    /// Writes `*anchor`.
    pub(super) fn alias(&mut self, anchor: &CStr) -> Result<(), Malformed> {
        // SAFETY: the name is copied.
        self.emit(|e| unsafe { unsafe_sys::yaml_alias_event_initialize(e, anchor.as_ptr().cast()) }.ok)
    }

    /// Writes a scalar.
    pub(super) fn scalar(
        &mut self,
        text: &str,
        tag: Option<&CStr>,
        implicit: Implicit,
        style: Style,
    ) -> Result<(), Malformed> {
        let length = i32::try_from(text.len()).map_err(|_| Malformed)?;
        let style = match style {
            Style::Any => unsafe_sys::YAML_ANY_SCALAR_STYLE,
            Style::Plain => unsafe_sys::YAML_PLAIN_SCALAR_STYLE,
            Style::SingleQuoted => unsafe_sys::YAML_SINGLE_QUOTED_SCALAR_STYLE,
            Style::DoubleQuoted => unsafe_sys::YAML_DOUBLE_QUOTED_SCALAR_STYLE,
            Style::Literal => unsafe_sys::YAML_LITERAL_SCALAR_STYLE,
        };
        let (tag, Implicit { plain, quoted }) = (tag.map_or(std::ptr::null(), CStr::as_ptr), implicit);
        // SAFETY: text and tag are copied.
        self.emit(|e| unsafe {
            let (anchor, text) = (std::ptr::null(), text.as_ptr());
            unsafe_sys::yaml_scalar_event_initialize(e, anchor, tag.cast(), text, length, plain, quoted, style).ok
        })
    }

    /// Starts a sequence.
    pub(super) fn start_sequence(&mut self, anchor: Option<&CStr>) -> Result<(), Malformed> {
        let (anchor, style) = (anchor.map_or(std::ptr::null(), CStr::as_ptr), unsafe_sys::YAML_BLOCK_SEQUENCE_STYLE);
        // SAFETY: the name is copied.
        self.emit(|e| unsafe {
            unsafe_sys::yaml_sequence_start_event_initialize(e, anchor.cast(), std::ptr::null(), true, style).ok
        })
    }

    /// Ends a sequence.
    pub(super) fn end_sequence(&mut self) -> Result<(), Malformed> {
        // SAFETY: the event is written where it succeeds.
        self.emit(|e| unsafe { unsafe_sys::yaml_sequence_end_event_initialize(e) }.ok)
    }

    /// Starts a mapping.
    pub(super) fn start_mapping(&mut self, anchor: Option<&CStr>) -> Result<(), Malformed> {
        let (anchor, style) = (anchor.map_or(std::ptr::null(), CStr::as_ptr), unsafe_sys::YAML_BLOCK_MAPPING_STYLE);
        // SAFETY: the name is copied.
        self.emit(|e| unsafe {
            unsafe_sys::yaml_mapping_start_event_initialize(e, anchor.cast(), std::ptr::null(), true, style).ok
        })
    }

    /// Ends a mapping.
    pub(super) fn end_mapping(&mut self) -> Result<(), Malformed> {
        // SAFETY: the event is written where it succeeds.
        self.emit(|e| unsafe { unsafe_sys::yaml_mapping_end_event_initialize(e) }.ok)
    }

    /// Ends the document and gives its text.
    pub(super) fn finish(mut self) -> Result<String, Malformed> {
        // SAFETY: the events are written where it succeeds.
        self.emit(|e| unsafe { unsafe_sys::yaml_document_end_event_initialize(e, true) }.ok)?;
        // SAFETY: the same.
        self.emit(|e| unsafe { unsafe_sys::yaml_stream_end_event_initialize(e) }.ok)?;
        // SAFETY: the end of the stream was written and flushed; nothing else uses the output now.
        let output = std::mem::take(unsafe { &mut *self.output });
        String::from_utf8(output).map_err(|_| Malformed)
    }
}

impl Drop for Emitter {
    fn drop(&mut self) {
        // SAFETY: both were made in `new`, and are deleted only here, the emitter first.
        unsafe {
            unsafe_sys::yaml_emitter_delete(self.emitter.as_mut_ptr());
            drop(Box::from_raw(self.output));
        }
    }
}
