//! Compiles the evaluation context ahead of time.

fn main() {
    precompile::archive(
        &[("library", "ruby/library.rb"), ("context", "ruby/context.rb"), ("driver", "ruby/driver.rb")],
        &[],
    );
}
