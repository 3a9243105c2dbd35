//! Documents for `render-jobs` that are invalid or of another kind.

use testkit::files::write;

use crate::secrets::{PLAIN, names, properties};
use crate::templates::MANIFEST;
use crate::{job, planned, render};

#[test]
fn invalid_documents_are_refused_without_printing_values() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path();
    let declared: String = names().map(|name| format!("  s.{name}: {{}}\n")).collect();
    job(work, "j", &format!("properties:\n{declared}"), &[]);
    let manifest = format!("{MANIFEST}  - {{name: j, release: r, properties: {{s: {}}}}}\n", properties());
    write(&work.join("manifest.yml"), &manifest);
    planned(work);
    let good = std::fs::read_to_string(work.join("properties.yaml")).unwrap();
    assert_eq!(render(work).code, Some(0));

    let mut damaged = vec![manifest, PLAIN.to_owned(), format!("- {PLAIN}"), format!("name: {PLAIN}"), String::new()];
    let cuts = (1..16).map(|i| good.len() * i / 16).filter(|at| good.is_char_boundary(*at));
    damaged.extend(cuts.map(|at| good[..at].to_owned()));
    // Names are shown: they locate the error.
    for (i, line) in good.lines().enumerate().filter(|(_, line)| {
        let key = line.trim_start_matches(['-', ' ']).split(':').next().unwrap();
        line.contains(": ") && !["name", "release"].contains(&key)
    }) {
        let (key, _) = line.split_once(": ").unwrap();
        let values = [PLAIN.to_owned(), format!("[{PLAIN}]"), format!("*{PLAIN}"), format!("\"{PLAIN}")];
        damaged.push(good.replacen(line, &format!("{key}: {}", values[i % 4]), 1));
    }
    for text in damaged {
        write(&work.join("properties.yaml"), &text);
        let code = render(work).code;
        // Fields that are not read may have any value.
        assert!(matches!(code, Some(0 | 65 | 66)), "{code:?} for {text}");
    }
}
