//! Verbs that the executable does not have.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::process::Command;

#[test]
fn verbs_of_templates_name_their_executable() {
    for verb in ["apply-template", "export-template", "serve-templates"] {
        let output = Command::new(env!("CARGO_BIN_EXE_boson-cluster")).args([verb, "--name", "shop"]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        let expected = format!("error: '{verb}' is a verb of another executable: type `boson-templates {verb}`\n");
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.starts_with(&expected), "{message}");
    }
}
