//! What exists becomes a template.

use serde_json::json;

use super::*;
use crate::definition::Mapping;

fn mapping(variable: &str, parameter: &str) -> Mapping {
    Mapping { tf_variable: variable.to_owned(), parameter_name: parameter.to_owned() }
}

fn imported() -> (State, Schemas) {
    let state = json!({ "version": 4, "resources": [{
        "mode": "managed", "type": "azurerm_mssql_database", "name": "azure_sql_db",
        "instances": [{ "attributes": {
            "id": "/subscriptions/1", "name": "db", "server_name": "${x} \"q\"\n", "read_only": "r", "unset": null,
            "requested_service_objective_name": "S0", "tags": { "a b": "1", "gone": "2" }, "zones": ["1"],
            "sku": [{ "tier": "Basic", "size": 2 }], "timeouts": null,
        } }],
    }] });
    let optional = json!({ "type": "string", "optional": true });
    let schema = json!({
        "attributes": {
            "id": { "type": "string", "optional": true, "computed": true },
            "name": { "type": "string", "required": true },
            "server_name": optional, "unset": optional, "tags": optional, "zones": optional,
            "read_only": { "type": "string", "computed": true },
            "requested_service_objective_name": optional,
        },
        "block_types": {
            "sku": { "nesting_mode": "list", "block": { "attributes": { "tier": optional, "size": optional } } },
            "timeouts": { "nesting_mode": "single", "block": {} },
        },
    });
    let state = State::parse(state.to_string().as_bytes()).unwrap();
    (state, Schemas::from([("azurerm_mssql_database".to_owned(), schema)]))
}

fn template(sources: &[(&str, &str)]) -> Template {
    let sources = sources.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Template { sources, ..Template::default() }
}

#[test]
fn main_is_replaced_by_what_exists() {
    let own = "azurerm_mssql_database.azure_sql_db";
    let action = Action {
        import_parameter_mappings: vec![
            mapping("requested_service_objective_name", "var.service_objective"),
            mapping("name", "var.db_name"),
            mapping("size", "10"),
        ],
        import_parameters_to_delete: vec![
            format!("{own}.tags.gone"),
            format!("{own}.zones"),
            format!("{own}.sku.tier"),
        ],
        import_parameters_to_add: vec![mapping(&format!("{own}.added"), "var.added")],
        ..Action::default()
    };
    let (state, schemas) = imported();
    let before = template(&[("main", "resource \"x\" \"y\" {}"), ("outputs", "output o { value = var.db_name }")]);
    let rewritten = rewrite(&action, &before, &state, &schemas).unwrap();
    let expected = "resource \"azurerm_mssql_database\" \"azure_sql_db\" {
  added = var.added
  name = var.db_name
  server_name = \"$${x} \\\"q\\\"\\n\"
  tags = {
    \"a b\" = \"1\"
  }
  requested_service_objective_name = var.service_objective
  sku {
    size = 10
  }
}

";
    assert_eq!(rewritten.template.sources["main"], expected);
    assert_eq!(rewritten.template.sources.len(), 2);
    let names: Vec<&str> = rewritten.template.names.used.iter().map(String::as_str).collect();
    assert_eq!(names, ["added", "db_name", "service_objective"]);
    let values = json!({ "service_objective": "S0", "db_name": "db" });
    assert_eq!(Json::Object(rewritten.values), values);
}

#[test]
fn the_only_template_keeps_the_rest() {
    let (state, schemas) = imported();
    let source = "variable a {}\nresource \"azurerm_mssql_database\" \"azure_sql_db\" {\n}\nresource \"x\" \"y\" {}\n";
    let rewritten = rewrite(&Action::default(), &template(&[("", source)]), &state, &schemas).unwrap();
    let main = &rewritten.template.sources["main"];
    assert!(main.starts_with("variable a {}\nresource \"x\" \"y\" {}\nresource \"azurerm"), "{main}");
    assert_eq!(main.matches("azure_sql_db").count(), 1);
}

#[test]
fn wrong_expressions_and_missing_schemas_are_errors() {
    let (state, schemas) = imported();
    let action = Action { import_parameter_mappings: vec![mapping("name", "var.")], ..Action::default() };
    let error = rewrite(&action, &Template::default(), &state, &schemas).map(drop);
    assert_eq!(error, Err("the parameter_name of name is not an expression".to_owned()));
    let error = rewrite(&Action::default(), &Template::default(), &state, &Schemas::new()).map(drop);
    assert_eq!(error, Err("the provider has no schema of azurerm_mssql_database".to_owned()));
}

#[test]
fn plans_that_destroy() {
    let change = |address: &str, actions: &[&str]| json!({ "address": address, "change": { "actions": actions } });
    let changes = [change("a.b", &["delete", "create"]), change("c.d", &["update"]), change("e.f", &["delete"])];
    let plan = json!({ "format_version": "1.2", "resource_changes": changes });
    assert_eq!(destroyed(plan.to_string().as_bytes()).unwrap(), ["a.b", "e.f"]);
    assert!(destroyed(b"{}").is_err());
}
