//! Strings, characters and integers.

use super::Printer;
use crate::exec::Val;
use go_strconv::quote::{self, Charset};
use go_strconv::unicode;

pub(super) const LOWER: &[u8; 17] = b"0123456789abcdefx";
pub(super) const UPPER: &[u8; 17] = b"0123456789ABCDEFX";

impl Printer<'_> {
    /// So many spaces, or zeros.
    pub(super) fn padding(&mut self, count: usize) {
        // One byte more than may be is enough to see that it is too much.
        let room = self.limit.saturating_sub(self.out.len()).saturating_add(1);
        let byte = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        self.out.resize(self.out.len() + count.min(room), byte);
    }

    /// The text, as wide as the directive says.
    pub(super) fn pad(&mut self, text: &[u8]) {
        let Some(width) = self.flags.width.filter(|width| *width > 0) else {
            self.out.extend_from_slice(text);
            return;
        };
        let missing = width.saturating_sub(unicode::count(text));
        if self.flags.minus {
            self.out.extend_from_slice(text);
            self.padding(missing);
        } else {
            self.padding(missing);
            self.out.extend_from_slice(text);
        }
    }

    pub(super) fn pad_with_spaces(&mut self, text: &[u8]) {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(text);
        self.flags.zero = zero;
    }

    /// Uses the scratch buffer for a text and pads that.
    fn pad_made(&mut self, make: impl FnOnce(&mut Vec<u8>)) {
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        make(&mut text);
        self.pad(&text);
        self.scratch = text;
    }

    pub(super) fn string(&mut self, text: &[u8], verb: char, value: &Val<'_>) {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(text),
            'v' | 's' => match self.flags.precision {
                Some(precision) => self.pad(unicode::truncate(text, precision)),
                None => self.pad(text),
            },
            'x' => self.hexadecimal(text, LOWER),
            'X' => self.hexadecimal(text, UPPER),
            'q' => self.quoted(text),
            _ => self.bad_verb(value, verb),
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.flags.precision.map_or(text, |precision| unicode::truncate(text, precision));
        if self.flags.sharp && quote::can_backquote(text) {
            return self.pad_made(|out| out.extend_from_slice(&[b"`", text, b"`"].concat()));
        }
        let charset = self.charset();
        self.pad_made(|out| quote::quote_as(out, text, charset));
    }

    fn charset(&self) -> Charset {
        if self.flags.plus { Charset::Ascii } else { Charset::Unicode }
    }

    /// The bytes of a string, two digits each.
    fn hexadecimal(&mut self, text: &[u8], digits: &[u8; 17]) {
        let text = &text[..self.flags.precision.unwrap_or(text.len()).min(text.len())];
        let (space, sharp) = (self.flags.space, self.flags.sharp);
        let prefixes = if !sharp {
            0
        } else if space {
            text.len()
        } else {
            1
        };
        if text.is_empty() {
            self.padding(self.flags.width.unwrap_or(0));
            return;
        }
        let size = 2 * text.len() + 2 * prefixes + if space { text.len() - 1 } else { 0 };
        let missing = self.flags.width.unwrap_or(0).saturating_sub(size);
        if !self.flags.minus {
            self.padding(missing);
        }
        for (index, byte) in text.iter().enumerate() {
            if space && index > 0 {
                self.out.push(b' ');
            }
            if index < prefixes {
                self.out.extend_from_slice(&[b'0', digits[16]]);
            }
            self.out.extend_from_slice(&[digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
        }
        if self.flags.minus {
            self.padding(missing);
        }
    }

    pub(super) fn integer(&mut self, number: u64, negative: bool, signed: bool, verb: char, value: &Val<'_>) {
        match verb {
            'v' if self.flags.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.digits(number, negative, 16, verb, LOWER);
                self.flags.sharp = sharp;
            }
            'v' | 'd' => self.digits(number, negative, 10, verb, LOWER),
            'b' => self.digits(number, negative, 2, verb, LOWER),
            'o' | 'O' => self.digits(number, negative, 8, verb, LOWER),
            'x' => self.digits(number, negative, 16, verb, LOWER),
            'X' => self.digits(number, negative, 16, verb, UPPER),
            'c' | 'q' | 'U' => {
                let bits = if negative { number.wrapping_neg() } else { number };
                self.character(bits, verb);
            }
            _ => self.bad_verb(value, verb),
        }
    }

    fn character(&mut self, bits: u64, verb: char) {
        let rune = u32::try_from(bits).ok().filter(|rune| *rune <= unicode::MAX);
        let charset = self.charset();
        match verb {
            'c' => self.pad_made(|out| quote::push(out, rune.unwrap_or(unicode::REPLACEMENT))),
            'q' => self.pad_made(|out| quote::quote_rune(out, rune.unwrap_or(unicode::REPLACEMENT), charset)),
            _ => self.code_point(bits, rune),
        }
    }

    /// `U+00E9`, with `#` the character too.
    fn code_point(&mut self, bits: u64, rune: Option<u32>) {
        let digits = format!("{bits:X}");
        let zeros = self.flags.precision.unwrap_or(4).max(4).saturating_sub(digits.len());
        if self.limit.saturating_sub(self.out.len()) < zeros {
            return self.padding(zeros);
        }
        let mut text = b"U+".to_vec();
        text.resize(text.len() + zeros, b'0');
        text.extend_from_slice(digits.as_bytes());
        if let Some(rune) = rune.filter(|rune| self.flags.sharp && unicode::is_printable(*rune)) {
            text.extend_from_slice(b" '");
            quote::push(&mut text, rune);
            text.push(b'\'');
        }
        self.pad_with_spaces(&text);
    }

    pub(super) fn digits(&mut self, number: u64, negative: bool, base: u64, verb: char, digits: &[u8; 17]) {
        let flags = self.flags;
        let mut buffer = [0; 68];
        let start = write_digits(&mut buffer, number, base, digits);
        if flags.width.is_none()
            && flags.precision.is_none()
            && !flags.sharp
            && !flags.plus
            && !flags.space
            && verb != 'O'
        {
            if negative {
                self.out.push(b'-');
            }
            self.out.extend_from_slice(&buffer[start..]);
            return;
        }
        let mut least = 0;
        if let Some(precision) = flags.precision {
            least = precision;
            if precision == 0 && number == 0 {
                let zero = std::mem::take(&mut self.flags.zero);
                self.padding(flags.width.unwrap_or(0));
                self.flags.zero = zero;
                return;
            }
        } else if flags.zero
            && !flags.minus
            && let Some(width) = flags.width
        {
            least = width.saturating_sub(usize::from(negative || flags.plus || flags.space));
        }
        let zeros = least.saturating_sub(buffer.len() - start);
        if self.limit.saturating_sub(self.out.len()) < zeros {
            return self.padding(zeros);
        }
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        if negative {
            text.push(b'-');
        } else if flags.plus {
            text.push(b'+');
        } else if flags.space {
            text.push(b' ');
        }
        if verb == 'O' {
            text.extend_from_slice(b"0o");
        }
        if flags.sharp {
            match base {
                2 => text.extend_from_slice(b"0b"),
                8 if zeros == 0 && buffer[start] != b'0' => text.push(b'0'),
                16 => text.extend_from_slice(&[b'0', digits[16]]),
                _ => {}
            }
        }
        text.resize(text.len() + zeros, b'0');
        text.extend_from_slice(&buffer[start..]);
        self.pad_with_spaces(&text);
        self.scratch = text;
    }
}

/// Writes digits to the end of the buffer; returns where they begin.
pub(super) fn write_digits(buffer: &mut [u8; 68], mut number: u64, base: u64, digits: &[u8; 17]) -> usize {
    let mut at = buffer.len();
    if base == 10 {
        while number >= 100 {
            let pair = (number % 100) as usize;
            number /= 100;
            at -= 2;
            buffer[at..at + 2].copy_from_slice(&PAIRS[pair]);
        }
        if number >= 10 {
            at -= 2;
            buffer[at..at + 2].copy_from_slice(&PAIRS[number as usize]);
        } else {
            at -= 1;
            buffer[at] = b'0' + number as u8;
        }
        return at;
    }
    loop {
        at -= 1;
        buffer[at] = digits[(number % base) as usize];
        number /= base;
        if number == 0 {
            return at;
        }
    }
}

/// `00` to `99`.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};
