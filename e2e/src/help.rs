//! What `--help` of an executable or a verb lists.

/// Returns the verbs, from the paragraphs between usage and options.
pub fn verbs(help: &str) -> Vec<String> {
    let mut title = "";
    let mut verbs = Vec::new();
    let lists = help.lines().skip_while(|line| !line.starts_with("Usage:")).skip(1);
    for line in lists.take_while(|line| *line != "Options:") {
        if !line.starts_with(' ') {
            title = line;
        } else if title.ends_with(':') && title != "Arguments:" && !line.starts_with("   ") {
            verbs.extend(line.split_whitespace().next().filter(|name| *name != "help").map(str::to_owned));
        }
    }
    verbs
}

/// Returns the topics that the last lines of an executable's help name: `boson help TOPIC`.
pub fn topics(help: &str) -> Vec<String> {
    let commands = help.lines().filter_map(|line| line.strip_prefix('`')?.split('`').next());
    commands.filter_map(|command| command.split_once(" help ")).map(|(_, topic)| topic.to_owned()).collect()
}
