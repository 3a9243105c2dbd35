//! The token of a pod that talks to the API server.

use k8s_openapi::api::core::v1::{
    ConfigMapProjection, DownwardAPIProjection, DownwardAPIVolumeFile, KeyToPath, ObjectFieldSelector,
    ProjectedVolumeSource, ServiceAccountTokenProjection, VolumeProjection,
};

/// The field of a pod with its namespace.
pub(crate) const NAMESPACE: &str = "metadata.namespace";

/// What a client in a pod needs, with a token that soon expires.
pub(crate) fn token() -> ProjectedVolumeSource {
    let projection = VolumeProjection::default;
    let item = KeyToPath { key: "ca.crt".to_owned(), path: "ca.crt".to_owned(), mode: None };
    let namespace = DownwardAPIVolumeFile {
        field_ref: Some(ObjectFieldSelector { api_version: None, field_path: NAMESPACE.to_owned() }),
        path: "namespace".to_owned(),
        ..DownwardAPIVolumeFile::default()
    };
    let sources = vec![
        VolumeProjection {
            service_account_token: Some(ServiceAccountTokenProjection {
                path: "token".to_owned(),
                expiration_seconds: Some(3600),
                audience: None,
            }),
            ..projection()
        },
        VolumeProjection {
            config_map: Some(ConfigMapProjection {
                name: "kube-root-ca.crt".to_owned(),
                items: Some(vec![item]),
                optional: None,
            }),
            ..projection()
        },
        VolumeProjection { downward_api: Some(DownwardAPIProjection { items: Some(vec![namespace]) }), ..projection() },
    ];
    ProjectedVolumeSource { sources: Some(sources), default_mode: Some(0o440) }
}
