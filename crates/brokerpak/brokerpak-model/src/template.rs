//! Terraform templates: the variables and outputs that they declare, and the variables that they use.

use std::collections::BTreeSet;

use hcl_edit::expr::{Expression, Traversal, TraversalOperator};
use hcl_edit::structure::{Block, Body};
use hcl_edit::visit::{Visit, visit_body, visit_traversal};

/// Names of a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Declared variables.
    pub variables: BTreeSet<String>,
    /// Declared outputs.
    pub outputs: BTreeSet<String>,
    /// Variables that expressions use.
    pub used: BTreeSet<String>,
}

/// The names of a template in HCL.
///
/// # Errors
/// Where it is not HCL: the line and the column.
pub fn names(text: &str) -> Result<Names, (u32, u32)> {
    let body = hcl_edit::parser::parse_body(text).map_err(|error| {
        let location = error.location();
        (location.line() as u32, location.column() as u32)
    })?;
    let mut names = Names::default();
    for block in body.blocks() {
        let Some(name) = label(block) else { continue };
        match block.ident.as_str() {
            "variable" => names.variables.insert(name),
            "output" => names.outputs.insert(name),
            _ => continue,
        };
    }
    visit_body(&mut Uses { used: &mut names.used }, &body);
    Ok(names)
}

fn label(block: &Block) -> Option<String> {
    block.labels.first().map(|label| label.as_str().to_owned())
}

struct Uses<'n> {
    used: &'n mut BTreeSet<String>,
}

impl Visit for Uses<'_> {
    fn visit_traversal(&mut self, traversal: &Traversal) {
        if let Expression::Variable(variable) = &traversal.expr
            && variable.as_str() == "var"
            && let Some(TraversalOperator::GetAttr(name)) = traversal.operators.first().map(|operator| operator.value())
        {
            self.used.insert(name.as_str().to_owned());
        }
        visit_traversal(self, traversal);
    }

    fn visit_body(&mut self, body: &Body) {
        visit_body(self, body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_template() {
        let text = r#"
            variable domain {type = string}
            variable "user-name" {
              type = string
            }
            resource "x" "y" {
              name = "a ${upper(var.inner)} $${var.escaped}"
              list = [for v in var.list : v.var]
              dynamic "block" {
                for_each = var.each[0].x
                content {
                  text = <<EOT
${var.heredoc} text
EOT
                }
              }
            }
            output email {value = "${var.username}@${var.domain}"}
        "#;
        let names = names(text).expect("it is HCL");
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(names.variables, set(&["domain", "user-name"]));
        assert_eq!(names.outputs, set(&["email"]));
        assert_eq!(names.used, set(&["domain", "each", "heredoc", "inner", "list", "username"]));
        assert_eq!(super::names("a {\n  b = \n}").expect_err("it is not HCL").0, 2);
    }
}
