//! BOSH's template evaluation on the embedded CRuby.
//!
//! Templates are compiled to Ruby here ([`scanner`]), analysed ([`analysis`]) and evaluated in processes forked from
//! the VM ([`render`]), in BOSH's evaluation context (`ruby/context.rb`). `docs/dialects/erb.md` lists what they may use.

pub mod analysis;
mod contexts;
pub mod coverage;
mod eager;
mod line_origin;
mod mask;
mod pool;
pub mod render;
mod ruby_text;
pub mod scanner;
mod settings;
pub mod syntax;
pub mod trace;

pub use line_origin::line_origin;
pub use mask::Mask;
pub use render::{Asked, Failure, Processes, Renderer, Unit};
pub use settings::{IsolationMode, Settings};
