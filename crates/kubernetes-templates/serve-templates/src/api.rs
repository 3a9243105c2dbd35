//! The operations on templates: what a request does, without HTTP.

use dialect_kubernetes_templates::{Node, UserValues, Value, compact_within};

use crate::new_object::birth;
use crate::node::{metadata, metadata_text, number, object, text};
use crate::patch::{Limit, Patch};
use crate::selector::Selector;
use crate::status::{Failure, RESOURCE};
use crate::store::{Part, Refusal, Store, Stored, parsed};
use crate::template::{Form, KIND, Processed, Rules};
use crate::template_list::TemplateList;

/// More bytes than names, versions and times take that the server sets.
const SET_BY_SERVER: usize = 4 * 1024;

/// A change that does not name a resourceVersion is repeated so often if others change the object meanwhile.
const ATTEMPTS: usize = 10;

/// The templates and what is done with them.
pub(crate) struct Api {
    pub(crate) rules: Rules,
    pub(crate) store: Store,
    /// The largest body of a request, in bytes.
    pub(crate) max_body: u64,
}

/// What a deletion expects of the object.
#[derive(Debug, Default)]
pub(crate) struct Preconditions {
    uid: Option<String>,
    version: Option<String>,
}

impl Api {
    fn group(&self) -> &str {
        &self.rules.group
    }

    /// A template.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Result<Stored, Failure> {
        self.store.get(namespace, name)?.ok_or_else(|| Failure::not_found(self.group(), name))
    }

    /// The selected templates of a namespace or of all, or of a part of them.
    pub(crate) fn list(
        &self,
        namespace: Option<&str>,
        selector: &Selector,
        part: &Part,
    ) -> Result<TemplateList, Failure> {
        let mut page = self.store.list(namespace, part)?;
        let selects_all = *selector == Selector::default();
        page.items.retain(|stored| stored.is_selected(selector));
        // How many of the others are selected is not known.
        let remaining = page.remaining.filter(|_| selects_all);
        Ok(TemplateList { items: page.items, version: page.version, rest: page.rest, remaining })
    }

    /// Checks a template that is to be stored: what processing checks, and its size. Gives it as text.
    fn checked(&self, template: Node) -> Result<String, Failure> {
        let text = self.text(&template)?;
        self.rules.check(template)?;
        Ok(text)
    }

    /// A template as text, which takes much less memory than nodes.
    fn text(&self, template: &Node) -> Result<String, Failure> {
        // What the server sets is beyond the limit of a request.
        let most = usize::try_from(self.max_body).unwrap_or(usize::MAX).saturating_add(SET_BY_SERVER);
        compact_within(template, most).ok_or_else(|| Failure::too_large(self.max_body))
    }

    /// Stores a new template.
    pub(crate) fn create(&self, namespace: &str, body: Node, is_dry_run: bool) -> Result<Node, Failure> {
        let template = self.rules.template(body)?;
        let template = self.rules.created(template, namespace, birth()?)?;
        let name = Rules::name(&template).to_owned();
        let template = parsed(&self.checked(template)?);
        self.store.check_namespace(namespace)?;
        let exists = || Failure::already_exists(self.group(), &name);
        if is_dry_run {
            return if self.store.get(namespace, &name)?.is_some() { Err(exists()) } else { Ok(template) };
        }
        match self.store.put(namespace, &name, None, template) {
            Ok(stored) => Ok(stored.node()),
            Err(Refusal::Failed(failure)) => Err(failure),
            Err(_) => Err(exists()),
        }
    }

    /// Replaces a template.
    pub(crate) fn update(&self, namespace: &str, name: &str, body: Node, is_dry_run: bool) -> Result<Node, Failure> {
        let text = self.text(&self.rules.template(body)?)?;
        self.change(namespace, name, is_dry_run, |_| Ok(parsed(&text)))
    }

    /// Changes a template.
    pub(crate) fn patch(&self, namespace: &str, name: &str, patch: &Patch, is_dry_run: bool) -> Result<Node, Failure> {
        let failed = |causes| Failure::invalid(self.group(), KIND, name, causes);
        self.change(namespace, name, is_dry_run, |stored| {
            let patched = patch.apply(stored.node(), Limit(self.max_body), failed)?;
            self.rules.template(patched)
        })
    }

    /// Replaces a template by what `change` makes of it. If the result does not name the version that it is of, and others have
    /// changed the template meanwhile, it is changed again. As nodes, a template is in memory once or twice.
    fn change(
        &self,
        namespace: &str,
        name: &str,
        is_dry_run: bool,
        change: impl Fn(&Stored) -> Result<Node, Failure>,
    ) -> Result<Node, Failure> {
        for _ in 0..ATTEMPTS {
            let stored = self.get(namespace, name)?;
            let new = change(&stored)?;
            let version = metadata_text(&new, "resourceVersion").unwrap_or_default();
            if !version.is_empty() && version != stored.version.to_string() {
                return Err(Failure::modified(self.group(), name));
            }
            let mut old = stored.node();
            let new = self.rules.updated(new, namespace, &old)?;
            // A template as it is compared with a new one, which has no version yet.
            if let Some(metadata) = old.as_map_mut().and_then(|old| old.map_mut("metadata")) {
                metadata.remove("resourceVersion");
            }
            if old == new {
                return Ok(stored.node());
            }
            drop(old);
            let new = parsed(&self.checked(new)?);
            if is_dry_run {
                return Ok(new);
            }
            match self.store.put(namespace, name, Some(stored.version), new) {
                Ok(stored) => return Ok(stored.node()),
                Err(Refusal::Absent) => return Err(Failure::not_found(self.group(), name)),
                Err(Refusal::Failed(failure)) => return Err(failure),
                Err(Refusal::Exists | Refusal::Modified) => {}
            }
        }
        Err(Failure::modified(self.group(), name))
    }

    /// Deletes a template.
    pub(crate) fn delete(
        &self,
        namespace: &str,
        name: &str,
        preconditions: &Preconditions,
        is_dry_run: bool,
    ) -> Result<Node, Failure> {
        let stored = self.get(namespace, name)?;
        preconditions.check(&stored, self.group())?;
        if !is_dry_run {
            let is_expected = |now: &Stored| preconditions.check(now, self.group()).is_ok();
            self.store.delete(namespace, name, is_expected).map_err(|refusal| match refusal {
                Refusal::Absent => Failure::not_found(self.group(), name),
                Refusal::Failed(failure) => failure,
                Refusal::Exists | Refusal::Modified => Failure::modified(self.group(), name),
            })?;
        }
        Ok(deleted(self.group(), name, &stored.node()))
    }

    /// Deletes the selected templates of a namespace, or of a part of it; gives what they were.
    pub(crate) fn delete_all(
        &self,
        namespace: &str,
        selector: &Selector,
        part: &Part,
        preconditions: &Preconditions,
        is_dry_run: bool,
    ) -> Result<TemplateList, Failure> {
        let mut listed = self.list(Some(namespace), selector, part)?;
        listed.items.iter().try_for_each(|stored| preconditions.check(stored, self.group()))?;
        if !is_dry_run {
            let mut gone = Vec::new();
            for stored in listed.items {
                let is_expected = |now: &Stored| preconditions.check(now, self.group()).is_ok();
                match self.store.delete(namespace, &stored.name, is_expected) {
                    Ok(_) => gone.push(stored),
                    Err(Refusal::Failed(failure)) => return Err(failure),
                    Err(Refusal::Modified) => return Err(Failure::modified(self.group(), &stored.name)),
                    // Others have deleted it.
                    Err(_) => {}
                }
            }
            listed.items = gone;
        }
        Ok(listed)
    }

    /// Processes a template that is not stored.
    pub(crate) fn process(&self, body: Node, form: Form) -> Result<Processed, Failure> {
        let template = self.rules.template(body)?;
        self.rules.processed(template, &UserValues::default(), form)
    }

    /// Processes a template that is stored with the values of a Parameters object.
    pub(crate) fn process_stored(
        &self,
        namespace: &str,
        name: &str,
        body: &Node,
        form: Form,
    ) -> Result<Processed, Failure> {
        let stored = self.get(namespace, name)?;
        let given = self.rules.parameters(body)?;
        let mut template = stored.node();
        // It is a new object, not the stored one.
        if let Some(metadata) = template.as_map_mut().and_then(|template| template.map_mut("metadata")) {
            ["uid", "resourceVersion", "creationTimestamp"].iter().for_each(|key| drop(metadata.remove(key)));
        }
        self.rules.processed(template, &given, form)
    }
}

impl Preconditions {
    /// Those of a DeleteOptions object; `true` if it asks for a dry run.
    ///
    /// # Errors
    /// 400 for values of the wrong type.
    pub(crate) fn of(options: &Node) -> Result<(Preconditions, bool), Failure> {
        let Some(map) = options.as_map() else {
            return Err(Failure::bad_request(format!("expected DeleteOptions, not {}", options.kind())));
        };
        if map.present("kind").is_some_and(|kind| !matches!(kind.as_str(), Some("" | "DeleteOptions"))) {
            return Err(Failure::bad_request("kind: must be DeleteOptions"));
        }
        if map.present("gracePeriodSeconds").is_some_and(|node| !matches!(node.value, Value::Number(_))) {
            return Err(Failure::bad_request("gracePeriodSeconds: must be a whole number"));
        }
        let policies = ["Orphan", "Background", "Foreground"];
        if map.present("propagationPolicy").is_some_and(|node| !policies.iter().any(|one| node.as_str() == Some(one))) {
            return Err(Failure::bad_request(format!("propagationPolicy: must be {}", policies.join(", "))));
        }
        let text = |key: &str| -> Result<Option<String>, Failure> {
            let Some(node) = map.present("preconditions") else { return Ok(None) };
            let found = node.as_map().and_then(|map| map.present(key));
            match (node.as_map(), found.map(|node| node.as_str())) {
                (None, _) | (_, Some(None)) => {
                    Err(Failure::bad_request(format!("preconditions.{key}: must be a string")))
                }
                (_, found) => Ok(found.flatten().map(str::to_owned)),
            }
        };
        let is_dry_run = match map.present("dryRun").map(|node| &node.value) {
            None => false,
            Some(Value::List(items)) => match items.iter().map(Node::as_str).collect::<Vec<_>>().as_slice() {
                [] => false,
                items if items.iter().all(|item| *item == Some("All")) => true,
                _ => return Err(Failure::bad_request("dryRun: must be All")),
            },
            Some(_) => return Err(Failure::bad_request("dryRun: must be a list")),
        };
        Ok((Preconditions { uid: text("uid")?, version: text("resourceVersion")? }, is_dry_run))
    }

    fn check(&self, stored: &Stored, group: &str) -> Result<(), Failure> {
        if self.uid.is_none() && self.version.is_none() {
            return Ok(());
        }
        let node = stored.node();
        let uid = metadata_text(&node, "uid").unwrap_or_default();
        let version = stored.version.to_string();
        for (what, expected, found) in [("UID", &self.uid, uid), ("ResourceVersion", &self.version, version.as_str())] {
            if let Some(expected) = expected.as_deref().filter(|expected| *expected != found) {
                let expected = expected.escape_debug();
                let why =
                    format!("Precondition failed: {what} in precondition: {expected}, {what} in object meta: {found}");
                return Err(Failure::conflict(group, &stored.name, &why));
            }
        }
        Ok(())
    }
}

/// The Status of a deletion.
fn deleted(group: &str, name: &str, template: &Node) -> Node {
    let uid = metadata(template).and_then(|metadata| metadata.str("uid")).unwrap_or_default();
    let details = [("name", text(name)), ("group", text(group)), ("kind", text(RESOURCE)), ("uid", text(uid))];
    object([
        ("kind", text("Status")),
        ("apiVersion", text("v1")),
        ("metadata", object([])),
        ("status", text("Success")),
        ("details", object(details)),
        ("code", number(200)),
    ])
}

#[cfg(test)]
mod tests {
    use dialect_kubernetes_templates::{Format, Options, compact, read};

    use super::*;
    use crate::store::Memory;

    fn api() -> Api {
        let rules =
            Rules { group: "example.com".into(), options: Options::default(), syntax: None, label_selectors: None };
        Api { rules, store: Store::Memory(Memory::new(0)), max_body: 10_000 }
    }

    fn version(api: &Api) -> u64 {
        api.store.list(None, &Part::default()).unwrap().version
    }

    fn yaml(text: &str) -> Node {
        read(text.as_bytes(), Format::Yaml).unwrap()
    }

    fn template(name: &str, more: &str) -> Node {
        yaml(&format!("kind: Template\napiVersion: v1\nmetadata: {{name: {name}}}\nobjects: []\n{more}"))
    }

    #[test]
    fn changes_are_of_the_version_that_was_read() {
        let api = api();
        let created = api.create("n", template("a", ""), false).unwrap();
        assert_eq!(api.create("n", template("a", ""), false).unwrap_err().reason, "AlreadyExists");
        assert_eq!(api.create("n", template("a", ""), true).unwrap_err().reason, "AlreadyExists");
        assert_eq!(api.update("n", "b", template("b", ""), false).unwrap_err().code, 404);
        assert_eq!(api.update("n", "a", template("b", ""), false).unwrap_err().code, 400);
        // Without a version, the newest one is replaced; what the server has set stays.
        let updated = api.update("n", "a", template("a", "message: x"), false).unwrap();
        assert_eq!(metadata_text(&updated, "uid"), metadata_text(&created, "uid"));
        assert_eq!(metadata_text(&updated, "resourceVersion"), Some("2"));
        // The version that was read first is not the newest one any more.
        assert_eq!(api.update("n", "a", created, false).unwrap_err().reason, "Conflict");
        // Nothing changes: no new version. Key order is part of a template.
        assert_eq!(api.update("n", "a", updated.clone(), false).unwrap(), updated);
        assert_eq!(version(&api), 2);
        // A dry run stores nothing.
        assert!(compact(&api.update("n", "a", template("a", "message: other"), true).unwrap()).contains("\"other\""));
        assert_eq!(api.get("n", "a").unwrap().node(), updated);
    }

    #[test]
    fn patches_change_parts() {
        let api = api();
        api.create("n", template("a", "message: x"), false).unwrap();
        let merge = |text: &str| Patch::Merge(yaml(text));
        let patched = api.patch("n", "a", &merge("{message: z, metadata: {labels: {k: v}}}"), false).unwrap();
        assert!(compact(&patched).contains(r#""labels":{"k":"v"}"#));
        for (patch, code) in [
            ("{metadata: {resourceVersion: '1'}}", 409),
            ("{metadata: {resourceVersion: 1}}", 400),
            ("{metadata: {uid: 5}}", 400),
            ("{metadata: {finalizers: [5]}}", 400),
            ("{metadata: {ownerReferences: x}}", 400),
            ("{message: 5}", 400),
            ("{metadata: {name: b}}", 400),
            ("{metadata: {uid: other}}", 409),
            ("{kind: Pod}", 400),
            ("{objects: x}", 422),
            ("{objects: [{kind: K, apiVersion: v1, a: $(X)}]}", 422),
        ] {
            assert_eq!(api.patch("n", "a", &merge(patch), false).unwrap_err().code, code, "{patch}");
        }
        assert_eq!(api.get("n", "a").unwrap().node(), patched);
    }

    #[test]
    fn deletions_have_preconditions() {
        let api = api();
        let created = api.create("n", template("a", ""), false).unwrap();
        let options = |text: &str| Preconditions::of(&yaml(text)).unwrap();
        for text in ["{preconditions: {uid: x}}", "{preconditions: {resourceVersion: '9'}}"] {
            assert_eq!(api.delete("n", "a", &options(text).0, false).unwrap_err().reason, "Conflict");
        }
        assert!(
            options("{kind: DeleteOptions, apiVersion: v1, dryRun: [All, All]}").1
                && !options("{propagationPolicy: Background}").1
        );
        for text in [
            "[]",
            "{dryRun: All}",
            "{dryRun: [x]}",
            "{preconditions: {uid: 5}}",
            "{preconditions: x}",
            "{kind: Pod}",
            "{propagationPolicy: Other}",
            "{gracePeriodSeconds: x}",
            "{dryRun: [All, x]}",
        ] {
            assert_eq!(Preconditions::of(&yaml(text)).unwrap_err().code, 400, "{text}");
        }
        api.delete("n", "a", &Preconditions::default(), true).unwrap();
        let uid = metadata_text(&created, "uid").unwrap();
        let (conditions, _) = options(&format!("{{preconditions: {{uid: {uid}, resourceVersion: '1'}}}}"));
        let status = compact(&api.delete("n", "a", &conditions, false).unwrap());
        assert!(
            status.contains(
                r#""status":"Success","details":{"name":"a","group":"example.com","kind":"templates","uid":""#
            ),
            "{status}"
        );
        assert_eq!(api.delete("n", "a", &conditions, false).unwrap_err().code, 404);
    }

    #[test]
    fn a_collection_is_deleted_by_its_labels() {
        let api = api();
        for (name, labels) in [("a", "{x: one}"), ("b", "{x: two}"), ("c", "{x: one}")] {
            let text =
                format!("kind: Template\napiVersion: v1\nmetadata: {{name: {name}, labels: {labels}}}\nobjects: []");
            api.create("n", yaml(&text), false).unwrap();
        }
        let selector = Selector::parse(Some("x=one"), None).unwrap();
        let gone =
            api.delete_all("n", &selector, &Part::default(), &Preconditions::default(), false).unwrap().json("v1");
        assert!(gone.contains("\"a\"") && gone.contains("\"c\"") && !gone.contains("\"b\""), "{gone}");
        assert_eq!(api.list(None, &Selector::default(), &Part::default()).unwrap().items.len(), 1);
        // Each of them has to be what is expected.
        let expected = Preconditions { version: Some("9".into()), ..Preconditions::default() };
        let all = Selector::default();
        assert_eq!(api.delete_all("n", &all, &Part::default(), &expected, false).unwrap_err().reason, "Conflict");
        assert_eq!(api.list(None, &all, &Part::default()).unwrap().items.len(), 1);
    }

    #[test]
    fn stored_templates_are_processed() {
        let api = api();
        let more = "labels: {app: $(A)}\nparameters: [{name: A, required: true}]";
        let text = format!(
            "kind: Template\napiVersion: v1\nmetadata: {{name: a}}\nobjects: [{{kind: K, apiVersion: v1, a: $(A)}}]\n{more}"
        );
        api.create("n", yaml(&text), false).unwrap();
        let values = yaml("kind: Parameters\napiVersion: v1\nparameters: [{name: A, value: x}]");
        let list = compact(&api.process_stored("n", "a", &values, Form::List).unwrap().node);
        assert_eq!(
            list,
            r#"{"apiVersion":"v1","kind":"List","items":[{"kind":"K","apiVersion":"v1","a":"x","metadata":{"labels":{"app":"x"}}}]}"#
        );
        let done = compact(&api.process_stored("n", "a", &values, Form::Template).unwrap().node);
        assert!(done.contains(r#""metadata":{"name":"a","namespace":"n"},"objects""#), "{done}");
        assert!(done.contains(r#""parameters":[{"name":"A","required":true,"value":"x"}]"#), "{done}");
        let none = yaml("kind: Parameters\napiVersion: v1");
        assert_eq!(api.process_stored("n", "a", &none, Form::List).unwrap_err().code, 422);
        assert_eq!(api.process_stored("n", "b", &none, Form::List).unwrap_err().code, 404);
        assert_eq!(api.process(yaml(&text), Form::List).unwrap_err().code, 422);
        // Nothing is created.
        assert_eq!(version(&api), 1);
    }
}
