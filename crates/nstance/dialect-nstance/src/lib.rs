//! Nstance's templates and vars, in memory: a configuration and what is known about an instance become the instance's args,
//! vars, userdata and files.
//!
//! Templates are Go's (crate `go-template`). Downloads and ids of images come in as values, because this crate reads and
//! writes nothing. Positions of values stay with them through all merges, so that each problem has its line. No message
//! contains a value.
//!
//! ```
//! use dialect_nstance::{Configuration, Images, Inputs, Instance, Settings, render};
//! use std::time::Duration;
//!
//! let text = r#"{
//!   "vars": {"EXAMPLE": "one"},
//!   "groups": {
//!     "blue": {"args": {"ImageId": "{{ .Var.EXAMPLE }}"}}, // a trailing comma is fine
//!   },
//! }"#;
//! let (configuration, _) = Configuration::read("config.json", text.as_bytes())?;
//! let (instance, _) = Instance::read("instance.json", br#"{"group": "blue"}"#)?;
//! let settings = Settings {
//!     missing_is_error: true,
//!     timeout: Duration::from_secs(60),
//!     output_limit: 1 << 24,
//!     inflated_limit: 1 << 23,
//! };
//! let inputs = Inputs { instance: &instance, images: &Images::new(), download: &|_| None, settings };
//! let rendered = render(&configuration, configuration.group(&instance)?, inputs)?;
//! assert_eq!(rendered.files[0].path, "args.json");
//! assert_eq!(rendered.files[0].content, b"{\n  \"ImageId\": \"one\"\n}\n");
//! # Ok::<(), problem::Problems>(())
//! ```

mod args;
mod configuration;
pub mod data;
pub mod document;
mod engine;
mod instance;
pub mod json;
pub mod layers;
mod levels;
mod render;
mod report;
mod userdata;
mod vars;

pub use configuration::{Configuration, File, FileKind, Filter, Group, Image, Order, Sort};
pub use engine::{Images, REDACTED, Settings};
pub use instance::Instance;
pub use levels::Levels;
pub use render::{Inputs, Rendered, UserdataUrl, render, userdata_url};
pub use report::Warning;
