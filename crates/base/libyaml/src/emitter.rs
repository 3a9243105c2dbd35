//! Writing events.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use unsafe_libyaml as unsafe_sys;

/// Writes the events of one document to a text, in block style.
pub struct Emitter {
    // Boxed: libyaml keeps pointers to the emitter and to its output.
    emitter: Box<MaybeUninit<unsafe_sys::yaml_emitter_t>>,
    output: *mut Vec<u8>,
}

/// How a scalar is written, where that is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In `"`.
    DoubleQuoted,
    /// Line for line below `|`.
    Literal,
}

/// libyaml could not write an event: the events are out of order, or a tag is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotWritten;

/// Adds what libyaml has written to the output.
///
/// # Safety
/// `output` is the `Vec` of the emitter that calls, and `bytes` are as many as `size` says.
unsafe fn write(output: *mut c_void, bytes: *mut u8, size: u64) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { (*output.cast::<Vec<u8>>()).extend_from_slice(std::slice::from_raw_parts(bytes, size as usize)) };
    1
}

impl Emitter {
    /// An emitter in a document that has begun, without `---`.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn new() -> Result<Emitter, NotWritten> {
        let mut emitter = Box::new(MaybeUninit::<unsafe_sys::yaml_emitter_t>::uninit());
        // SAFETY: initialize writes the whole struct, which is never moved out of its box.
        if unsafe { unsafe_sys::yaml_emitter_initialize(emitter.as_mut_ptr()) }.fail {
            return Err(NotWritten);
        }
        let output = Box::into_raw(Box::<Vec<u8>>::default());
        // SAFETY: the output lives until the emitter is dropped.
        unsafe {
            unsafe_sys::yaml_emitter_set_output(emitter.as_mut_ptr(), write, output.cast());
            unsafe_sys::yaml_emitter_set_unicode(emitter.as_mut_ptr(), true);
        }
        let mut emitter = Emitter { emitter, output };
        // SAFETY: the event is written where it succeeds; there are no directives.
        emitter.emit(|e| unsafe {
            unsafe_sys::yaml_stream_start_event_initialize(e, unsafe_sys::YAML_UTF8_ENCODING).ok
        })?;
        // SAFETY: the same.
        emitter.emit(|e| unsafe {
            unsafe_sys::yaml_document_start_event_initialize(e, null_mut(), null_mut(), null_mut(), true).ok
        })?;
        Ok(emitter)
    }

    /// Makes an event and writes it. `initialize` is one of libyaml's functions that fill an event.
    fn emit(&mut self, initialize: impl FnOnce(*mut unsafe_sys::yaml_event_t) -> bool) -> Result<(), NotWritten> {
        let mut event = MaybeUninit::<unsafe_sys::yaml_event_t>::uninit();
        if !initialize(event.as_mut_ptr()) {
            return Err(NotWritten);
        }
        // SAFETY: the event is initialized, and libyaml takes it.
        if unsafe { unsafe_sys::yaml_emitter_emit(self.emitter.as_mut_ptr(), event.as_mut_ptr()) }.fail {
            return Err(NotWritten);
        }
        Ok(())
    }

    /// Writes a scalar; without a tag, its style says what it is.
    ///
    /// # Errors
    /// If libyaml refuses it.
    pub fn scalar(&mut self, text: &str, tag: Option<&CStr>, style: Style) -> Result<(), NotWritten> {
        let length = i32::try_from(text.len()).map_err(|_| NotWritten)?;
        let style = match style {
            Style::Plain => unsafe_sys::YAML_PLAIN_SCALAR_STYLE,
            Style::DoubleQuoted => unsafe_sys::YAML_DOUBLE_QUOTED_SCALAR_STYLE,
            Style::Literal => unsafe_sys::YAML_LITERAL_SCALAR_STYLE,
        };
        let implicit = tag.is_none();
        let tag = tag.map_or(null(), CStr::as_ptr);
        // SAFETY: text and tag are copied.
        self.emit(|e| unsafe {
            let (anchor, text) = (null(), text.as_ptr());
            unsafe_sys::yaml_scalar_event_initialize(e, anchor, tag.cast(), text, length, implicit, implicit, style).ok
        })
    }

    /// Starts a sequence.
    ///
    /// # Errors
    /// If libyaml refuses it.
    pub fn start_sequence(&mut self) -> Result<(), NotWritten> {
        let style = unsafe_sys::YAML_BLOCK_SEQUENCE_STYLE;
        // SAFETY: the event is written where it succeeds; there is neither anchor nor tag.
        self.emit(|e| unsafe { unsafe_sys::yaml_sequence_start_event_initialize(e, null(), null(), true, style).ok })
    }

    /// Ends a sequence.
    ///
    /// # Errors
    /// If none has been started.
    pub fn end_sequence(&mut self) -> Result<(), NotWritten> {
        // SAFETY: the event is written where it succeeds.
        self.emit(|e| unsafe { unsafe_sys::yaml_sequence_end_event_initialize(e) }.ok)
    }

    /// Starts a mapping.
    ///
    /// # Errors
    /// If libyaml refuses it.
    pub fn start_mapping(&mut self) -> Result<(), NotWritten> {
        let style = unsafe_sys::YAML_BLOCK_MAPPING_STYLE;
        // SAFETY: the event is written where it succeeds; there is neither anchor nor tag.
        self.emit(|e| unsafe { unsafe_sys::yaml_mapping_start_event_initialize(e, null(), null(), true, style).ok })
    }

    /// Ends a mapping.
    ///
    /// # Errors
    /// If none has been started.
    pub fn end_mapping(&mut self) -> Result<(), NotWritten> {
        // SAFETY: the event is written where it succeeds.
        self.emit(|e| unsafe { unsafe_sys::yaml_mapping_end_event_initialize(e) }.ok)
    }

    /// Ends the document and gives its text. No `...` follows a literal scalar whose end is open.
    ///
    /// # Errors
    /// If a sequence or mapping has not ended.
    pub fn finish(mut self) -> Result<String, NotWritten> {
        // SAFETY: the event is written where it succeeds.
        self.emit(|e| unsafe { unsafe_sys::yaml_document_end_event_initialize(e, true) }.ok)?;
        // SAFETY: the emitter is initialized.
        if unsafe { unsafe_sys::yaml_emitter_flush(self.emitter.as_mut_ptr()) }.fail {
            return Err(NotWritten);
        }
        // SAFETY: everything is flushed; nothing else uses the output now.
        let output = std::mem::take(unsafe { &mut *self.output });
        String::from_utf8(output).map_err(|_| NotWritten)
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
