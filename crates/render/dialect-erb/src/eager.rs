//! Templates whose output may depend on when a struct is built: on demand, or at once, as BOSH does.

use crate::scanner;

/// Names that read one key of `spec` and do nothing else with it.
const KEYS: &[&str] = &[
    "address",
    "az",
    "bootstrap",
    "deployment",
    "dns_domain_name",
    "id",
    "index",
    "ip",
    "job",
    "name",
    "networks",
    "persistent_disk",
    "release",
];

/// Keys of `spec` that hold what `p` and `link` read too: a template that changes one sees the other change.
const SHARED: &[&str] = &["links", "properties"];

/// Methods of `spec` that answer the same for both.
const QUESTIONS: &[&str] = &["dig", "marshal_dump", "methods", "respond_to?", "to_h"];

/// Whether the structs must be built before the template runs. `harmless`: it changes no object that is not its own.
pub(crate) fn needs_whole_structs(template: &[u8], harmless: bool) -> bool {
    let Ok(text) = std::str::from_utf8(template) else { return true };
    scanner::fragments(text).into_iter().any(|code| of_fragment(code, harmless))
}

fn of_fragment(code: &str, harmless: bool) -> bool {
    if code.contains("instance_variable") {
        return true;
    }
    let mut words = words(code);
    words.any(|(word, before, after)| match word {
        "spec" => !reads_a_key(after, harmless),
        // `link(..).properties` is a Hash of its own.
        "properties" => !harmless && !before.ends_with('.'),
        _ => false,
    })
}

/// Each word with what is before and after it.
fn words(code: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(is_part)?;
        let end = code[start..].find(|c| !is_part(c)).map_or(code.len(), |n| start + n);
        at = end;
        Some((&code[start..end], &code[..start], &code[end..]))
    })
}

/// Whether `.key` follows, and is not assigned to.
fn reads_a_key(after: &str, harmless: bool) -> bool {
    let Some(rest) = after.strip_prefix('.').or_else(|| after.strip_prefix("&.")) else { return false };
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '?' | '!'))).unwrap_or(rest.len());
    let (name, tail) = rest.split_at(end);
    let tail = tail.trim_start();
    let assigned = tail.starts_with('=') && !tail.starts_with("==") && !tail.starts_with("=~");
    !assigned && (KEYS.contains(&name) || QUESTIONS.contains(&name) || (harmless && SHARED.contains(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_keys_builds_what_is_read() {
        for template in [
            "no tags, but a spec",
            "<%= spec.index %> <%= spec&.az == 'z1' %>",
            "<%= spec.networks.methods(false).first %>",
            "<%= spec.to_h.keys %>",
            "<%= link('x').properties %> <%= p('specific') %>",
        ] {
            assert!(!needs_whole_structs(template.as_bytes(), false), "{template}");
        }
        assert!(!needs_whole_structs(b"<%= properties.a %> <%= spec.properties.a %>", true));
    }

    #[test]
    fn whatever_else_is_done_with_a_struct_needs_it_whole() {
        for template in [
            "<%= case spec when OpenStruct then 1 end %>",
            "<%= Marshal.dump(spec) %>",
            "<% spec.index = 1 %>",
            "<% spec[:index] = 1 %>",
            "<%= self.instance_variables %>",
            "<% p('xs') << 1 %><%= properties.xs %>",
            "<% p('xs') << 1 %><%= spec.properties.xs %>",
        ] {
            assert!(needs_whole_structs(template.as_bytes(), false), "{template}");
        }
    }
}
