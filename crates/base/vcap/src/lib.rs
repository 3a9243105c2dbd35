//! The `/var/vcap` tree: typed paths under an injectable root, atomic writes, modes and owners.

pub mod atomic;
pub mod dirs;
pub mod flat_dir;
pub mod input;
mod layout;
pub mod lock;
pub mod log_file;
pub mod own_dir;
pub mod owner;
pub mod tree;

pub use layout::Vcap;
