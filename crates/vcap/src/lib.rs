//! The `/var/vcap` tree: typed paths under an injectable root, atomic writes, modes and owners.

mod layout;

pub use layout::Vcap;
