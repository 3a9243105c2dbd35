//! Definitions of services.

use indexmap::IndexMap;
use problem::Place;
use serde_json::{Map, Value as Json};

use crate::object::{Object, Placed, Unknown};
use crate::report::Report;
use crate::rules::{self, missing, present, unique};
use crate::yaml::Node;

/// A service.
#[derive(Debug, Clone, Default)]
pub struct Definition {
    /// The file that it stands in.
    pub file: String,
    /// Its name.
    pub name: Placed<String>,
    /// Its UUID.
    pub id: Placed<String>,
    /// Plans of the definition and of the operator.
    pub plans: Vec<Plan>,
    /// What provisioning does.
    pub provision: Action,
    /// What binding does.
    pub bind: Action,
    /// Its examples.
    pub examples: Vec<Example>,
    /// Everything, as it stands in the file.
    pub json: Json,
    /// Where the definition starts.
    pub place: Place,
    /// Whether it has a value for `provision` and for `bind`.
    pub has_actions: [bool; 2],
}

/// A plan.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Its name.
    pub name: Placed<String>,
    /// Its UUID.
    pub id: Placed<String>,
    /// Constants of all calls.
    pub properties: Map<String, Json>,
    /// Constants of provision calls.
    pub provision_overrides: Map<String, Json>,
    /// Constants of bind calls.
    pub bind_overrides: Map<String, Json>,
    /// Where it stands: its path in the definition.
    pub path: String,
}

/// An action: a template with its inputs and outputs.
#[derive(Debug, Clone, Default)]
pub struct Action {
    /// Inputs that plans set.
    pub plan_inputs: Vec<Variable>,
    /// Inputs that users set.
    pub user_inputs: Vec<Variable>,
    /// Inputs that are computed.
    pub computed_inputs: Vec<Computed>,
    /// The template.
    pub template: Placed<String>,
    /// The file of the template.
    pub template_ref: Placed<String>,
    /// Several templates by name.
    pub templates: IndexMap<String, Placed<String>>,
    /// The files of several templates.
    pub template_refs: IndexMap<String, Placed<String>>,
    /// Outputs of the template.
    pub outputs: Vec<Variable>,
    /// Inputs that start an import: names of inputs and addresses of resources.
    pub import_inputs: Vec<(String, String)>,
    /// Attributes of imported resources that become expressions.
    pub import_parameter_mappings: Vec<Mapping>,
    /// Attributes of imported resources that are removed, as paths.
    pub import_parameters_to_delete: Vec<String>,
    /// Attributes that imported resources get, as paths.
    pub import_parameters_to_add: Vec<Mapping>,
    /// Its path in the definition.
    pub path: String,
}

/// An attribute of an imported resource and its expression.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The attribute's name or path.
    pub tf_variable: String,
    /// The expression: `var.name` or any other.
    pub parameter_name: String,
}

/// An input or output.
#[derive(Debug, Clone, Default)]
pub struct Variable {
    /// Whether a value is required.
    pub required: bool,
    /// Its name.
    pub field_name: Placed<String>,
    /// Its type; may be empty.
    pub kind: Placed<String>,
    /// What it is about.
    pub details: String,
    /// Whether it may be null.
    pub nullable: bool,
    /// The value if none is set.
    pub default: Option<Json>,
    /// Valid values with their descriptions.
    pub values: Vec<(Json, String)>,
    /// Further rules of JSON Schema.
    pub constraints: Map<String, Json>,
    /// Whether updates may not set it.
    pub prohibit_update: bool,
    /// The attribute of an imported resource that has its value; may be empty.
    pub tf_attribute: String,
    /// The boolean input that turns `tf_attribute` off; may be empty.
    pub tf_attribute_skip: String,
    /// Its path in the definition.
    pub path: String,
}

/// A computed input.
#[derive(Debug, Clone, Default)]
pub struct Computed {
    /// Its name.
    pub name: Placed<String>,
    /// Its value; a text is an expression.
    pub default: Option<Placed<Json>>,
    /// Whether it replaces a value that exists.
    pub overwrite: bool,
    /// The type that the result is cast to; may be empty.
    pub kind: Placed<String>,
    /// Its path in the definition.
    pub path: String,
}

/// An example.
#[derive(Debug, Clone, Default)]
pub struct Example {
    /// Its name.
    pub name: String,
    /// The plan's UUID.
    pub plan_id: Placed<String>,
    /// Parameters of the instance.
    pub provision_params: Map<String, Json>,
    /// Parameters of the binding.
    pub bind_params: Map<String, Json>,
    /// Whether binding may fail.
    pub bind_can_fail: bool,
    /// Its path in the definition.
    pub path: String,
}

impl Definition {
    /// Reads a definition, and reports all that is wrong with the document alone.
    pub fn read(node: &Node, file: &str, report: &mut Report) -> Definition {
        let mut object = Object::new(node, file, String::new(), Unknown::Warning, report);
        match object.integer("version", report) {
            Some(1) | None => {}
            Some(other) => report.error(format!("invalid value: {other}"), "version", object.place_of("version")),
        }
        let mut text = |key| object.text(key, report);
        let [name, id] = ["name", "id"].map(&mut text);
        let [description, display_name] = ["description", "display_name"].map(&mut text);
        let urls = ["image_url", "documentation_url", "support_url"].map(|key| (key, text(key)));
        text("provider_display_name");
        rules::name(&name, "name".to_owned(), report);
        rules::uuid(&id, "id".to_owned(), report);
        present(&description, "description".to_owned(), report);
        present(&display_name, "display_name".to_owned(), report);
        for (key, url) in urls {
            rules::url(&url, key.to_owned(), report);
        }
        object.texts("tags", report);
        object.boolean("plan_updateable", report);
        let plans: Vec<Plan> =
            object.objects("plans", report).into_iter().map(|plan| self::plan(plan, report)).collect();
        let (mut names, mut ids) = (Vec::new(), Vec::new());
        for plan in &plans {
            unique(&mut names, &plan.name, format!("{}.Name", plan.path), report);
            unique(&mut ids, &plan.id, format!("{}.ID", plan.path), report);
        }
        let actions = ["provision", "bind"].map(|key| object.object(key, report));
        let has_actions = [actions[0].is_some(), actions[1].is_some()];
        let [provision, bind] =
            actions.map(|action| action.map(|action| self::action(action, report)).unwrap_or_default());
        let examples = object.objects("examples", report).into_iter().map(|item| example(item, report)).collect();
        let place = object.place.clone();
        object.finish(report);
        let json = node.to_json();
        let file = file.to_owned();
        Definition { file, name, id, plans, provision, bind, examples, json, place, has_actions }
    }

    /// A plan by its name or id.
    pub fn plan(&self, name_or_id: &str) -> Option<&Plan> {
        self.plans.iter().find(|plan| plan.id.value == name_or_id || plan.name.value == name_or_id)
    }
}

fn plan(mut object: Object<'_>, report: &mut Report) -> Plan {
    let texts = ["name", "id", "description", "display_name"].map(|key| object.text(key, report));
    let [name, id, description, display_name] = texts;
    rules::name(&name, object.at("name"), report);
    rules::uuid(&id, object.at("id"), report);
    present(&description, object.at("description"), report);
    present(&display_name, object.at("display_name"), report);
    object.texts("bullets", report);
    object.boolean("free", report);
    let mut values = |key| object.values(key, report);
    let (properties, provision_overrides, bind_overrides) =
        (values("properties"), values("provision_overrides"), values("bind_overrides"));
    let path = object.path.clone();
    object.finish(report);
    Plan { name, id, properties, provision_overrides, bind_overrides, path }
}

fn example(mut object: Object<'_>, report: &mut Report) -> Example {
    let [name, description, plan_id] = ["name", "description", "plan_id"].map(|key| object.text(key, report));
    present(&name, object.at("name"), report);
    present(&description, object.at("description"), report);
    present(&plan_id, object.at("plan_id"), report);
    let provision_params = object.values("provision_params", report);
    let bind_params = object.values("bind_params", report);
    let bind_can_fail = object.boolean("bind_can_fail", report);
    let path = object.path.clone();
    object.finish(report);
    Example { name: name.value, plan_id, provision_params, bind_params, bind_can_fail, path }
}

fn action(mut object: Object<'_>, report: &mut Report) -> Action {
    let mut variables =
        |key| -> Vec<Variable> { object.objects(key, report).into_iter().map(|item| variable(item, report)).collect() };
    let (plan_inputs, user_inputs, outputs) =
        (variables("plan_inputs"), variables("user_inputs"), variables("outputs"));
    let computed = object.objects("computed_inputs", report).into_iter();
    let computed_inputs = computed.map(|item| self::computed(item, report)).collect();
    let [template, template_ref] = ["template", "template_ref"].map(|key| object.text(key, report));
    let [templates, template_refs] = ["templates", "template_refs"].map(|key| object.text_map(key, report));
    let imports = object.objects("import_inputs", report).into_iter();
    let import_inputs = imports.map(|item| import_input(item, report)).collect();
    let [import_parameter_mappings, import_parameters_to_add] =
        ["import_parameter_mappings", "import_parameters_to_add"].map(|key| mappings(&mut object, key, report));
    let deleted = object.texts("import_parameters_to_delete", report).into_iter();
    let import_parameters_to_delete = deleted.map(|path| path.value).collect();
    let path = object.path.clone();
    object.finish(report);
    Action {
        plan_inputs,
        user_inputs,
        computed_inputs,
        template,
        template_ref,
        templates,
        template_refs,
        outputs,
        import_inputs,
        import_parameter_mappings,
        import_parameters_to_delete,
        import_parameters_to_add,
        path,
    }
}

fn mappings(object: &mut Object<'_>, key: &'static str, report: &mut Report) -> Vec<Mapping> {
    let mut mappings = Vec::new();
    for mut item in object.objects(key, report) {
        let [variable, parameter] = ["tf_variable", "parameter_name"].map(|key| item.text(key, report));
        present(&variable, item.at("tf_variable"), report);
        if present(&parameter, item.at("parameter_name"), report)
            && hcl_edit::parser::parse_expr(parameter.value.trim()).is_err()
        {
            report.error("invalid HCL", item.at("parameter_name"), parameter.place);
        }
        item.finish(report);
        mappings.push(Mapping { tf_variable: variable.value, parameter_name: parameter.value });
    }
    mappings
}

fn import_input(mut object: Object<'_>, report: &mut Report) -> (String, String) {
    let [name, kind, _, resource] =
        ["field_name", "type", "details", "tf_resource"].map(|key| object.text(key, report));
    present(&name, object.at("field_name"), report);
    present(&resource, object.at("tf_resource"), report);
    rules::variable_type(&kind, object.at("type"), report);
    object.finish(report);
    (name.value, resource.value)
}

fn variable(mut object: Object<'_>, report: &mut Report) -> Variable {
    let required = object.boolean("required", report);
    let [field_name, kind, details] = ["field_name", "type", "details"].map(|key| object.text(key, report));
    present(&field_name, object.at("field_name"), report);
    rules::variable_type(&kind, object.at("type"), report);
    present(&details, object.at("details"), report);
    let nullable = object.boolean("nullable", report);
    let default = object.get("default").map(Node::to_json);
    let mut values = Vec::new();
    if let Some(node) = object.get("enum") {
        for entry in node.entries().unwrap_or_default() {
            values.push((entry.key.1.clone(), entry.value.to_json().as_str().unwrap_or_default().to_owned()));
        }
        if node.entries().is_none() {
            let message = format!("line {}: cannot unmarshal {} into a map", node.line, node.tag());
            report.error(message, object.at("enum"), object.place_of("enum"));
        }
    }
    let constraints = object.values("constraints", report);
    let [attribute, skip] = ["tf_attribute", "tf_attribute_skip"].map(|key| object.text(key, report));
    if !attribute.value.is_empty() && !is_attribute(&attribute.value) {
        let message = "field must match '^([-a-zA-Z0-9_-]*\\.[-a-zA-Z0-9_-]*){2}'";
        report.error(message, object.at("tf_attribute"), attribute.place.clone());
    }
    let prohibit_update = object.boolean("prohibit_update", report);
    let path = object.path.clone();
    object.finish(report);
    Variable {
        required,
        field_name,
        kind,
        details: details.value,
        nullable,
        default,
        values,
        constraints,
        prohibit_update,
        tf_attribute: attribute.value,
        tf_attribute_skip: skip.value,
        path,
    }
}

/// `type.name.attribute`, with anything behind it.
fn is_attribute(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.')).unwrap_or(text.len());
    text[..end].matches('.').count() >= 2
}

fn computed(mut object: Object<'_>, report: &mut Report) -> Computed {
    let [name, kind] = ["name", "type"].map(|key| object.text(key, report));
    present(&name, object.at("name"), report);
    let default = object.get("default").map(Node::to_json);
    if default.is_none() {
        missing(object.at("default"), object.place_of("default"), report);
    }
    rules::variable_type(&kind, object.at("type"), report);
    let default = default.map(|value| Placed { value, place: object.place_of("default") });
    let overwrite = object.boolean("overwrite", report);
    let path = object.path.clone();
    object.finish(report);
    Computed { name, default, overwrite, kind, path }
}
