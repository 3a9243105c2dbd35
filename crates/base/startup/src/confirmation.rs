//! Questions to a person at the terminal.

use std::io::IsTerminal;

/// Whether a person is there who can answer.
pub fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks as the bosh CLI does.
pub fn is_confirmed() -> bool {
    let asked = crate::write_stdout(|out| write!(out, "\nContinue? [yN]: "));
    let mut answer = String::new();
    let answered = std::io::stdin().read_line(&mut answer);
    asked.is_ok() && answered.is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}
