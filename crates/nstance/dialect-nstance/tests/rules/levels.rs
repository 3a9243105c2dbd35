//! Levels of args and vars, and what an instance leaves out.

use super::*;

const VARS_EXAMPLE: &str = r#"{
  "vars": {
    "EXAMPLE": "one",
  },
  "templates": {
    "default": {
      "vars": {
        "EXAMPLE": "two",
      },
      "userdata": {"content": "{{ .Var.EXAMPLE }} {{ .Vars.EXAMPLE }}"},
    },
  },
  "defaults": {"userdata": {"content": "default {{ .Var.EXAMPLE }}"}},
  "groups": {
    "blue": {},
    "green": {
      "template": "default",
    },
    "red": {
      "template": "default",
      "vars": {
        "EXAMPLE": "three",
      },
    },
    "black": {
      "vars": {
        "EXAMPLE": "four",
      },
    },
  },
}"#;

#[test]
fn the_levels_of_vars_are_global_template_and_group() {
    for (group, expected) in
        [("blue", "default one"), ("green", "two two"), ("red", "three three"), ("black", "default four")]
    {
        let rendered = rendered(VARS_EXAMPLE, &format!(r#"{{"group": "{group}"}}"#));
        assert_eq!(file(&rendered, "userdata"), expected, "{group}");
    }
}

#[test]
fn machine_pools_and_machines_are_higher_levels() {
    let configuration = r#"{
      "defaults": {"vars": {"A": "global", "B": "global"}, "args": {"o": {"x": 1}, "l": [1], "n": 1.50}},
      "templates": {"t": {"args": {"o": {"y": 2}}, "instance_type": "template"}},
      "groups": {"g": {"template": "t", "args": {"l": [2]}, "instance_type": "group"}}
    }"#;
    let instance = r#"{
      "group": "g",
      "machine_pool": {"vars": {"A": "pool"}, "args": {"o": {"x": 3}}, "instance_type": "pool"},
      "machine": {"vars": {"C": "machine"}, "args": {"o": {"z": "{{ .Vars.A }} {{ .Instance.Type }}"}}}
    }"#;
    let rendered = rendered(configuration, instance);
    assert_eq!(compact(&file(&rendered, "args.json")), r#"{"o":{"x":3,"y":2,"z":"pool pool"},"l":[2],"n":1.50}"#);
    assert_eq!(compact(&file(&rendered, "vars.json")), r#"{"A":"pool","B":"global","C":"machine"}"#);
}

#[test]
fn secret_vars_are_the_highest_level() {
    let (configuration, _) =
        Configuration::read("c", br#"{"vars": {"A": "low", "B": "low"}, "groups": {"g": {}}}"#).unwrap();
    let (mut instance, _) = Instance::read("i", br#"{"group": "g", "machine": {"vars": {"A": "machine"}}}"#).unwrap();
    let node = dialect_nstance::document::parse("v", "v", br#"{"A": "secret"}"#).unwrap();
    instance.set_vars("/secrets", node.as_object().unwrap().clone());
    let images = Images::new();
    let inputs = Inputs { instance: &instance, images: &images, download: &|_| None, settings: SETTINGS };
    let rendered = render(&configuration, configuration.group(&instance).unwrap(), inputs).unwrap();
    assert_eq!(compact(&file(&rendered, "vars.json")), r#"{"A":"secret","B":"low"}"#);
}

#[test]
fn a_global_var_stands_in_one_place() {
    let both = r#"{"vars": {"A": "1"},
 "defaults": {"vars": {"A": "2", "B": "3"}}, "groups": {"g": {}}}"#;
    assert_eq!(
        problems(both, r#"{"group": "g"}"#),
        "error: vars.A and defaults.vars.A are both set; both are for all groups\n  --> c.json:2:29\n  hint: the other one is at c.json:1:16"
    );
    let each = r#"{"vars": {"A": "1"}, "defaults": {"vars": {"B": "3"}}, "groups": {"g": {}}}"#;
    assert_eq!(compact(&of_g(each, "vars.json")), r#"{"A":"1","B":"3"}"#);
}

#[test]
fn vars_are_strings_or_objects_of_them_and_never_templates() {
    let nested = r#"{"vars": {"A": "{{ .x }}", "O": {"P": {"Q": "deep"}, "R": "r"}}, "groups": {"g": {
      "vars": {"O": {"R": "s"}}, "args": {"a": "{{ .Vars.A }} {{ .Var.O.P.Q }} {{ .Vars.O.R }}"}}}}"#;
    assert_eq!(compact(&of_g(nested, "args.json")), r#"{"a":"{{ .x }} deep s"}"#);
    let wrong = r#"{"vars": {"A": 1, "B": null, "C": true, "D": ["x"], "E": {"F": 4711}}, "groups": {"g": {}}}"#;
    let text = problems(wrong, "{}");
    for expected in [
        "vars.A is a number, not a string\n  --> c.json:1:16",
        "vars.B is null, not a string",
        "vars.C is a boolean, not a string",
        "vars.D is a list, not a string",
        "vars.E.F is a number, not a string",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(!text.contains("4711"));
}

#[test]
fn what_an_instance_leaves_out_comes_from_the_configuration() {
    let configuration = r#"{
      "cluster": {"id": "c1", "slug": "slug", "fqdn": "c.example", "ca_cert": "PEM"},
      "shard": {"id": "s1", "infra": {"provider": "mock", "region": "r1", "zone": "z1"},
        "advertise": {"registration_addr": "1:1", "operator_addr": "2:2", "agent_addr": "3:3"}},
      "templates": {"t": {"kind": "knc", "arch": "arm64", "instance_type": "small", "userdata": {"content":
        "{{ with .Instance }}{{ .ID }} {{ .Kind }} {{ .Arch }} {{ .Type }} {{ .Hostname }} {{ .FQDN }} {{ .IP4 }} {{ .IP6 }}{{ end }}|{{ with .Cluster }}{{ .ID }} {{ .Slug }} {{ .FQDN }} {{ .CACert }}{{ end }}|{{ with .Server }}{{ .Shard }} {{ .RegistrationAddr }} {{ .OperatorAddr }} {{ .AgentAddr }}{{ end }}|{{ with .Provider }}{{ .Kind }} {{ .Region }} {{ .Zone }}{{ end }}|{{ .Nonce }}"}}},
      "groups": {"g": {"template": "t"}, "typed": {"template": "t", "instance_type": "large"}}
    }"#;
    let userdata = |instance: &str| file(&rendered(configuration, instance), "userdata");
    assert_eq!(userdata(r#"{"group": "g"}"#), " knc arm64 small    |c1 slug c.example PEM|s1 1:1 2:2 3:3|mock r1 z1|");
    assert!(userdata(r#"{"group": "typed"}"#).starts_with(" knc arm64 large "));
    let all = r#"{"group": "g", "nonce": "n",
      "instance": {"ID": "i", "Kind": "k", "Arch": "a", "Type": "t", "Hostname": "h", "FQDN": "f", "IP4": "4", "IP6": "6"},
      "cluster": {"ID": "i", "Slug": "s", "FQDN": "f", "CACert": "c"},
      "server": {"Shard": "s", "RegistrationAddr": "r", "OperatorAddr": "o", "AgentAddr": "a"},
      "provider": {"Kind": "k", "Region": "r", "Zone": "z"}}"#;
    assert_eq!(userdata(all), "i k a t h f 4 6|i s f c|s r o a|k r z|n");
    for (instance, expected) in [
        (r#"{"instance": {"ID": 7}}"#, "instance.ID is a number, not a string\n  --> i.json:1:21"),
        (r#"{"server": []}"#, "server is a list, not an object"),
        (r#"{"nonce": {}}"#, "nonce is an object, not a string"),
        (r#"{"images": {"a": 1}}"#, "images.a is a number, not a string"),
        (r#"{"images": {"a": ""}}"#, "images.a is empty"),
        (r#"{"machine": {"vars": {"A": 1}}}"#, "machine.vars.A is a number, not a string"),
        (r#"{"machine_pool": {"args": 1}}"#, "machine_pool.args is a number, not an object"),
        ("7", "the instance document is a number, not an object"),
    ] {
        assert!(problems(configuration, instance).contains(expected), "{instance}");
    }
}

#[test]
fn rendering_another_group_first_changes_nothing() {
    let configuration = r#"{"defaults": {"args": {"o": {"a": "1", "l": [1]}}},
      "templates": {"t": {"args": {"o": {"a": "2", "b": {"c": "3"}}}}},
      "groups": {"g": {"template": "t", "args": {"o": {"b": {"d": "4"}}}}, "h": {}, "i": {"template": "t"}}}"#;
    let (configuration, _) = Configuration::read("c", configuration.as_bytes()).unwrap();
    let (instance, images) = (Instance::default(), Images::new());
    let args = |index: usize| {
        let inputs = Inputs { instance: &instance, images: &images, download: &|_| None, settings: SETTINGS };
        let rendered = render(&configuration, &configuration.groups[index], inputs).unwrap();
        compact(&file(&rendered, "args.json"))
    };
    let alone = [args(0), args(1), args(2)];
    assert_eq!(alone[1], r#"{"o":{"a":"1","l":[1]}}"#);
    for order in [[2, 1, 0], [1, 0, 2], [0, 2, 1]] {
        for index in order {
            assert_eq!(args(index), alone[index]);
        }
    }
}
