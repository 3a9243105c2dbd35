//! The documents of other tools: LCOV's tracefile and Cobertura's XML.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Counts, Template};
use crate::report::escaped;

/// LCOV's tracefile (`geninfo(1)`, "FILES").
pub(super) fn lcov(templates: &[Template]) -> String {
    let mut text = String::new();
    for Template { file, coverage, .. } in templates {
        let _ = write!(text, "TN:\nSF:{file}\n");
        for (index, branch) in coverage.branches.iter().enumerate() {
            let is_reached = branch.ways.iter().any(|way| way.count > 0);
            for (number, way) in branch.ways.iter().enumerate() {
                let taken = if is_reached { way.count.to_string() } else { "-".to_owned() };
                let _ = writeln!(text, "BRDA:{},{index},{number},{taken}", branch.line);
            }
        }
        let counts = Counts::of(coverage);
        let _ = writeln!(text, "BRF:{}\nBRH:{}", counts.branches[1], counts.branches[0]);
        for (line, count) in &coverage.lines {
            let _ = writeln!(text, "DA:{line},{count}");
        }
        let _ = writeln!(text, "LF:{}\nLH:{}\nend_of_record", counts.lines[1], counts.lines[0]);
    }
    text
}

/// Cobertura's `coverage-04.dtd`: a package for each job, a class for each template. It has no time, so that equal results
/// are equal documents.
pub(super) fn cobertura(templates: &[Template], total: &Counts) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n\
         <coverage {} lines-covered=\"{}\" lines-valid=\"{}\" branches-covered=\"{}\" branches-valid=\"{}\" complexity=\"0\" \
         version=\"1\" timestamp=\"0\">\n  <sources>\n    <source>.</source>\n  </sources>\n  <packages>\n",
        rates(total),
        total.lines[0],
        total.lines[1],
        total.branches[0],
        total.branches[1]
    );
    let mut jobs: BTreeMap<&str, Vec<&Template>> = BTreeMap::new();
    templates.iter().for_each(|template| jobs.entry(&template.job).or_default().push(template));
    for (job, templates) in jobs {
        let counts = templates.iter().fold(Counts::default(), |sum, one| sum.plus(Counts::of(&one.coverage)));
        let _ = writeln!(
            text,
            "    <package name=\"{}\" {} complexity=\"0\">\n      <classes>",
            escaped(job),
            rates(&counts)
        );
        templates.into_iter().for_each(|template| class(template, &mut text));
        text += "      </classes>\n    </package>\n";
    }
    text + "  </packages>\n</coverage>\n"
}

fn class(template: &Template, text: &mut String) {
    let Template { file, coverage, .. } = template;
    let file = escaped(file);
    let _ = writeln!(
        text,
        "        <class name=\"{file}\" filename=\"{file}\" {} complexity=\"0\">\n          <methods/>\n          <lines>",
        rates(&Counts::of(coverage))
    );
    let mut lines: BTreeMap<u32, (u64, [usize; 2])> =
        coverage.lines.iter().map(|(line, count)| (*line, (*count, [0, 0]))).collect();
    for branch in &coverage.branches {
        let taken = branch.ways.iter().filter(|way| way.count > 0).count();
        let entry = lines.entry(branch.line).or_insert((u64::from(taken > 0), [0, 0]));
        entry.1 = [entry.1[0] + taken, entry.1[1] + branch.ways.len()];
    }
    for (line, (count, [taken, all])) in lines {
        let _ = match all {
            0 => writeln!(text, "            <line number=\"{line}\" hits=\"{count}\" branch=\"false\"/>"),
            _ => writeln!(
                text,
                "            <line number=\"{line}\" hits=\"{count}\" branch=\"true\" condition-coverage=\"{}% ({taken}/{all})\"/>",
                taken * 100 / all
            ),
        };
    }
    *text += "          </lines>\n        </class>\n";
}

fn rates(counts: &Counts) -> String {
    let rate = |[reached, all]: [usize; 2]| {
        let thousandths = (reached * 1000).checked_div(all).unwrap_or(1000);
        format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
    };
    format!("line-rate=\"{}\" branch-rate=\"{}\"", rate(counts.lines), rate(counts.branches))
}
