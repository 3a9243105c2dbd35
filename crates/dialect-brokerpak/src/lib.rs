//! Brokerpaks (Brokerpak specification V1): manifest, definitions of services, resolution of requests. What is wrong is reported
//! in the words of the cloud service broker, all of it at once, with files and lines.

mod cast;
pub mod catalog;
pub mod configuration;
mod constants;
pub mod definition;
pub mod lint;
pub mod manifest;
pub mod markdown;
pub mod object;
pub mod pak;
pub mod report;
pub mod request;
pub mod resolve;
mod rules;
pub mod schema;
pub mod template;
pub mod version;
pub mod yaml;
