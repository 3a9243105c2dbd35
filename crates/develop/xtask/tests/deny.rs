//! All dependencies are allowed by `deny.toml`.

#[test]
fn every_dependency_is_allowed() {
    let report = xtask::deny::check().unwrap();
    assert!(report.errors.is_empty(), "deny.toml forbids:\n{}", report.errors.join("\n"));
}
