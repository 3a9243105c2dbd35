//! What templates see as `spec` (BOSH: the whitelist of the instance spec).

use std::rc::Rc;

use value::{Map, Value};

use crate::resolved::{Instance, Resolved, ResolvedJob};

impl Resolved {
    /// The `spec` of a job in one instance; `ip` is the pod's, where it is known.
    pub fn spec(&self, job: &ResolvedJob, instance: &Instance, ip: Option<&str>) -> Value {
        let text = |s: &str| Value::str(s);
        let ip = ip.map_or(Value::Nil, text);
        let mut spec = Map::default();
        spec.set("deployment", text(&self.domain.deployment));
        spec.set("job", self.job_value());
        spec.set("index", Value::Int(i64::from(instance.index)));
        spec.set("bootstrap", Value::Bool(instance.bootstrap));
        spec.set("name", text(&instance.name));
        spec.set("id", text(&instance.id));
        spec.set("az", instance.az.as_deref().map_or(Value::Nil, text));
        spec.set("networks", self.networks_value(instance, &ip));
        spec.set("properties_need_filtering", Value::Bool(true));
        spec.set("dns_domain_name", text(&self.domain.service_domain));
        spec.set("persistent_disk", Value::Int(i64::from(self.persistent_disk)));
        spec.set("address", text(&instance.address));
        spec.set("ip", ip);
        spec.set("properties", job.properties.clone());
        let links = job.links.iter().map(|link| (Value::str(link.name.clone()), link.content.clone()));
        spec.set("links", Value::Map(Rc::new(links.collect())));
        let release = [("name", text(&job.release.name)), ("version", text(&job.release.version))];
        spec.set("release", Value::map(release));
        Value::Map(Rc::new(spec))
    }

    /// `spec.job`: named after the group, as in BOSH.
    fn job_value(&self) -> Value {
        let Some(first) = self.jobs.first() else { return Value::Nil };
        let templates = self.jobs.iter().map(|job| {
            Value::map([("name", Value::str(job.name.clone())), ("version", Value::str(job.release.version.clone()))])
        });
        Value::map([
            ("name", Value::str(self.name.clone())),
            ("templates", Value::array(templates)),
            ("template", Value::str(first.name.clone())),
            ("version", Value::str(first.release.version.clone())),
        ])
    }

    /// `spec.networks`: a pod has one address, so each network has it.
    fn networks_value(&self, instance: &Instance, ip: &Value) -> Value {
        let only = self.networks.len() == 1;
        let text = |s: &str| Value::str(s);
        let mut networks = Map::default();
        for network in &self.networks {
            let mut default: Vec<&str> = network.default.iter().map(String::as_str).collect();
            // BOSH: the only one is that for these, and for nothing else.
            if only {
                default = vec!["dns", "gateway"];
            }
            default.sort_unstable();
            let mut value = Map::default();
            value.set("type", Value::str("dynamic"));
            value.set("cloud_properties", Value::map([]));
            if !default.is_empty() {
                value.set("default", Value::array(default.into_iter().map(Value::str)));
            }
            value.set("ip", ip.clone());
            // BOSH: what a dynamic network is not known to have, so that templates need no conditions.
            value.set("netmask", text("127.0.0.1"));
            value.set("gateway", text("127.0.0.1"));
            value.set("dns_record_name", Value::str(instance.address.clone()));
            networks.set(&network.name, Value::Map(Rc::new(value)));
        }
        Value::Map(Rc::new(networks))
    }
}
