//! Compiles the generator ahead of time.

fn main() {
    precompile::archive(&[("generator", "ruby/generator.rb")], &[]);
}
