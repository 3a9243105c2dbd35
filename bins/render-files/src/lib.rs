//! Renders files from Go templates.

pub mod text_template;
