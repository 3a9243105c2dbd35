//! Ruby's Marshal format 4.8, as far as values need it: what crosses between Rust and the VM.
//!
//! Marshal rather than YAML or JSON because it is exact (Symbols, big Integers, key types, encodings) and keeps
//! which objects are the same object, and because both ends of it are C in the VM.

use std::collections::HashMap;
use std::rc::Rc;

use value::{BigInt, Encoding, Map, Text, Value};

/// Bytes that are no Marshal dump, or hold an object that no document can produce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(pub(crate) &'static str);

// === Reading ===

/// More levels than Psych can read (some 1,300), and few enough for every thread's stack that walks a value.
const DEEPEST: usize = 2_000;

/// Reads one dump.
///
/// # Errors
/// What is not one, or holds other objects than documents do.
pub fn load(bytes: &[u8]) -> Result<Value, Malformed> {
    let mut reader = Reader { bytes, at: 0, depth: 0, symbols: Vec::new(), objects: Vec::new() };
    if reader.take(2)? != [4, 8] {
        return Err(Malformed("not Marshal 4.8"));
    }
    reader.value()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    symbols: Vec<Rc<str>>,
    /// Every object in the order in which Ruby numbers them; `Nil` while a container is still being read
    /// (a document's alias cannot lie inside its own anchor).
    objects: Vec<Value>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(n).filter(|e| *e <= self.bytes.len()).ok_or(Malformed("truncated"))?;
        let slice = &self.bytes[self.at..end];
        self.at = end;
        Ok(slice)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    fn long(&mut self) -> Result<i64, Malformed> {
        let first = self.byte()? as i8;
        Ok(match first {
            0 => 0,
            1..=4 => {
                let raw = self.take(first as usize)?;
                raw.iter().rev().fold(0i64, |n, b| (n << 8) | i64::from(*b))
            }
            -4..=-1 => {
                let raw = self.take(usize::from(first.unsigned_abs()))?;
                raw.iter().rev().fold(-1i64, |n, b| (n << 8) | i64::from(*b))
            }
            5.. => i64::from(first) - 5,
            _ => i64::from(first) + 5,
        })
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.long()?).map_err(|_| Malformed("negative length"))
    }

    fn symbol_of(&mut self, kind: u8) -> Result<Rc<str>, Malformed> {
        match kind {
            b':' => {
                let n = self.length()?;
                let name = std::str::from_utf8(self.take(n)?).map_err(|_| Malformed("symbol is not UTF-8"))?;
                let symbol: Rc<str> = name.into();
                self.symbols.push(symbol.clone());
                Ok(symbol)
            }
            b';' => {
                let i = self.length()?;
                self.symbols.get(i).cloned().ok_or(Malformed("unknown symbol link"))
            }
            b'I' => {
                if self.byte()? != b':' {
                    return Err(Malformed("no symbol"));
                }
                let symbol = self.symbol_of(b':')?;
                for _ in 0..self.length()? {
                    let kind = self.byte()?;
                    self.symbol_of(kind)?;
                    self.value()?;
                }
                Ok(symbol)
            }
            _ => Err(Malformed("no symbol")),
        }
    }

    fn value(&mut self) -> Result<Value, Malformed> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Malformed("nested too deeply"));
        }
        let value = self.any_value();
        self.depth -= 1;
        value
    }

    fn any_value(&mut self) -> Result<Value, Malformed> {
        let kind = self.byte()?;
        Ok(match kind {
            b'0' => Value::Nil,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'i' => Value::Int(self.long()?),
            b'l' => self.integer()?,
            b'f' => self.float()?,
            b'"' => self.string(false)?,
            b'I' => match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    self.string(true)?
                }
                _ => Value::Symbol(self.symbol_of(b'I')?),
            },
            b':' | b';' => Value::Symbol(self.symbol_of(kind)?),
            b'[' => {
                let slot = self.reserve();
                let items = (0..self.length()?).map(|_| self.value()).collect::<Result<Vec<_>, _>>()?;
                self.fill(slot, Value::Array(Rc::new(items)))
            }
            b'{' => {
                let slot = self.reserve();
                let mut pairs = Vec::new();
                for _ in 0..self.length()? {
                    pairs.push((self.value()?, self.value()?));
                }
                self.fill(slot, Value::Map(Rc::new(Map::from_unique(pairs))))
            }
            // A class of its own (Psych's for !!omap), which its content does not need.
            b'C' => {
                let kind = self.byte()?;
                self.symbol_of(kind)?;
                self.value()?
            }
            b'@' => {
                let i = self.length()?;
                self.objects.get(i).cloned().ok_or(Malformed("unknown object link"))?
            }
            _ => return Err(Malformed("an object that is not a plain value")),
        })
    }

    fn reserve(&mut self) -> usize {
        self.objects.push(Value::Nil);
        self.objects.len() - 1
    }

    fn fill(&mut self, slot: usize, value: Value) -> Value {
        self.objects[slot] = value.clone();
        value
    }

    fn integer(&mut self) -> Result<Value, Malformed> {
        let slot = self.reserve();
        let negative = self.byte()? == b'-';
        let shorts = self.length()?;
        let magnitude = self.take(shorts.checked_mul(2).ok_or(Malformed("truncated"))?)?.to_vec();
        let value = small(negative, &magnitude)
            .map_or_else(|| Value::BigInt(Rc::new(BigInt { negative, magnitude })), Value::Int);
        Ok(self.fill(slot, value))
    }

    fn float(&mut self) -> Result<Value, Malformed> {
        let slot = self.reserve();
        let n = self.length()?;
        let text = std::str::from_utf8(self.take(n)?).map_err(|_| Malformed("float"))?;
        let f = match text {
            "inf" => f64::INFINITY,
            "-inf" => f64::NEG_INFINITY,
            "nan" => f64::NAN,
            _ => text.parse().map_err(|_| Malformed("float"))?,
        };
        Ok(self.fill(slot, Value::Float(f)))
    }

    fn string(&mut self, with_encoding: bool) -> Result<Value, Malformed> {
        let slot = self.reserve();
        let n = self.length()?;
        let bytes = self.take(n)?.to_vec();
        let mut encoding = Encoding::Binary;
        if with_encoding {
            for _ in 0..self.length()? {
                let kind = self.byte()?;
                let name = self.symbol_of(kind)?;
                match (&*name, self.value()?) {
                    ("E", Value::Bool(true)) => encoding = Encoding::Utf8,
                    ("E", Value::Bool(false)) => encoding = Encoding::Ascii,
                    _ => {}
                }
            }
        }
        Ok(self.fill(slot, Value::Str(Rc::new(Text { bytes, encoding }))))
    }
}

fn small(negative: bool, magnitude: &[u8]) -> Option<i64> {
    let significant = magnitude.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
    if significant > 8 {
        return None;
    }
    let n = magnitude[..significant].iter().rev().fold(0i128, |n, b| (n << 8) | i128::from(*b));
    i64::try_from(if negative { -n } else { n }).ok()
}

// === Writing ===

/// Writes one dump. What is the same object in Rust (`Rc::ptr_eq`) is the same object in Ruby.
pub fn dump(value: &Value) -> Vec<u8> {
    let mut writer =
        Writer { out: vec![4, 8], symbols: HashMap::new(), encoding: None, objects: HashMap::new(), count: 0 };
    writer.value(value);
    writer.out
}

/// The name under which Marshal keeps the encoding of a text.
const ENCODING: &str = "E";

struct Writer {
    out: Vec<u8>,
    symbols: HashMap<String, usize>,
    /// The number of the symbol `E`, which follows every text.
    encoding: Option<usize>,
    /// The numbers of objects that may be met again.
    objects: HashMap<*const u8, usize>,
    count: usize,
}

impl Writer {
    fn long(&mut self, n: i64) {
        match n {
            0 => self.out.push(0),
            1..=122 => self.out.push((n + 5) as u8),
            -123..=-1 => self.out.push((n - 5) as i8 as u8),
            _ => {
                let bytes = n.to_le_bytes();
                let used = (1..=4).find(|k| if n > 0 { n >> (8 * k) == 0 } else { n >> (8 * k) == -1 }).unwrap_or(4);
                self.out.push(if n > 0 { used as u8 } else { (-(used as i8)) as u8 });
                self.out.extend_from_slice(&bytes[..used]);
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.long(bytes.len() as i64);
        self.out.extend_from_slice(bytes);
    }

    fn symbol(&mut self, name: &str) {
        let known = if name == ENCODING { self.encoding } else { self.symbols.get(name).copied() };
        if let Some(i) = known {
            self.out.push(b';');
            self.long(i as i64);
            return;
        }
        if name == ENCODING {
            self.encoding = Some(self.symbols.len());
        }
        self.symbols.insert(name.to_owned(), self.symbols.len());
        if name.is_ascii() {
            self.out.push(b':');
            self.bytes(name.as_bytes());
        } else {
            self.out.extend_from_slice(b"I:");
            self.bytes(name.as_bytes());
            self.long(1);
            self.symbol(ENCODING);
            self.out.push(b'T');
        }
    }

    /// Writes a link if the object was written before, else numbers it; returns whether it did.
    fn linked<T: ?Sized>(&mut self, object: &Rc<T>) -> bool {
        // Nothing else refers to it: it is not met again.
        if Rc::strong_count(object) == 1 {
            self.count += 1;
            return false;
        }
        let pointer = Rc::as_ptr(object).cast::<u8>();
        if let Some(i) = self.objects.get(&pointer).copied() {
            self.out.push(b'@');
            self.long(i as i64);
            return true;
        }
        self.objects.insert(pointer, self.count);
        self.count += 1;
        false
    }

    fn big(&mut self, negative: bool, magnitude: &[u8]) {
        self.out.push(b'l');
        self.out.push(if negative { b'-' } else { b'+' });
        let mut magnitude = magnitude.to_vec();
        while magnitude.len() > 2 && magnitude.ends_with(&[0, 0]) {
            magnitude.truncate(magnitude.len() - 2);
        }
        self.long((magnitude.len() / 2) as i64);
        self.out.extend_from_slice(&magnitude);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Nil => self.out.push(b'0'),
            Value::Bool(b) => self.out.push(if *b { b'T' } else { b'F' }),
            Value::Int(n) if (-(1 << 30)..(1 << 30)).contains(n) => {
                self.out.push(b'i');
                self.long(*n);
            }
            Value::Int(n) => {
                self.count += 1;
                self.big(*n < 0, &n.unsigned_abs().to_le_bytes());
            }
            Value::BigInt(b) => {
                if !self.linked(b) {
                    self.big(b.negative, &b.magnitude);
                }
            }
            Value::Float(f) => {
                self.count += 1;
                self.out.push(b'f');
                let text = match *f {
                    f if f.is_nan() => "nan".to_owned(),
                    f64::INFINITY => "inf".to_owned(),
                    f64::NEG_INFINITY => "-inf".to_owned(),
                    f => format!("{f:e}"),
                };
                self.bytes(text.as_bytes());
            }
            Value::Str(text) => {
                if !self.linked(text) {
                    self.string(text);
                }
            }
            Value::Symbol(name) => self.symbol(name),
            Value::Array(items) => {
                if !self.linked(items) {
                    self.out.push(b'[');
                    self.long(items.len() as i64);
                    items.iter().for_each(|item| self.value(item));
                }
            }
            Value::Map(map) => {
                if !self.linked(map) {
                    self.out.push(b'{');
                    self.long(map.len() as i64);
                    for (key, value) in map.iter() {
                        self.value(key);
                        self.value(value);
                    }
                }
            }
        }
    }

    fn string(&mut self, text: &Text) {
        match text.encoding {
            Encoding::Binary => {
                self.out.push(b'"');
                self.bytes(&text.bytes);
            }
            Encoding::Utf8 | Encoding::Ascii => {
                self.out.extend_from_slice(b"I\"");
                self.bytes(&text.bytes);
                self.long(1);
                self.symbol(ENCODING);
                self.out.push(if text.encoding == Encoding::Utf8 { b'T' } else { b'F' });
            }
        }
    }
}

#[cfg(test)]
mod tests;
