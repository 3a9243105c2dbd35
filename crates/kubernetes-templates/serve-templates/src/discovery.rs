//! What clients ask before they use an API: versions, groups, resources and OpenAPI.

use dialect_kubernetes_templates::Node;

use crate::node::{boolean, list, object, text, texts};
use crate::patch::{JSON_PATCH, MERGE_PATCH};
use crate::template::KIND;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

/// `/version`
pub(crate) fn version() -> Node {
    // A semantic version, which clients read: without the commit.
    let version = startup::version().split(' ').next().unwrap_or_default();
    object([("major", text("1")), ("minor", text("34")), ("gitVersion", text(format!("v1.34.0+boson-{version}")))])
}

/// `/api`: no core group.
pub(crate) fn core() -> Node {
    object([("kind", text("APIVersions")), ("versions", list([])), ("serverAddressByClientCIDRs", list([]))])
}

/// `/apis`
pub(crate) fn groups(name: &str) -> Node {
    object([("kind", text("APIGroupList")), ("apiVersion", text("v1")), ("groups", list([entry(name, [])]))])
}

/// `/apis/GROUP`
pub(crate) fn group(name: &str) -> Node {
    entry(name, [("kind", text("APIGroup")), ("apiVersion", text("v1"))])
}

fn entry<const N: usize>(name: &str, head: [(&'static str, Node); N]) -> Node {
    let version = || object([("groupVersion", text(format!("{name}/v1"))), ("version", text("v1"))]);
    object(head.into_iter().chain([
        ("name", text(name)),
        ("versions", list([version()])),
        ("preferredVersion", version()),
    ]))
}

/// `/apis/GROUP/v1`
pub(crate) fn resources(group: &str) -> Node {
    let resource = |name: &str, singular: &str, kind: &str, verbs: &[&str]| {
        let head = [
            ("name", text(name)),
            ("singularName", text(singular)),
            ("namespaced", boolean(true)),
            ("kind", text(kind)),
            ("verbs", texts(verbs)),
        ];
        head.to_vec()
    };
    let all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let processed = resource("processedtemplates", "processedtemplate", KIND, &["create"]);
    let templates = resource("templates", "template", KIND, &all);
    let mut of_stored = resource("templates/processed", "", "Parameters", &["create"]);
    of_stored.extend([("group", text("")), ("version", text("v1"))]);
    object([
        ("kind", text("APIResourceList")),
        ("apiVersion", text("v1")),
        ("groupVersion", text(format!("{group}/v1"))),
        ("resources", list([processed, templates, of_stored].map(object))),
    ])
}

/// `/openapi/v3`: where the documents of groups are.
pub(crate) fn openapi_index(group: &str) -> Node {
    let path = format!("apis/{group}/v1");
    let place = object([("serverRelativeURL", text(format!("/openapi/v3/{path}")))]);
    object([("paths", object([(path.as_str(), place)]))])
}

/// `/openapi/v2` and `/openapi/v3/apis/GROUP/v1`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenApi {
    V2,
    V3,
}

impl OpenApi {
    /// The document of a group.
    pub(crate) fn document(self, group: &str) -> Node {
        let info = || object([("title", text("Kubernetes Templates")), ("version", text("v1"))]);
        let schemas = self.schemas(group);
        let paths = self.paths(group);
        match self {
            OpenApi::V2 => {
                object([("swagger", text("2.0")), ("info", info()), ("paths", paths), ("definitions", schemas)])
            }
            OpenApi::V3 => object([
                ("openapi", text("3.0.0")),
                ("info", info()),
                ("paths", paths),
                ("components", object([("schemas", schemas)])),
            ]),
        }
    }

    /// The name of a kind's schema.
    fn name(group: &str, kind: &str) -> String {
        let reversed: Vec<&str> = group.split('.').rev().collect();
        format!("{}.v1.{kind}", reversed.join("."))
    }

    fn reference(self, group: &str, kind: &str) -> Node {
        let place = match self {
            OpenApi::V2 => "#/definitions/",
            OpenApi::V3 => "#/components/schemas/",
        };
        object([("$ref", text(format!("{place}{}", OpenApi::name(group, kind))))])
    }

    fn schemas(self, group: &str) -> Node {
        let any = || object([("type", text("object")), ("x-kubernetes-preserve-unknown-fields", boolean(true))]);
        let array = |items: Node, description: &str| {
            object([("type", text("array")), ("items", items), ("description", text(description))])
        };
        let string = |description: &str| object([("type", text("string")), ("description", text(description))]);
        let parameter = object([
            ("type", text("object")),
            ("description", text("A value that takes the place of references in objects.")),
            ("required", texts(&["name"])),
            (
                "properties",
                object([
                    ("name", string("The name, which references have: letters, digits and _.")),
                    ("displayName", string("The name for people.")),
                    ("description", string("What the parameter is for.")),
                    ("value", string("The default.")),
                    (
                        "required",
                        object([
                            ("type", text("boolean")),
                            ("description", text("Whether the value may not be empty.")),
                        ]),
                    ),
                    ("type", string("string, int, bool or base64.")),
                    ("parameterType", string("The same as type.")),
                    ("generate", string("expression: the value is generated.")),
                    ("from", string("The expression: text and classes such as [a-z0-9]{8}.")),
                ]),
            ),
        ]);
        let named = |kind: &str| self.reference(group, kind);
        let head =
            || vec![("apiVersion", string("The version of the API.")), ("kind", string("The kind of the object."))];
        let labels = object([
            ("type", text("object")),
            ("additionalProperties", object([("type", text("string"))])),
            ("description", text("Labels of all objects.")),
        ]);
        let mut fields = head();
        fields.extend([
            ("metadata", any()),
            ("message", string("Shown to the user behind the instantiation.")),
            ("objects", array(any(), "The objects, with references to parameters.")),
            ("parameters", array(named("Parameter"), "The parameters.")),
            ("labels", labels),
        ]);
        let mut values = head();
        values.push(("parameters", array(any(), "Values: name and value of each.")));
        let mut listed = head();
        listed.extend([("metadata", any()), ("items", array(named("Template"), "The templates."))]);
        let kind = |kind: &str, description: &str, fields: Vec<(&'static str, Node)>, required: &[&str]| {
            let mut schema = vec![("type", text("object")), ("description", text(description))];
            if !required.is_empty() {
                schema.push(("required", texts(required)));
            }
            schema.extend([
                ("properties", object(fields)),
                ("x-kubernetes-group-version-kind", list([gvk(group, kind)])),
            ]);
            (OpenApi::name(group, kind), object(schema))
        };
        let all = [
            kind(KIND, "Objects with parameters, which are processed into objects.", fields, &["objects"]),
            kind("TemplateList", "A list of templates.", listed, &["items"]),
            kind("Parameters", "Values for the parameters of a template.", values, &[]),
            (OpenApi::name(group, "Parameter"), parameter),
        ];
        object(all.iter().map(|(name, schema)| (name.as_str(), schema.clone())))
    }

    fn paths(self, group: &str) -> Node {
        let base = format!("/apis/{group}/v1");
        let of_namespace = format!("{base}/namespaces/{{namespace}}");
        let operation =
            |action: &str, kind: &str, body: Option<&str>| (method(action), self.operation(group, action, kind, body));
        let (body, none) = (Some(KIND), None);
        let paths = [
            (format!("{base}/templates"), vec![operation("list", KIND, none)]),
            (
                format!("{of_namespace}/templates"),
                vec![
                    operation("list", KIND, none),
                    operation("post", KIND, body),
                    operation("deletecollection", KIND, none),
                ],
            ),
            (
                format!("{of_namespace}/templates/{{name}}"),
                vec![
                    operation("get", KIND, none),
                    operation("put", KIND, body),
                    operation("patch", KIND, body),
                    operation("delete", KIND, none),
                ],
            ),
            (
                format!("{of_namespace}/templates/{{name}}/processed"),
                vec![operation("post", "Parameters", Some("Parameters"))],
            ),
            (format!("{of_namespace}/processedtemplates"), vec![operation("post", KIND, body)]),
        ];
        let paths = paths.map(|(path, operations)| {
            let mut item = vec![("parameters", self.path_parameters(&path))];
            item.extend(operations);
            (path, object(item))
        });
        object(paths.iter().map(|(path, item)| (path.as_str(), item.clone())))
    }

    fn path_parameters(self, path: &str) -> Node {
        let names = ["namespace", "name"].into_iter().filter(|name| path.contains(&format!("{{{name}}}")));
        list(names.map(|name| self.parameter(name, "path", "string")))
    }

    fn parameter(self, name: &str, place: &str, kind: &str) -> Node {
        let mut parameter = vec![("name", text(name)), ("in", text(place))];
        if place == "path" {
            parameter.push(("required", boolean(true)));
        }
        match self {
            OpenApi::V2 => parameter.push(("type", text(kind))),
            OpenApi::V3 => parameter.push(("schema", object([("type", text(kind))]))),
        }
        object(parameter)
    }

    fn operation(self, group: &str, action: &str, kind: &str, body: Option<&str>) -> Node {
        let mut parameters = Vec::new();
        let of_query = |name: &str, kind: &str| self.parameter(name, "query", kind);
        match action {
            "post" | "put" | "patch" => {
                parameters.extend(["dryRun", "fieldManager", "fieldValidation"].map(|name| of_query(name, "string")))
            }
            "delete" => parameters.push(of_query("dryRun", "string")),
            "list" | "deletecollection" => {
                parameters.extend(
                    ["labelSelector", "fieldSelector", "resourceVersion", "continue"]
                        .map(|name| of_query(name, "string")),
                );
                parameters.push(of_query("watch", "boolean"));
                parameters.extend(["limit", "timeoutSeconds"].map(|name| of_query(name, "integer")));
            }
            _ => {}
        }
        let types: &[&str] = if action == "patch" { &[JSON_PATCH, MERGE_PATCH] } else { &[JSON, YAML] };
        let schema = |kind: &str| object([("schema", self.reference(group, kind))]);
        let content = |types: &[&str], kind: &str| object(types.iter().map(|one| (*one, schema(kind))));
        let mut operation = Vec::new();
        if let Some(body) = body {
            match self {
                OpenApi::V2 => {
                    operation.push(("consumes", texts(types)));
                    parameters.push(object([
                        ("name", text("body")),
                        ("in", text("body")),
                        ("required", boolean(true)),
                        ("schema", self.reference(group, body)),
                    ]));
                }
                OpenApi::V3 => operation
                    .push(("requestBody", object([("required", boolean(true)), ("content", content(types, body))]))),
            }
        }
        let result = if action == "list" { "TemplateList" } else { KIND };
        let response = match self {
            OpenApi::V2 => {
                operation.push(("produces", texts(&[JSON, YAML])));
                [("description", text("OK")), ("schema", self.reference(group, result))]
            }
            OpenApi::V3 => [("description", text("OK")), ("content", content(&[JSON, YAML], result))],
        };
        operation.extend([
            ("parameters", list(parameters)),
            ("responses", object([(if action == "post" { "201" } else { "200" }, object(response))])),
            ("x-kubernetes-action", text(action)),
            ("x-kubernetes-group-version-kind", gvk(group, kind)),
        ]);
        object(operation)
    }
}

fn method(action: &str) -> &'static str {
    match action {
        "post" => "post",
        "put" => "put",
        "patch" => "patch",
        "delete" | "deletecollection" => "delete",
        _ => "get",
    }
}

fn gvk(group: &str, kind: &str) -> Node {
    object([("group", text(group)), ("version", text("v1")), ("kind", text(kind))])
}

#[cfg(test)]
mod tests {
    use dialect_kubernetes_templates::{Value, compact};

    use super::*;

    /// Whether a reference of a document leads to a part of it.
    fn unresolved(document: &Node, node: &Node, found: &mut Vec<String>) {
        match &node.value {
            Value::Map(map) => {
                for entry in map.iter() {
                    if let ("$ref", Some(reference)) = (entry.key.as_str(), entry.node.as_str()) {
                        let mut steps = reference.split('/').skip(1);
                        if steps.try_fold(document, |node, step| node.as_map()?.get(step)).is_none() {
                            found.push(reference.to_owned());
                        }
                    }
                    unresolved(document, &entry.node, found);
                }
            }
            Value::List(items) => items.iter().for_each(|item| unresolved(document, item, found)),
            _ => {}
        }
    }

    #[test]
    fn the_openapi_documents_describe_the_paths() {
        for version in [OpenApi::V2, OpenApi::V3] {
            let document = version.document("template.openshift.io");
            let mut found = Vec::new();
            unresolved(&document, &document, &mut found);
            assert!(found.is_empty(), "{found:?}");
            let shown = compact(&document);
            for part in [
                "\"/apis/template.openshift.io/v1/namespaces/{namespace}/templates/{name}/processed\"",
                "\"io.openshift.template.v1.Template\"",
                "\"name\":\"fieldValidation\"",
                "application/merge-patch+json",
            ] {
                assert!(shown.contains(part), "{part}");
            }
        }
    }

    #[test]
    fn the_group_has_three_resources() {
        let resources = compact(&resources("example.com"));
        for part in
            [r#""groupVersion":"example.com/v1""#, r#""name":"processedtemplates""#, r#""name":"templates/processed""#]
        {
            assert!(resources.contains(part), "{resources}");
        }
        assert!(
            compact(&groups("example.com"))
                .contains(r#""preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}"#)
        );
    }
}
