//! What `--rbac` prints is enough, and needed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Templates;
use crate::cluster::kubectl;

const TEMPLATE: &str = "kind: Template
apiVersion: v1
parameters:
- {name: NAME, required: true}
- {name: PASSWORD, generate: expression, from: '[a-z]{20}'}
objects:
- {kind: ConfigMap, apiVersion: v1, metadata: {name: $(NAME)}, data: {p: $(PASSWORD)}}
- {kind: ServiceAccount, apiVersion: v1, metadata: {name: $(NAME)}}
- kind: Role
  apiVersion: rbac.authorization.k8s.io/v1
  metadata: {name: $(NAME)}
  rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
- kind: RoleBinding
  apiVersion: rbac.authorization.k8s.io/v1
  metadata: {name: $(NAME)}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: $(NAME)}
  subjects: [{kind: ServiceAccount, name: $(NAME)}]
- kind: RoleBinding
  apiVersion: rbac.authorization.k8s.io/v1
  metadata: {name: $(NAME)-view}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
  subjects: [{kind: ServiceAccount, name: $(NAME)}]
";

/// A kubeconfig for an account of the namespace.
fn account(templates: &Templates, name: &str) -> PathBuf {
    templates.namespace.kubectl(&["create", "serviceaccount", name]);
    let token = templates.namespace.kubectl(&["create", "token", name]);
    let config = kubectl(&["config", "view", "--raw", "--minify", "--flatten", "--output", "json"]);
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["users"][0]["user"] = serde_json::json!({"token": token.trim()});
    templates.write("account", &config.to_string())
}

/// What an account may do, as the API server sees it now: its authorizer reads Roles and their bindings with a delay.
fn allowed(templates: &Templates, account: &Path) -> Vec<Value> {
    let review = serde_json::json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": templates.namespace.name},
    });
    let review = templates.write("review.json", &review.to_string());
    let post = ["create", "--raw", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "--filename"];
    let created =
        kubectl(&[&["--kubeconfig", account.to_str().unwrap()], &post[..], &[review.to_str().unwrap()]].concat());
    let mut review: Value = serde_json::from_str(&created).unwrap();
    serde_json::from_value(review["status"]["resourceRules"].take()).unwrap()
}

/// Waits until the API server lets an account do what `rules` say and no more than that and `before`.
fn wait_for_rules(templates: &Templates, account: &Path, before: usize, rules: &[Value]) {
    templates.namespace.wait_until("the API server knows the rules", || {
        let allowed = allowed(templates, account);
        let same = |rule: &Value, other: &Value| {
            ["apiGroups", "resources", "verbs", "resourceNames"].iter().all(|field| rule[field] == other[field])
        };
        allowed.len() == before + rules.len() && rules.iter().all(|rule| allowed.iter().any(|other| same(rule, other)))
    });
}

#[test]
fn the_printed_role_is_enough_and_needed() {
    let templates = Templates::new("rbac");
    let namespace = &templates.namespace;
    templates.write(
        "web.yaml",
        &TEMPLATE.replace(
            "subjects: [{kind: ServiceAccount, ",
            &format!("subjects: [{{kind: ServiceAccount, namespace: {}, ", namespace.name),
        ),
    );
    let account = account(&templates, "applier");
    let before = allowed(&templates, &account).len();
    let apply = ["apply-template", "--name", "shop", "--template", "web.yaml", "--param", "NAME=web"];
    let as_account = |arguments: &[&str]| templates.boson_with(arguments, Some(&account));
    let without = as_account(&apply);
    assert_eq!(without.code, 70, "{}", without.err);
    assert!(without.err.contains("error: cannot get Secret template.shop"), "{}", without.err);

    // Values are not needed for the role.
    let roles = templates.boson(&["apply-template", "--name", "shop", "--template", "web.yaml", "--rbac"]);
    assert_eq!(roles.code, 0, "{}", roles.err);
    assert!(roles.out.contains("kind: Role\n") && !roles.out.contains("kind: ClusterRole\n"), "{}", roles.out);
    namespace.apply(&roles.out);
    let binding = ["create", "rolebinding", "applier", "--role=apply-template-shop"];
    namespace.kubectl(&[&binding[..], &[&format!("--serviceaccount={}:applier", namespace.name)]].concat());

    let rules: Vec<Value> = serde_json::from_value(namespace.get("role/apply-template-shop")["rules"].take()).unwrap();
    wait_for_rules(&templates, &account, before, &rules);

    let first = as_account(&apply);
    assert_eq!(first.code, 0, "{}", first.err);
    assert!(as_account(&apply).out.contains("5 unchanged"));
    assert_eq!(as_account(&[&apply[..], &["--diff"]].concat()).code, 0);
    // What has left the template can be deleted.
    let renamed = ["apply-template", "--name", "shop", "--template", "web.yaml", "--param", "NAME=other"];
    let renamed = as_account(&renamed);
    assert!(
        renamed.code == 0 && renamed.out.contains("5 created, 0 changed, 5 deleted"),
        "{}{}",
        renamed.out,
        renamed.err
    );
    // Another instance's Secret is none of its business.
    let other = as_account(&["apply-template", "--name", "other", "--template", "web.yaml", "--param", "NAME=x"]);
    assert_eq!(other.code, 70, "{}", other.out);
    let deleted = as_account(&["apply-template", "--name", "shop", "--delete"]);
    assert_eq!(deleted.code, 0, "{}", deleted.err);

    // Nothing of it can be left out.
    for index in 0..rules.len() {
        let mut fewer = rules.clone();
        let removed = fewer.remove(index);
        let patch = serde_json::json!({"rules": &fewer}).to_string();
        namespace.kubectl(&["patch", "role/apply-template-shop", "--type=merge", "--patch", &patch]);
        wait_for_rules(&templates, &account, before, &fewer);
        let applied = as_account(&apply);
        let deleted = as_account(&["apply-template", "--name", "shop", "--delete"]);
        assert!(applied.code != 0 || deleted.code != 0, "not needed: {removed}");
        let patch = serde_json::json!({"rules": rules}).to_string();
        namespace.kubectl(&["patch", "role/apply-template-shop", "--type=merge", "--patch", &patch]);
        templates.apply("shop", &["--delete"]);
    }
}
