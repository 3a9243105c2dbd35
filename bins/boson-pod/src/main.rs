//! The executable that runs in release images: no Ruby, no TLS, no token.

fn main() {}
