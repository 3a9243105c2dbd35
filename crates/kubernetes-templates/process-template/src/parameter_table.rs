//! The parameters of a template as a table, as `oc process --parameters` prints it.

use dialect_kubernetes_templates::Declaration;

/// Spaces between columns.
const GAP: usize = 3;

/// The table: a line for each parameter.
pub(crate) fn table(parameters: &[Declaration]) -> String {
    let row = |parameter: &Declaration| {
        let has_generator = parameter.generate.as_ref().is_some_and(|generate| !generate.is_empty());
        let value = if has_generator { &parameter.from } else { &parameter.default };
        [&parameter.description, &parameter.generate, value].map(|text| one_line(text.as_deref().unwrap_or_default()))
    };
    let mut rows = vec![["NAME", "DESCRIPTION", "GENERATOR", "VALUE"].map(str::to_owned)];
    rows.extend(parameters.iter().map(|parameter| {
        let [description, generator, value] = row(parameter);
        [parameter.name.clone(), description, generator, value]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0) + GAP;
    let widths: Vec<usize> = (0..3).map(width).collect();
    let mut table = String::new();
    for row in &rows {
        let mut line = String::new();
        for (text, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{text:<width$}"));
        }
        line.push_str(&row[3]);
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

/// The text in one line, without control characters.
fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
