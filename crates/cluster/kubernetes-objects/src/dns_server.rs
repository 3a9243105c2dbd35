//! The CoreDNS of a deployment: its configuration, its Deployment, its Service.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMap, ConfigMapVolumeSource, Container, HTTPGetAction, PodSecurityContext, PodSpec,
    PodTemplateSpec, Probe, SeccompProfile, SecurityContext, Service, ServicePort, ServiceSpec,
    TopologySpreadConstraint, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use object_basics::{Object, digest};

use crate::metadata::{DEPLOYMENT, KIND, Labels, deployment_label, of_deployment};
use crate::{names, object, resources};

/// Where the server listens: a port for which it needs no privilege.
pub(crate) const PORT: u16 = 1053;
pub(crate) const HEALTH: u16 = 8080;
pub(crate) const READY: u16 = 8181;
/// Of each address of the cluster, one server answers if the other's node fails.
const REPLICAS: i32 = 2;
const MEMORY: u32 = 64;
/// The user of CoreDNS' own image.
const USER: i64 = 65532;
const CONFIGURATION: &str = "/etc/coredns";
/// Label of the server's pods.
const COMPONENT: &str = "app.kubernetes.io/component";
const NAME: &str = "dns";
/// Annotation of the pods: another configuration is another pod.
const CONFIGURATION_DIGEST: &str = "quarks.cloudfoundry.org/dns-digest";

fn selector(deployment: &str) -> Labels {
    let labels = [(DEPLOYMENT, deployment_label(deployment)), (COMPONENT, NAME.to_owned())];
    labels.map(|(label, value)| (label.to_owned(), value)).into()
}

/// The Service: its address is that of the server.
pub(crate) fn service(deployment: &str) -> Service {
    let port = |protocol: &str| ServicePort {
        name: Some(format!("dns-{}", protocol.to_lowercase())),
        port: 53,
        protocol: Some(protocol.to_owned()),
        target_port: Some(IntOrString::Int(PORT.into())),
        ..ServicePort::default()
    };
    let spec = ServiceSpec {
        ports: Some(vec![port("UDP"), port("TCP")]),
        selector: Some(selector(deployment)),
        ..ServiceSpec::default()
    };
    Service { metadata: of_deployment(names::dns(deployment), deployment, &[]), spec: Some(spec), status: None }
}

/// The Service, the ConfigMap and the Deployment.
pub(crate) fn objects(deployment: &str, corefile: &str, image: &str) -> Vec<Object> {
    let configuration = ConfigMap {
        metadata: of_deployment(names::dns(deployment), deployment, &[]),
        data: Some([("Corefile".to_owned(), corefile.to_owned())].into()),
        ..ConfigMap::default()
    };
    let labels = of_deployment(String::new(), deployment, &[(COMPONENT, NAME), (KIND, NAME)]).labels;
    let annotations = BTreeMap::from([(CONFIGURATION_DIGEST.to_owned(), digest(corefile.as_bytes()))]);
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels, annotations: Some(annotations), ..ObjectMeta::default() }),
        spec: Some(pod(deployment, image)),
    };
    let selected = LabelSelector { match_labels: Some(selector(deployment)), match_expressions: None };
    let spec = DeploymentSpec { replicas: Some(REPLICAS), selector: selected, template, ..DeploymentSpec::default() };
    let server =
        Deployment { metadata: of_deployment(names::dns(deployment), deployment, &[]), spec: Some(spec), status: None };
    vec![object(&service(deployment)), object(&configuration), object(&server)]
}

fn pod(deployment: &str, image: &str) -> PodSpec {
    let probe = |path: &str, port: u16| Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::Int(port.into()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(2),
        ..Probe::default()
    };
    let container = Container {
        name: NAME.to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        args: Some(vec!["-conf".to_owned(), format!("{CONFIGURATION}/Corefile")]),
        liveness_probe: Some(Probe { failure_threshold: Some(5), ..probe("/health", HEALTH) }),
        readiness_probe: Some(probe("/ready", READY)),
        resources: Some(resources::of_boson(MEMORY)),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            // The executable of CoreDNS' own image has this capability, and does not start without.
            capabilities: Some(Capabilities {
                add: Some(vec!["NET_BIND_SERVICE".to_owned()]),
                drop: Some(vec!["ALL".to_owned()]),
            }),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(vec![VolumeMount {
            name: "configuration".to_owned(),
            mount_path: CONFIGURATION.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    };
    let configuration = ConfigMapVolumeSource { name: names::dns(deployment), ..ConfigMapVolumeSource::default() };
    PodSpec {
        automount_service_account_token: Some(false),
        containers: vec![container],
        enable_service_links: Some(false),
        security_context: Some(PodSecurityContext {
            run_as_group: Some(USER),
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
            ..PodSecurityContext::default()
        }),
        topology_spread_constraints: Some(vec![TopologySpreadConstraint {
            label_selector: Some(LabelSelector { match_labels: Some(selector(deployment)), match_expressions: None }),
            max_skew: 1,
            topology_key: "kubernetes.io/hostname".to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            ..TopologySpreadConstraint::default()
        }]),
        volumes: Some(vec![Volume {
            name: "configuration".to_owned(),
            config_map: Some(configuration),
            ..Volume::default()
        }]),
        ..PodSpec::default()
    }
}
