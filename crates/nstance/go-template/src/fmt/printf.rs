//! `printf`: what stands between `%` and a verb, and which argument it takes.

use std::ops::Range;

use super::{Flags, Printer};
use crate::exec::Val;
use go_strconv::unicode;

/// Larger widths, precisions and argument numbers are refused.
const LARGEST: i64 = 1_000_000;

/// Reading a format.
struct Directives<'f, 'v> {
    format: &'f [u8],
    arguments: &'f [Val<'v>],
    at: usize,
    /// The next argument.
    next: usize,
    /// Did the last thing that was read name an argument, `[3]`?
    named: bool,
    /// Did any?
    reordered: bool,
    good: bool,
}

impl Printer<'_> {
    /// Writes the arguments as the format says. Returns where each argument was written.
    pub(crate) fn printf_traced(&mut self, format: &[u8], arguments: &[Val<'_>]) -> Vec<(usize, Range<usize>)> {
        self.trace = Some(Vec::new());
        self.printf(format, arguments);
        self.trace.take().unwrap_or_default()
    }

    /// Writes the arguments as the format says.
    pub(crate) fn printf(&mut self, format: &[u8], arguments: &[Val<'_>]) {
        let mut read = Directives { format, arguments, at: 0, next: 0, named: false, reordered: false, good: true };
        while read.at < format.len() && !self.is_full() {
            let rest = &format[read.at..];
            let plain = memchr::memchr(b'%', rest).unwrap_or(rest.len());
            self.out.extend_from_slice(&rest[..plain]);
            read.at += plain + 1;
            if plain < rest.len() && !self.directive(&mut read) {
                break;
            }
        }
        self.flags = Flags::default();
        if !read.reordered && read.next < arguments.len() {
            self.extra(arguments, read.next);
        }
    }

    fn extra(&mut self, arguments: &[Val<'_>], first: usize) {
        self.out.extend_from_slice(b"%!(EXTRA ");
        for (index, argument) in arguments.iter().enumerate().skip(first) {
            if index > first {
                self.out.extend_from_slice(b", ");
            }
            let name = argument.dynamic_type_name();
            self.out.extend_from_slice(name.as_bytes());
            if name != "<nil>" {
                self.out.push(b'=');
                self.traced(index, argument, 'v');
            }
        }
        self.out.push(b')');
    }

    /// One directive, its `%` read. Returns whether the format goes on.
    fn directive(&mut self, read: &mut Directives<'_, '_>) -> bool {
        self.flags = Flags::default();
        read.good = true;
        while let Some(byte) = read.peek() {
            match byte {
                b'#' => self.flags.sharp = true,
                b'0' => self.flags.zero = true,
                b'+' => self.flags.plus = true,
                b'-' => self.flags.minus = true,
                b' ' => self.flags.space = true,
                b'a'..=b'z' if read.next < read.arguments.len() => {
                    read.at += 1;
                    read.named = false;
                    self.operand(char::from(byte), read);
                    return true;
                }
                _ => break,
            }
            read.at += 1;
        }
        read.argument_number();
        self.width(read);
        self.precision(read);
        if !read.named {
            read.argument_number();
        }
        if read.at >= read.format.len() {
            self.out.extend_from_slice(b"%!(NOVERB)");
            return false;
        }
        let (verb, size) = unicode::decode(&read.format[read.at..]);
        let verb = unicode::encode(verb);
        read.at += size;
        if verb == '%' {
            self.out.push(b'%');
        } else if !read.good || read.next >= read.arguments.len() {
            self.out.extend_from_slice(b"%!");
            self.push(verb);
            self.out.extend_from_slice(if read.good { b"(MISSING)" } else { b"(BADINDEX)" });
        } else {
            self.operand(verb, read);
        }
        true
    }

    fn operand(&mut self, verb: char, read: &mut Directives<'_, '_>) {
        if matches!(verb, 'v' | 'w') {
            self.flags.sharp_v = std::mem::take(&mut self.flags.sharp);
            self.flags.plus_v = std::mem::take(&mut self.flags.plus);
        }
        self.traced(read.next, &read.arguments[read.next], verb);
        read.next += 1;
    }

    fn traced(&mut self, index: usize, argument: &Val<'_>, verb: char) {
        let start = self.out.len();
        // Only messages are traced, and in them `%w` wraps an error.
        let verb = if verb == 'w' && self.trace.is_some() { 'v' } else { verb };
        self.argument(argument, verb);
        if let Some(trace) = &mut self.trace {
            trace.push((index, start..self.out.len()));
        }
    }

    fn width(&mut self, read: &mut Directives<'_, '_>) {
        if read.peek() == Some(b'*') {
            read.at += 1;
            match read.integer_argument() {
                Some(width) => {
                    self.flags.width = Some(width.unsigned_abs() as usize);
                    if width < 0 {
                        self.flags.minus = true;
                        self.flags.zero = false;
                    }
                }
                None => self.out.extend_from_slice(b"%!(BADWIDTH)"),
            }
            read.named = false;
            return;
        }
        self.flags.width = read.number(read.format.len());
        if read.named && self.flags.width.is_some() {
            read.good = false;
        }
    }

    fn precision(&mut self, read: &mut Directives<'_, '_>) {
        // A point that ends the format is a verb.
        if read.peek() != Some(b'.') || read.at + 1 >= read.format.len() {
            return;
        }
        read.at += 1;
        if read.named {
            read.good = false;
        }
        read.argument_number();
        if read.peek() == Some(b'*') {
            read.at += 1;
            self.flags.precision = read.integer_argument().and_then(|precision| usize::try_from(precision).ok());
            if self.flags.precision.is_none() {
                self.out.extend_from_slice(b"%!(BADPREC)");
            }
            read.named = false;
        } else {
            self.flags.precision = Some(read.number(read.format.len()).unwrap_or(0));
        }
    }
}

impl Directives<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// A number before `end`; a number that is too large takes all up to `end`, and is none.
    fn number(&mut self, end: usize) -> Option<usize> {
        let start = self.at;
        let mut value = 0i64;
        while self.at < end && self.format[self.at].is_ascii_digit() {
            if value > LARGEST {
                self.at = end;
                return None;
            }
            value = value * 10 + i64::from(self.format[self.at] - b'0');
            self.at += 1;
        }
        (self.at > start).then_some(value as usize)
    }

    /// The next argument as a width or precision.
    fn integer_argument(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?.clone().unwrapped();
        self.next += 1;
        let value = match argument {
            Val::Int(value) | Val::Int64(value) => value,
            Val::Uint8(value) => i64::from(value),
            Val::Uint64(value) => i64::try_from(value).ok()?,
            _ => return None,
        };
        (-LARGEST..=LARGEST).contains(&value).then_some(value)
    }

    /// `[3]`: the number of the argument that comes next, from 1.
    fn argument_number(&mut self) {
        self.named = false;
        if self.peek() != Some(b'[') {
            return;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let closing = if rest.len() < 3 { None } else { memchr::memchr(b']', rest) };
        let Some(closing) = closing else {
            self.good = false;
            self.at += 1;
            return;
        };
        let end = self.at + closing;
        self.at += 1;
        let number = self.number(end).filter(|_| self.at == end);
        self.at = end + 1;
        match number {
            Some(number) if (1..=self.arguments.len()).contains(&number) => {
                self.next = number - 1;
                self.named = true;
            }
            _ => {
                self.good = false;
                self.named = number.is_some();
            }
        }
    }
}
