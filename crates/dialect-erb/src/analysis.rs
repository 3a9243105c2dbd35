//! What a template's code may touch, seen without running it.

/// What is known about a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Evaluating it cannot change anything that a later template sees. Where that is not certain, it is false.
    pub leaves_nothing_behind: bool,
    /// It could tell a struct built on demand from one built at once.
    pub eager: bool,
    /// Libraries worth loading before processes are forked.
    pub features: Vec<&'static str>,
    /// Its output is the same for every instance of a group.
    pub same_for_all_instances: bool,
}

/// Looks at a template.
pub fn analyse(template: &[u8]) -> Facts {
    let text = String::from_utf8_lossy(template);
    let has = |word: &str| text.contains(word);
    let features = [
        ("json", has("JSON") || has("json")),
        ("yaml", has("YAML") || has("yaml") || has("Psych")),
        ("ipaddr", has("IPAddr")),
        ("uri", has("URI")),
        ("openssl", has("OpenSSL")),
        ("base64", has("Base64")),
        ("digest", has("Digest")),
        ("shellwords", has("shellescape") || has("Shellwords") || has("shelljoin")),
        ("set", has("Set.new") || has("to_set")),
    ];
    Facts {
        leaves_nothing_behind: false,
        eager: has("@") && (has("@spec") || has("@properties") || has("instance_variable")),
        features: features.into_iter().filter(|(_, used)| *used).map(|(feature, _)| feature).collect(),
        same_for_all_instances: false,
    }
}

/// Code that leaves a template with a magic comment to ERB's own compiler.
pub fn delegate(template: &[u8]) -> Vec<u8> {
    let mut code = b"#coding:UTF-8\n".to_vec();
    code.extend_from_slice(b"eval(ERB.new(\"");
    for b in template {
        code.extend_from_slice(format!("\\x{b:02X}").as_bytes());
    }
    code.extend_from_slice(b"\".dup.force_encoding(Encoding::UTF_8), trim_mode: '-').src, binding, __FILE__, 0)");
    code
}
