//! Tables: for people, and as JSON and YAML for programs.

use clap::{Args, ValueEnum};
use problem::{Problem, Result, hint_for_unknown};
use serde_json::{Map, Value as Json, json};

/// What stands in a cell without a value.
const NOTHING: &str = "-";

/// How a table is printed.
#[derive(Debug, Clone, Default, Args)]
pub struct TableOptions {
    /// Print the tables as JSON, in the form of the bosh CLI
    #[arg(long)]
    pub json: bool,
    /// Print the rows as a list of mappings
    #[arg(long = "format", short = 'o', value_name = "FORMAT", conflicts_with = "json")]
    pub format: Option<Format>,
    /// Show only this column, such as `instance` or `process_state`; repeatable, in this order
    #[arg(long = "column", value_name = "NAME")]
    pub columns: Vec<String>,
}

/// The form of rows for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A JSON array
    Json,
    /// A YAML list
    Yaml,
}

/// A table with a title for each column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What it lists: `instances`.
    content: &'static str,
    titles: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Lines below it, for people.
    notes: Vec<String>,
}

impl Table {
    /// A table without rows; a cell is empty if it has no value.
    pub fn new(content: &'static str, titles: &[&'static str]) -> Table {
        Table { content, titles: titles.to_vec(), rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row with a cell for each title.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a line below the table.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Sorts the rows.
    pub fn sort(&mut self) {
        self.rows.sort();
    }

    /// Prints the table.
    ///
    /// # Errors
    /// Unknown columns.
    pub fn print(&self, options: &TableOptions) -> Result<()> {
        let text = self.text(options)?;
        startup::write_stdout(|out| out.write_all(text.as_bytes()))
    }

    /// What [`Table::print`] prints.
    ///
    /// # Errors
    /// Unknown columns.
    pub fn text(&self, options: &TableOptions) -> Result<String> {
        let columns = self.columns(&options.columns)?;
        if options.json {
            return Ok(pretty(&self.of_bosh(&columns)));
        }
        let rows = || -> Vec<Json> { self.rows.iter().map(|row| self.object(row, &columns)).collect() };
        Ok(match options.format {
            Some(Format::Json) => pretty(&rows().into()),
            Some(Format::Yaml) => yaml(&rows()),
            None => self.lines(&columns),
        })
    }

    /// The positions of the chosen columns.
    fn columns(&self, wanted: &[String]) -> Result<Vec<usize>> {
        if wanted.is_empty() {
            return Ok((0..self.titles.len()).collect());
        }
        let keys: Vec<String> = self.titles.iter().map(|title| key(title)).collect();
        let position = |name: &String| {
            keys.iter().position(|known| *known == key(name)).ok_or_else(|| {
                let hint = hint_for_unknown(name, keys.iter().map(String::as_str), || {
                    format!("the columns are: {}", keys.join(", "))
                });
                Problem::usage(format!("--column: unknown column '{name}'")).hint(hint).into()
            })
        };
        wanted.iter().map(position).collect()
    }

    /// The table's lines, head included, each column as wide as its widest cell.
    fn lines(&self, columns: &[usize]) -> String {
        let cell = |row: &[String], at: usize| match row.get(at).map(String::as_str) {
            None | Some("") => NOTHING.to_owned(),
            Some(text) => text.to_owned(),
        };
        let head: Vec<String> = columns.iter().map(|at| self.titles[*at].to_uppercase()).collect();
        let rows = self.rows.iter().map(|row| columns.iter().map(|at| cell(row, *at)).collect::<Vec<_>>());
        let all: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        let notes = self.notes.iter().map(|note| format!("{note}\n"));
        all.iter().map(line).chain(notes).collect()
    }

    fn object(&self, row: &[String], columns: &[usize]) -> Json {
        let cell = |at: &usize| (key(self.titles[*at]), row.get(*at).cloned().unwrap_or_default().into());
        Json::Object(columns.iter().map(cell).collect::<Map<_, _>>())
    }

    /// As `bosh --json` prints a table.
    fn of_bosh(&self, columns: &[usize]) -> Json {
        let header = columns.iter().map(|at| (key(self.titles[*at]), self.titles[*at].into()));
        json!({
            "Tables": [{
                "Content": self.content,
                "Header": Json::Object(header.collect::<Map<_, _>>()),
                "Rows": self.rows.iter().map(|row| self.object(row, columns)).collect::<Vec<_>>(),
                "Notes": Json::Null,
            }],
            "Blocks": Json::Null,
            "Lines": [],
        })
    }
}

/// The name of a column for programs: `Process State` is `process_state`.
fn key(title: &str) -> String {
    title.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

fn pretty(json: &Json) -> String {
    format!("{json:#}\n")
}

/// JSON's strings are YAML's.
fn yaml(rows: &[Json]) -> String {
    if rows.is_empty() {
        return "[]\n".to_owned();
    }
    let mut text = String::new();
    for row in rows {
        for (number, (key, value)) in row.as_object().into_iter().flatten().enumerate() {
            text += &format!("{} {key}: {value}\n", if number == 0 { "-" } else { " " });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("instances", &["Instance", "Process State", "AZ"]);
        table.push(["web/0", "running", ""].map(str::to_owned));
        table.push(["database/0", "failing", "z1"].map(str::to_owned));
        table.note("2 instances".to_owned());
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let expected =
            "INSTANCE    PROCESS STATE  AZ\nweb/0       running        -\ndatabase/0  failing        z1\n2 instances\n";
        assert_eq!(table().text(&TableOptions::default()).unwrap(), expected);
    }

    #[test]
    fn columns_are_chosen_by_title_or_key() {
        let columns = |names: &[&str]| TableOptions {
            columns: names.iter().map(|&name| name.to_owned()).collect(),
            ..TableOptions::default()
        };
        assert!(
            table().text(&columns(&["az", "Process State"])).unwrap().starts_with("AZ  PROCESS STATE\n-   running\n")
        );
        let message = table().text(&columns(&["instanc"])).unwrap_err().to_string();
        assert!(message.contains("unknown column 'instanc'") && message.contains("'instance'"), "{message}");
    }

    #[test]
    fn programs_get_the_form_of_the_bosh_cli_or_a_list() {
        let json = |options: &TableOptions| serde_json::from_str::<Json>(&table().text(options).unwrap()).unwrap();
        let bosh = json(&TableOptions { json: true, ..TableOptions::default() });
        assert_eq!(bosh["Tables"][0]["Header"]["process_state"], "Process State");
        assert_eq!(bosh["Tables"][0]["Rows"][0], json!({"instance": "web/0", "process_state": "running", "az": ""}));
        let rows = json(&TableOptions { format: Some(Format::Json), ..TableOptions::default() });
        assert_eq!(rows[1]["instance"], "database/0");
        let yaml = table().text(&TableOptions { format: Some(Format::Yaml), ..TableOptions::default() }).unwrap();
        assert!(
            yaml.starts_with("- instance: \"web/0\"\n  process_state: \"running\"\n  az: \"\"\n- instance"),
            "{yaml}"
        );
    }
}
