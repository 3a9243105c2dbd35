//! Asking for values on the terminal, which does not show the answers.

use std::io::{self, BufRead, Stdin, Write};

use dialect_kubernetes_templates::{Declaration, Syntax, UserValues};
use nix::sys::signal::{Signal, raise};
use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};
use problem::{IoContext, Place, Result};

/// Control-C, which is an end of line while answers are not shown.
const INTERRUPT: u8 = 3;

/// A terminal that does not show what is typed, until this is dropped. Control-C is input then: as a signal it would leave the
/// terminal like this.
struct Hidden {
    terminal: Stdin,
    before: Termios,
}

impl Hidden {
    /// `None` if standard input is not a terminal.
    fn standard_input() -> Option<Hidden> {
        let terminal = io::stdin();
        let before = tcgetattr(&terminal).ok()?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO | LocalFlags::ISIG);
        hidden.local_flags.insert(LocalFlags::ECHONL | LocalFlags::ICANON);
        hidden.control_chars[SpecialCharacterIndices::VEOL as usize] = INTERRUPT;
        tcsetattr(&terminal, SetArg::TCSANOW, &hidden).ok()?;
        Some(Hidden { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // Nothing else can be done for the terminal.
        let _ = tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before);
    }
}

/// Asks for each value without which processing fails, until the answer has the parameter's type.
pub(crate) fn missing(parameters: &[Declaration], syntax: Syntax, given: &mut UserValues) -> Result<()> {
    let hidden = Hidden::standard_input();
    let end = if hidden.is_some() { [b'\n', INTERRUPT] } else { [b'\n'; 2] };
    let mut input = Lines { input: io::stdin().lock(), end, last: None };
    all(parameters, syntax, given, &mut input, &mut io::stderr().lock())?;
    drop(hidden);
    if input.is_interrupted() {
        // As Control-C ends a program that does not read it.
        let _ = raise(Signal::SIGINT);
    }
    Ok(())
}

fn all(
    parameters: &[Declaration],
    syntax: Syntax,
    given: &mut UserValues,
    input: &mut Lines<impl BufRead>,
    output: &mut impl Write,
) -> Result<()> {
    for parameter in parameters {
        if parameter.needs_value(given.get(&parameter.name), syntax) && !one(parameter, given, input, output)? {
            // No more answers: what is missing is reported with everything else.
            break;
        }
    }
    Ok(())
}

/// Lines of an input.
struct Lines<R> {
    input: R,
    /// The bytes that end a line.
    end: [u8; 2],
    last: Option<u8>,
}

impl<R: BufRead> Lines<R> {
    /// The next line without its end; `None` at the end of the input, and after an interruption.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() && line.is_empty() {
                return Ok(None);
            }
            let end = buffer.iter().position(|byte| self.end.contains(byte));
            line.extend_from_slice(&buffer[..end.unwrap_or(buffer.len())]);
            self.last = end.map(|at| buffer[at]);
            let used = end.map_or(buffer.len(), |at| at + 1);
            let is_done = end.is_some() || buffer.is_empty();
            self.input.consume(used);
            if self.is_interrupted() {
                return Ok(None);
            }
            if is_done {
                return Ok(Some(line));
            }
        }
    }

    fn is_interrupted(&self) -> bool {
        self.last == Some(INTERRUPT)
    }
}

/// Whether there was an answer.
fn one(
    parameter: &Declaration,
    given: &mut UserValues,
    input: &mut Lines<impl BufRead>,
    output: &mut impl Write,
) -> Result<bool> {
    let terminal = std::path::Path::new("standard input");
    let name = &parameter.name;
    loop {
        let kind = parameter.kind.map_or(String::new(), |kind| format!(" ({})", kind.name()));
        let description = parameter.description.as_ref().or(parameter.display_name.as_ref());
        let description = description.map_or(String::new(), |text| format!(": {}", startup::without_control(text)));
        // A question that cannot be shown is no reason to fail.
        let _ = write!(output, "{name}{kind}{description}\n> ").and_then(|()| output.flush());
        let Some(answer) = input.next().io("read", terminal)? else { return Ok(false) };
        let expected = match std::str::from_utf8(answer.strip_suffix(b"\r").unwrap_or(&answer)) {
            Ok("") => "a text that is not empty",
            Ok(answer) => match parameter.kind.filter(|kind| !kind.accepts(answer)) {
                Some(kind) => kind.description(),
                None => {
                    given.set(name, answer, Place::file("the answer"));
                    return Ok(true);
                }
            },
            Err(_) => "UTF-8",
        };
        let _ = writeln!(output, "the value of {name} must be {expected}");
    }
}

#[cfg(test)]
mod tests {
    use dialect_kubernetes_templates::Document;

    use super::*;

    #[test]
    fn answers_have_the_type_of_the_parameter() {
        let template = b"kind: Template\napiVersion: v1\nobjects: []\nparameters: [{name: A, type: int, required: true, description: Ports}]";
        let parameters = Document::read(template, "t.yaml").unwrap().parameters(Syntax::Kubernetes).unwrap();
        let (mut given, mut output) = (UserValues::default(), Vec::new());
        let lines = |text: &'static str| Lines { input: text.as_bytes(), end: [b'\n', INTERRUPT], last: None };
        let answers = Lines { input: &b"\nsecret\n8080\xff\n8080\r\n"[..], ..lines("") };
        assert!(one(&parameters[0], &mut given, &mut { answers }, &mut output).unwrap());
        assert_eq!(given.get("A"), Some("8080"));
        let shown = String::from_utf8(output).unwrap();
        assert!(shown.starts_with("A (int): Ports\n> the value of A must be") && !shown.contains("secret"), "{shown}");
        assert!(shown.contains("> the value of A must be UTF-8\nA (int)"), "{shown}");
        assert!(!one(&parameters[0], &mut given, &mut lines(""), &mut Vec::new()).unwrap());
        let mut interrupted = lines("80\u{3}");
        assert!(!one(&parameters[0], &mut given, &mut interrupted, &mut Vec::new()).unwrap());
        assert!(interrupted.is_interrupted());
        // The last line may lack its end.
        assert_eq!(lines("80").next().unwrap().as_deref(), Some(&b"80"[..]));
    }

    #[test]
    fn what_processing_needs_is_asked_for() {
        let template = b"kind: Template\napiVersion: v1\nobjects: []\nparameters:
- {name: ABSENT, required: true}
- {name: GENERATED, required: true, generate: expression, from: '[a]{3}'}
- {name: EMPTY, required: true, value: default}
- {name: GIVEN, required: true}
- {name: DEFAULT, required: true, value: default}
- {name: OPTIONAL}";
        let document = Document::read(template, "t.yaml").unwrap();
        for (syntax, expected) in
            [(Syntax::Kubernetes, &["ABSENT", "GENERATED", "EMPTY"][..]), (Syntax::Openshift, &["ABSENT", "EMPTY"])]
        {
            let mut given = UserValues::default();
            given.set("EMPTY", "", Place::default());
            given.set("GIVEN", "x", Place::default());
            let mut input = Lines { input: &b"1\n2\n3\n4\n"[..], end: [b'\n'; 2], last: None };
            let mut output = Vec::new();
            all(&document.parameters(syntax).unwrap(), syntax, &mut given, &mut input, &mut output).unwrap();
            assert_eq!(
                String::from_utf8(output).unwrap(),
                expected.iter().map(|name| format!("{name}\n> ")).collect::<String>()
            );
            assert!(expected.iter().all(|name| given.get(name).is_some_and(|value| !value.is_empty())));
        }
    }
}
