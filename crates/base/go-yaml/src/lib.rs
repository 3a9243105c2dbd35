//! YAML as Go's `yaml.v2` reads and writes it: the bosh CLI's documents, byte for byte.
//!
//! [`read()`] resolves scalars by that library's rules (`yes` is a boolean, `0644` is 420, a date stays text), expands aliases
//! and merges, and keeps the position of every node. [`write()`] sorts keys and chooses styles as it does. Rules and message
//! texts: `yaml.v2` 2.4.0, whose scanner and emitter are ports of libyaml, as is `libyaml-safer`.
//!
//! kubectl's YAML library reads scalars by the same rules: [`plain()`], [`scalar()`], [`text()`] and [`Expansion`] are the parts
//! of the reader for other readers of libyaml's events.

mod copy;
mod node;
mod number;
mod read;
mod resolve;
mod sort;
mod timestamp;
mod write;

pub use copy::copied;
pub use node::{Key, Map, Node, Origin, Source, Value};
pub use number::{Integer, format as format_float};
pub use read::{Error, Expansion, Parsed, Raw, RawKind, parse, read, read_names, read_raw, text};
pub use resolve::{Scalar, plain, scalar};
pub use write::write;
