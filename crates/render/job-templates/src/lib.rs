//! The templates of an instance group's jobs, and the files that an instance has of them. `render-jobs` renders them for
//! one instance, `plan` for all.

mod failure;
mod files;
mod options;
mod sources;

pub use failure::failed;
pub use files::{LINKS_JSON, is_installed, links_json};
pub use options::RenderingOptions;
pub use sources::{Template, job_ref, templates};
