//! Links of other deployments, and of Services outside of any.

use testkit::files::write;

use crate::{Planned, plan, yaml};

const CONSUMER: &str = "consumes: [{name: db, type: sql}]\nproperties: {}";
const PROVIDER: &str = "provides: [{name: db, type: sql, properties: [port, user.name]}]\nproperties: {port: {default: 5432}, user.name: {default: admin}}";

fn consumer(from: &str) -> String {
    format!("instance_groups: [{{name: g, instances: 1, jobs: [{{name: c, release: r, consumes: {{db: {from}}}}}]}}]")
}

/// Plans a consumer with these files of links: code and what is printed.
fn consume(from: &str, files: &[(&str, &str)]) -> (Planned, Option<i32>, String) {
    let planned = plan(&[("c", CONSUMER), ("p", PROVIDER)], "instance_groups: []");
    planned.write("manifest.yml", &format!("{}{}\n", crate::HEAD, consumer(from)));
    for (path, text) in files {
        planned.write(&format!("links/{path}"), text);
    }
    let (code, printed) = planned.with(&["--output-dir", "out", "--links-dir", "links"]);
    (Planned { code, ..planned }, code, printed)
}

#[test]
fn a_shared_link_is_what_the_other_deployment_consumes() {
    let groups = |shared: &str| {
        format!(
            "instance_groups: [{{name: db, instances: 2, jobs: [{{name: p, release: r, provides: {{db: {{as: main{shared}}}}}}}]}}]"
        )
    };
    let provider = plan(&[("p", PROVIDER)], &groups(", shared: true"));
    let text = provider.file("out/links/output.json");
    let output: serde_json::Value = serde_json::from_str(&text).unwrap();
    let links: serde_json::Value = serde_json::from_str(output["links.json"].as_str().unwrap()).unwrap();
    let link = &links["links"][0];
    assert_eq!((link["name"].as_str(), link["type"].as_str()), (Some("main"), Some("sql")));
    let content = link["content"].to_string();

    let (consumer, code, printed) = consume("{from: main, deployment: d2}", &[("d2/main/sql", &content)]);
    assert_eq!(code, Some(0), "{printed}");
    let consumed = consumer.job("g", "c")["quarks"]["consumes"]["db"].clone();
    assert_eq!(consumed["properties"], yaml("{port: 5432, user: {name: admin}}"));
    assert_eq!(consumed["address"], yaml("d-db.default.svc.cluster.local"));
    assert_eq!(consumed["instances"][1]["address"], yaml("d-db-1.default.svc.cluster.local"));
    let link = &consumer.deployment().instance_groups[0].jobs[0].consumes[0];
    let external = link.external.as_ref().unwrap();
    assert_eq!((external.deployment.as_str(), external.name.as_str(), &external.service), ("d2", "main", &None));
    assert_eq!(link.instance_group, None);

    // What is no longer shared is removed.
    let again = provider.again(&format!("{}{}\n", crate::HEAD, groups("")));
    assert!(again.code == Some(0) && !again.exists("out/links"));
}

#[test]
fn a_service_outside_of_any_deployment_is_one_instance() {
    let link = "service: postgres\nproperties: {port: 5433, user: {name: app}}\n";
    let (planned, code, printed) = consume("{deployment: outside}", &[("outside/db/sql", link)]);
    assert_eq!(code, Some(0), "{printed}");
    let consumed = planned.job("g", "c")["quarks"]["consumes"]["db"].clone();
    assert_eq!(consumed["address"], yaml("postgres.default.svc.cluster.local"));
    assert_eq!(consumed["instances"][0]["address"], yaml("postgres.default.svc.cluster.local"));
    assert_eq!(consumed["properties"]["port"], yaml("5433"));
    let external = planned.deployment().instance_groups[0].jobs[0].consumes[0].external.clone().unwrap();
    assert_eq!(external.service.as_deref(), Some("postgres"));
}

#[test]
fn a_link_that_is_not_there_is_reported() {
    let link = "service: postgres\n";
    for (from, files, message) in [
        ("{deployment: d2}", &[][..], "consumes from deployment 'd2', but the deployment does not exist."),
        ("{from: x, deployment: d2}", &[("d2/db/sql", link)], "but the deployment shares no link 'x'; it shares: db."),
        ("{deployment: d2}", &[("d2/db/nosql", link)], "but its link 'db' has the type 'nosql', not 'sql'."),
        ("{deployment: d2}", &[("d2/db/sql", "servce: x")], "has an unknown key 'servce': did you mean 'service'?"),
        ("{deployment: d2}", &[("d2/db/sql", "[]")], "the link 'db' of deployment 'd2' is not a mapping"),
        ("{deployment: d2}", &[("d2/db/sql", "properties: {}")], "has neither 'service' nor 'address' and 'instances'"),
        ("{deployment: d2}", &[("d2/db/sql", "service: a.b")], "has a 'service' that is not the name of a Service"),
        ("{deployment: d2}", &[("d2/db/sql", "{address: a, instances: 1}")], "has 'instances' that are not a list"),
    ] {
        let (_, code, printed) = consume(from, files);
        assert!(code == Some(65) && printed.contains(message), "{from}: {printed}");
    }
}

/// The deployment's own provider of the type says which properties such a link has.
#[test]
fn a_link_that_lacks_a_promised_property_is_refused() {
    let groups = "instance_groups: [{name: g, instances: 1, jobs: [{name: c, release: r, consumes: {db: {deployment: d2}}}, {name: p, release: r}]}]";
    let planned = plan(&[("c", CONSUMER), ("p", PROVIDER)], "instance_groups: []");
    planned.write("manifest.yml", &format!("{}{groups}\n", crate::HEAD));
    planned.write("links/d2/db/sql", "{service: postgres, properties: {port: 1}}\n");
    let (code, printed) = planned.with(&["--output-dir", "out", "--links-dir", "links"]);
    let message = "lacks properties that links of the type 'sql' have: user.name";
    assert!(code == Some(65) && printed.contains(message), "{printed}");
}

impl Planned {
    fn file(&self, path: &str) -> String {
        assert_eq!(self.code, Some(0), "{}", self.printed);
        std::fs::read_to_string(self.work.path().join(path)).unwrap()
    }

    fn exists(&self, path: &str) -> bool {
        self.work.path().join(path).exists()
    }
}

#[test]
fn files_of_kubernetes_own_are_no_links() {
    let work = tempfile::tempdir().unwrap();
    write(&work.path().join("jobs-src/r/c/spec"), format!("name: c\n{CONSUMER}\n"));
    write(&work.path().join("links/d2/db/..2026/sql"), "x");
    write(&work.path().join("links/d2/db/sql"), "service: postgres");
    let planned = crate::plan_in(work, &format!("{}{}\n", crate::HEAD, "instance_groups: []"));
    planned.write("manifest.yml", &format!("{}{}\n", crate::HEAD, consumer("{deployment: d2}")));
    let (code, printed) = planned.with(&["--output-dir", "out", "--links-dir", "links"]);
    assert_eq!(code, Some(0), "{printed}");
}
