//! The documentation of a pak.

mod common;

use brokerpak_model::markdown::document;
use common::{MANIFEST, SERVICE, read};

#[test]
fn services_plans_inputs_and_examples() {
    let rest = "provision:
  user_inputs:
  - {field_name: size, type: integer, details: \"How\\nmuch\", required: true, default: 3, constraints: {exclusiveMaximum: 9, exclusiveMinimum: 1}, enum: {3: three}, prohibit_update: true}
examples:
- {name: E, description: d, plan_id: 00000000-0000-0000-0000-000000000001, provision_params: {a: it's}}
";
    let (pak, report) = read(&[("manifest.yml", MANIFEST), ("s.yml", &format!("{SERVICE}{rest}"))]);
    assert!(!report.has_errors());
    let text = document(&pak);
    for part in [
        "# pak 1.0.0\n",
        "## S\n\nd\n\n* Name: `s`\n",
        "* **`small`** (`00000000-0000-0000-0000-000000000001`): d\n  * `fixed`: `1`\n",
        "* **`size`** (integer, required, cannot be updated): How much\n  * Default: `3`\n  * Value `3`: three\n  * `exclusiveMaximum`: `9`\n  * `exclusiveMinimum`: `1`\n",
        "### Bind: parameters\n\nNone.\n",
        "cf create-service s small my-instance -c '{\"a\":\"it'\\''s\"}'\ncf bind-service my-app my-instance -c '{}'\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
