//! Hints about links without a single provider: the providers that exist, and the lines of the manifest that choose one.

use std::collections::BTreeSet;

use problem::did_you_mean;

use crate::Deployment;
use crate::providers::Provider;

/// The maximum number of providers that a hint lists.
const MAX_LISTED: usize = 8;

/// A link that is looked for, as messages name it.
pub(crate) struct Request<'a> {
    /// The consumer's name for the link.
    pub(crate) name: &'a str,
    /// The name in `from`.
    pub(crate) from: Option<&'a str>,
    pub(crate) link_type: &'a str,
    /// The job or variable that consumes it, as BOSH names it.
    pub(crate) owner: String,
    /// Whether the owner is a variable: then the manifest has the type, else the job's spec.
    pub(crate) is_variable: bool,
    /// Whether the manifest has `nil`.
    pub(crate) is_blocked: bool,
}

impl Request<'_> {
    /// BOSH's sentence about a link that was not resolved.
    pub(crate) fn headline(&self) -> String {
        let Request { name, link_type, owner, .. } = self;
        let alias = self.from.filter(|from| from != name).map(|from| format!("alias '{from}' and "));
        format!("Failed to resolve link '{name}' with {}type '{link_type}' from {owner}.", alias.unwrap_or_default())
    }

    /// The line that consumes a provider by its name, and in a variable by its type as well.
    fn consumes(&self, name: &str, link_type: &str) -> String {
        let link_type = if self.is_variable { format!(", link_type: {link_type}") } else { String::new() };
        format!("consumes: {{{}: {{from: {name}{link_type}}}}}", self.name)
    }
}

/// The providers of a deployment, for hints.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) deployment: &'a Deployment<'a>,
    pub(crate) providers: &'a [Provider],
}

impl<'a> Known<'a> {
    /// About a link that no provider matches.
    pub(crate) fn none_matches(self, request: &Request) -> String {
        let Request { name, link_type, owner, .. } = request;
        if request.is_blocked {
            return format!("link '{name}' is not optional: remove `consumes: {{{name}: nil}}` of {owner}");
        }
        let (consumable, blocked): (Vec<_>, Vec<_>) = self.providers.iter().partition(|one| one.consumable);
        let is_match =
            |one: &&Provider| one.link_type == *link_type && request.from.is_none_or(|from| one.name == from);
        if let Some(provider) = blocked.into_iter().find(is_match) {
            let line = format!("provides: {{{}: nil}}", provider.original_name);
            return format!("link '{name}' would have a provider: remove `{line}` of {}", self.owner(provider));
        }
        let of_type: Vec<_> = consumable.iter().copied().filter(|one| one.link_type == *link_type).collect();
        if !of_type.is_empty() {
            return self.choice(request, &of_type);
        }
        self.of_other_types(request, &consumable)
    }

    /// About a link that several providers match.
    pub(crate) fn several_match(self, request: &Request, matches: &[usize]) -> String {
        let matches: Vec<&Provider> = matches.iter().map(|i| &self.providers[*i]).collect();
        let names: BTreeSet<&str> = matches.iter().map(|one| one.name.as_str()).collect();
        if names.len() == matches.len() {
            return self.choice(request, &matches);
        }
        if let Some(addon) = matches.iter().find(|one| self.is_of_addon(one)) {
            let job = &self.deployment.manifest.instance_groups[addon.group].jobs[addon.job].name;
            return format!(
                "link '{}': an addon adds job '{job}' to several instance groups, where its links have the same name: \
                 restrict the addon with `include`",
                request.name
            );
        }
        let new_names = self.new_names(&matches);
        let mut lines: Vec<String> = matches
            .iter()
            .zip(&new_names)
            .map(|(one, new)| format!("provides: {{{}: {{as: {new}}}}}  # {}", one.original_name, self.owner(one)))
            .collect();
        lines.truncate(MAX_LISTED);
        let consumes = request.consumes(&new_names[0], request.link_type);
        lines.push(format!("{consumes}  # {}", request.owner));
        block(&format!("link '{}': rename the providers, and choose one:", request.name), &lines)
    }

    /// About a provider that does not belong to the network that the consumer wants.
    pub(crate) fn other_network(self, request: &Request, provider: &Provider) -> String {
        let group = &self.deployment.manifest.instance_groups[provider.group];
        let mut networks: Vec<&str> = group.networks.iter().map(|network| network.name.as_str()).collect();
        if networks.is_empty() {
            networks.push("default");
        }
        let networks = networks.join("', '");
        format!("link '{}': the networks of instance group '{}' are: '{networks}'", request.name, group.name)
    }

    /// The lines that choose one of the providers; first the one whose name is the most similar.
    fn choice(self, request: &Request, providers: &[&Provider]) -> String {
        let similar = request.from.and_then(|from| did_you_mean(from, providers.iter().map(|one| one.name.as_str())));
        let mut providers = providers.to_vec();
        providers.sort_by_key(|one| Some(one.name.as_str()) != similar);
        let line = |one: &&Provider| format!("{}  # {}", request.consumes(&one.name, &one.link_type), self.owner(one));
        let lines = listed(&providers, line);
        let count = if providers.len() == 1 { "this" } else { "one of these" };
        block(&format!("link '{}': write {count} for {}:", request.name, request.owner), &lines)
    }

    /// About a link of a type that no provider has.
    fn of_other_types(self, request: &Request, providers: &[&Provider]) -> String {
        let Request { name, link_type, .. } = request;
        let similar = similar(request, providers);
        let is_alike = !similar.is_empty();
        if !is_alike && (providers.is_empty() || providers.len() > MAX_LISTED) {
            return nothing_similar(request, providers.len());
        }
        let shown = if is_alike { &similar } else { providers };
        if request.is_variable {
            return self.choice(request, shown);
        }
        let lines = listed(shown, |one| format!("'{}' of type '{}', {}", one.name, one.link_type, self.owner(one)));
        let head = block(&format!("link '{name}': no provider has type '{link_type}'; these exist:"), &lines);
        if !is_alike && shown.len() > 1 {
            return head;
        }
        let lines =
            block(&format!("if it is to use '{}', write:", shown[0].name), &self.redefinition(request, shown[0]));
        format!("{head}\n    {lines}")
    }

    /// The lines by which a job provides its link with the type that is wanted.
    fn redefinition(self, request: &Request, provider: &Provider) -> Vec<String> {
        let is_free = |name: &str| {
            let mut of_job = self.providers.iter().filter(|one| (one.group, one.job) == (provider.group, provider.job));
            of_job.all(|one| one.original_name != name)
        };
        let (wanted, link_type) = (request.from.unwrap_or(request.name), request.link_type);
        let new = format!("{wanted}-{link_type}");
        let new = if is_free(wanted) { wanted } else { &new };
        let properties = match provider.property_names.as_slice() {
            [] => String::new(),
            names => format!(", properties: [{}]", names.join(", ")),
        };
        let definition = format!("{{name: {new}, type: {link_type}{properties}}}");
        let mut lines = vec![format!("custom_provider_definitions: [{definition}]  # {}", self.owner(provider))];
        if request.from.is_some_and(|from| from != new) {
            lines.push(format!("{}  # {}", request.consumes(new, link_type), request.owner));
        }
        lines
    }

    /// Names that tell providers apart: by their groups, else by their jobs, else by both.
    fn new_names(self, providers: &[&Provider]) -> Vec<String> {
        let groups = &self.deployment.manifest.instance_groups;
        let by = |suffix: &dyn Fn(&Provider) -> String| -> Vec<String> {
            providers.iter().map(|one| format!("{}-{}", one.name, suffix(one))).collect()
        };
        let group = |one: &Provider| groups[one.group].name.clone();
        let job = |one: &Provider| groups[one.group].jobs[one.job].name.clone();
        let candidates = [by(&group), by(&job)];
        let is_distinct = |names: &&Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
        let found = candidates.iter().find(is_distinct).cloned();
        found.unwrap_or_else(|| by(&|one| format!("{}-{}-{}", group(one), job(one), one.original_name)))
    }

    fn is_of_addon(self, provider: &Provider) -> bool {
        self.deployment.manifest.instance_groups[provider.group].jobs[provider.job].addon
    }

    fn owner(self, provider: &Provider) -> String {
        let group = &self.deployment.manifest.instance_groups[provider.group];
        format!("job '{}' in instance group '{}'", group.jobs[provider.job].name, group.name)
    }
}

/// The providers of the wanted name; else those whose name or type is a misspelling of the wanted one.
fn similar<'a>(request: &Request, providers: &[&'a Provider]) -> Vec<&'a Provider> {
    let wanted = request.from.unwrap_or(request.name);
    let named: Vec<_> = providers.iter().copied().filter(|one| one.name == wanted).collect();
    if !named.is_empty() {
        return named;
    }
    let is_similar = |one: &&Provider| {
        did_you_mean(wanted, [one.name.as_str()]).is_some()
            || did_you_mean(request.link_type, [one.link_type.as_str()]).is_some()
    };
    providers.iter().copied().filter(is_similar).collect()
}

/// About a link of a type that no provider of the deployment has, where none has a similar name.
fn nothing_similar(request: &Request, count: usize) -> String {
    let Request { name, link_type, .. } = request;
    let head = match count {
        0 => {
            format!("link '{name}': no job of the deployment provides a link; add one that provides type '{link_type}'")
        }
        _ => format!(
            "link '{name}': none of the deployment's {count} providers has type '{link_type}' or a similar name; add a job \
             that provides it"
        ),
    };
    if request.is_variable {
        return head;
    }
    format!(
        "{head}, or write its content: `consumes: {{{name}: {{instances: [{{address: HOST}}], properties: {{}}}}}}`"
    )
}

/// A line for each provider, up to [`MAX_LISTED`], and one for the others.
fn listed<'a>(providers: &[&'a Provider], line: impl Fn(&&'a Provider) -> String) -> Vec<String> {
    let mut lines: Vec<String> = providers.iter().take(MAX_LISTED).map(line).collect();
    if providers.len() > MAX_LISTED {
        lines.push(format!("and {} more", providers.len() - MAX_LISTED));
    }
    lines
}

/// A sentence, and lines below it.
fn block(head: &str, lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("\n      {line}")).collect();
    format!("{head}{lines}")
}
