//! Brokerpaks (Brokerpak specification V1): manifest, definitions of services, resolution of requests. What is wrong is reported
//! in the words of the cloud service broker, all of it at once, with files and lines.

mod cast;
pub mod catalog;
pub mod configuration;
mod constants;
pub mod definition;
pub mod import;
pub mod layout;
pub mod lint;
pub mod manifest;
pub mod markdown;
pub mod object;
pub mod packing;
pub mod pak;
mod releases;
pub mod remembered;
pub mod report;
pub mod request;
pub mod resolve;
mod rules;
pub mod schema;
pub mod state;
pub mod template;
pub mod version;
pub mod workspace;
mod write;
pub mod yaml;
