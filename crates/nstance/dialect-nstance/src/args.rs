//! What cloud providers accept as args.

use problem::did_you_mean;

use crate::document::{Data, Object};
use crate::report::{Kind, Report, member};

/// What Nstance itself sets in a call of AWS' RunInstances.
const AWS_MANAGED: [&str; 5] = ["InstanceType", "SubnetId", "UserData", "MinCount", "MaxCount"];

/// The other fields of the input of AWS' RunInstances.
const AWS: [&str; 38] = [
    "AdditionalInfo",
    "BlockDeviceMappings",
    "CapacityReservationSpecification",
    "ClientToken",
    "CpuOptions",
    "CreditSpecification",
    "DisableApiStop",
    "DisableApiTermination",
    "DryRun",
    "EbsOptimized",
    "ElasticGpuSpecification",
    "ElasticInferenceAccelerators",
    "EnablePrimaryIpv6",
    "EnclaveOptions",
    "HibernationOptions",
    "IamInstanceProfile",
    "ImageId",
    "InstanceInitiatedShutdownBehavior",
    "InstanceMarketOptions",
    "Ipv6AddressCount",
    "Ipv6Addresses",
    "KernelId",
    "KeyName",
    "LaunchTemplate",
    "LicenseSpecifications",
    "MaintenanceOptions",
    "MetadataOptions",
    "Monitoring",
    "NetworkInterfaces",
    "NetworkPerformanceOptions",
    "Operator",
    "Placement",
    "PrivateDnsNameOptions",
    "PrivateIpAddress",
    "RamdiskId",
    "SecurityGroupIds",
    "SecurityGroups",
    "TagSpecifications",
];

/// The args of GCP, as Nstance documents them.
const GCP: [(&str, Kind); 14] = [
    ("SourceImage", Kind::String),
    ("ServiceAccount", Kind::String),
    ("ServiceAccounts", Kind::List),
    ("Labels", Kind::Object),
    ("NetworkTags", Kind::List),
    ("Preemptible", Kind::Bool),
    ("ProvisioningModel", Kind::String),
    ("OnHostMaintenance", Kind::String),
    ("AutomaticRestart", Kind::Bool),
    ("MinCpuPlatform", Kind::String),
    ("GuestAccelerators", Kind::List),
    ("ShieldedInstanceConfig", Kind::Object),
    ("ConfidentialInstanceConfig", Kind::Object),
    ("ResourcePolicies", Kind::List),
];

/// Checks merged args for a provider. Unknown args are kept, with a warning; an unknown provider accepts all.
pub(crate) fn check(provider: &str, args: &Object, report: &mut Report) {
    for (key, node) in args {
        let path = member("args", key);
        match provider {
            "aws" if AWS_MANAGED.contains(&key.as_str()) => {
                report.error(&node.position, format!("{path} cannot be set on aws: Nstance sets it"));
            }
            "aws" if !AWS.contains(&key.as_str()) => {
                let similar = did_you_mean(key, AWS);
                report.warn(&node.position, format!("{path}: RunInstances has no such field{}", or(similar)));
            }
            "gcp" => match GCP.iter().find(|(name, _)| name == key) {
                // A higher level removes an arg with `null`.
                Some((_, kind)) if kind.fits(node) || matches!(node.data, Data::Null) => {}
                Some((_, kind)) => {
                    report.error(&node.position, format!("{path} is {}, not {}", node.kind(), kind.name()));
                }
                None => {
                    let similar = did_you_mean(key, GCP.map(|(name, _)| name));
                    report.warn(&node.position, format!("{path}: Nstance does not know it on gcp{}", or(similar)));
                }
            },
            _ => {}
        }
    }
}

fn or(similar: Option<&str>) -> String {
    similar.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}
