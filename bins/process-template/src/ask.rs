//! Asking for values on the terminal.

use std::io::{self, BufRead, Write};

use dialect_kubernetes_templates::{Declaration, Given};
use problem::{IoContext, Place, Result};

/// Asks for each required value that is neither given nor the template's, until the answer has the parameter's type.
pub(crate) fn missing(parameters: &[Declaration], given: &mut Given) -> Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stderr().lock());
    for parameter in parameters.iter().filter(|parameter| parameter.needs_value()) {
        if given.get(&parameter.name).is_none_or(str::is_empty) && !one(parameter, given, &mut input, &mut output)? {
            // No more answers: what is missing is reported with everything else.
            break;
        }
    }
    Ok(())
}

/// Whether there was an answer.
fn one(parameter: &Declaration, given: &mut Given, input: &mut impl BufRead, output: &mut impl Write) -> Result<bool> {
    let terminal = std::path::Path::new("standard input");
    let name = &parameter.name;
    loop {
        let kind = parameter.kind.map_or(String::new(), |kind| format!(" ({})", kind.name()));
        let description = parameter.description.as_ref().or(parameter.display_name.as_ref());
        let description = description.map_or(String::new(), |text| format!(": {}", startup::without_control(text)));
        // Questions that nobody sees are no reason to fail.
        let _ = write!(output, "{name}{kind}{description}\n> ").and_then(|()| output.flush());
        let mut answer = String::new();
        if input.read_line(&mut answer).io("read", terminal)? == 0 {
            return Ok(false);
        }
        let answer = answer.strip_suffix('\n').unwrap_or(&answer);
        let answer = answer.strip_suffix('\r').unwrap_or(answer);
        if !answer.is_empty() && parameter.kind.is_none_or(|kind| kind.accepts(answer)) {
            given.set(name, answer, Place::file("the answer"));
            return Ok(true);
        }
        let expected =
            parameter.kind.filter(|_| !answer.is_empty()).map_or("a text that is not empty", |kind| kind.description());
        let _ = writeln!(output, "the value of {name} must be {expected}");
    }
}

#[cfg(test)]
mod tests {
    use dialect_kubernetes_templates::{Document, Syntax};

    use super::*;

    #[test]
    fn answers_have_the_type_of_the_parameter() {
        let template = b"kind: Template\napiVersion: v1\nobjects: []\nparameters: [{name: A, type: int, required: true, description: Ports}]";
        let parameters = Document::read(template, "t.yaml").unwrap().parameters(Syntax::Kubernetes).unwrap();
        let (mut given, mut output) = (Given::default(), Vec::new());
        let mut input = "\nsecret\n8080\n".as_bytes();
        assert!(one(&parameters[0], &mut given, &mut input, &mut output).unwrap());
        assert_eq!(given.get("A"), Some("8080"));
        let shown = String::from_utf8(output).unwrap();
        assert!(shown.starts_with("A (int): Ports\n> the value of A must be") && !shown.contains("secret"), "{shown}");
        assert!(!one(&parameters[0], &mut given, &mut "".as_bytes(), &mut Vec::new()).unwrap());
    }
}
