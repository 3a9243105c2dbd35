//! Documentation pages with the executables' output as examples.

/// The page with each fenced block that `example` recognises replaced, and their number. `example` gets the line
/// above the block.
pub fn fill(page: &str, example: impl Fn(&str) -> Option<String>) -> (String, usize) {
    let mut after = String::new();
    let mut above = "";
    let mut filled = 0;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        after.push_str(line);
        after.push('\n');
        if !line.starts_with("```") {
            above = if line.is_empty() { above } else { line };
            continue;
        }
        let held: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let example = example(above);
        filled += usize::from(example.is_some());
        after.push_str(&example.unwrap_or_else(|| held.iter().map(|line| format!("{line}\n")).collect()));
        after.push_str("```\n");
        above = "";
    }
    (after, filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_blocks_are_filled() {
        let page = "a:\n\n```text\nold\n```\n\nb:\n```\nkept\n```\n";
        let (after, filled) = fill(page, |above| (above == "a:").then(|| "new\n".to_owned()));
        assert_eq!((after.as_str(), filled), ("a:\n\n```text\nnew\n```\n\nb:\n```\nkept\n```\n", 1));
    }
}
