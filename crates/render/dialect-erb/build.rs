//! Compiles the evaluation context ahead of time.

fn main() {
    precompile::archive(
        &[
            ("library", "ruby/library.rb"),
            ("context", "ruby/context.rb"),
            ("another_time", "ruby/another_time.rb"),
            ("driver", "ruby/driver.rb"),
            ("syntax", "ruby/syntax.rb"),
            ("sites", "ruby/sites.rb"),
            ("trace", "ruby/trace.rb"),
        ],
        &[],
    );
}
