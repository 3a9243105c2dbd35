//! The files of what is made. In their texts, RELEASE and JOB stand for names.

/// Path and text.
pub(crate) type Files = Vec<(String, String)>;

/// A file of the directory `skeleton`.
macro_rules! text {
    ($path:literal) => {
        include_str!(concat!("../skeleton/", $path))
    };
}

/// The templates of a job: source, destination and text.
const JOB: [(&str, &str, &str); 4] = [
    ("bpm.yml", "config/bpm.yml", text!("job/bpm.yml")),
    ("server.erb", "bin/server", text!("job/server.erb")),
    ("pre-start.erb", "bin/pre-start", text!("job/pre-start.erb")),
    ("drain", "bin/drain", text!("job/drain")),
];
const ERRAND: [(&str, &str, &str); 1] = [("run.erb", "bin/run", text!("errand/run.erb"))];

/// What the tags of the templates render to with the defaults of the specs.
const RENDERED: [(&str, &str); 3] =
    [("<%= p('message').shellescape %>", "hello"), ("<%= p('interval') %>", "10"), ("<%= spec.index %>", "0")];

/// The files of a release without its jobs; the manifest deploys one.
pub(crate) fn release(name: &str, job: &str) -> Files {
    let files = [
        (".gitignore", text!("release/gitignore")),
        ("config/blobs.yml", text!("release/blobs.yml")),
        ("config/final.yml", text!("release/final.yml")),
    ];
    let mut files: Files =
        files.into_iter().map(|(path, text)| (path.to_owned(), text.replace("RELEASE", name))).collect();
    // Git keeps no empty directories.
    files.extend(["packages/.gitkeep", "src/.gitkeep"].map(|path| (path.to_owned(), String::new())));
    let manifest = text!("release/manifest.yml").replace("RELEASE", name).replace("JOB", job);
    files.push((format!("manifests/{name}.yml"), manifest));
    files
}

/// The files of a job with its test.
pub(crate) fn job(name: &str) -> Files {
    files(name, text!("job/spec"), text!("job/monit"), &JOB)
}

/// The files of an errand with its test.
pub(crate) fn errand(name: &str) -> Files {
    files(name, text!("errand/spec"), text!("errand/monit"), &ERRAND)
}

fn files(name: &str, spec: &str, monit: &str, templates: &[(&str, &str, &str)]) -> Files {
    let expected = format!("tests/{name}/default/expected");
    let mut files = vec![
        (format!("jobs/{name}/spec"), spec.to_owned()),
        (format!("jobs/{name}/monit"), monit.to_owned()),
        (format!("{expected}/monit"), monit.to_owned()),
    ];
    for (source, destination, text) in templates {
        let rendered = RENDERED.iter().fold((*text).to_owned(), |text, (tag, value)| text.replace(tag, value));
        files.push((format!("jobs/{name}/templates/{source}"), (*text).to_owned()));
        files.push((format!("{expected}/{destination}"), rendered));
    }
    files.into_iter().map(|(path, text)| (path, text.replace("JOB", name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_left_open() {
        for (path, text) in [release("r", "j"), job("j"), errand("e")].concat() {
            assert!(!path.contains("JOB") && !text.contains("JOB") && !text.contains("RELEASE"), "{path}: {text}");
            assert!(!path.contains("/expected/") || !text.contains("<%"), "{path}: {text}");
        }
    }
}
