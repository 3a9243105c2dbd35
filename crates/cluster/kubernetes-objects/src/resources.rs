//! What containers request, and the most that they may have.

use std::collections::BTreeMap;

use handoff::deployment::VmResources;
use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

fn quantities(values: &[(&str, String)]) -> Option<BTreeMap<String, Quantity>> {
    let quantities = values.iter().map(|(name, value)| ((*name).to_owned(), Quantity(value.clone())));
    (!values.is_empty()).then(|| crate::map(quantities))
}

/// Of boson's own programs; those that render have `memory` MiB at most.
pub(crate) fn of_boson(memory: u32) -> ResourceRequirements {
    ResourceRequirements {
        requests: quantities(&[("cpu", "10m".to_owned()), ("memory", "16Mi".to_owned())]),
        limits: quantities(&[("memory", format!("{memory}Mi"))]),
        ..ResourceRequirements::default()
    }
}

/// A container that runs programs of a release: its part of `vm_resources`, and the limit of its `bpm.yml` in bytes.
pub(crate) fn of_release(vm: Option<&VmResources>, sharers: usize, memory_limit: Option<u64>) -> ResourceRequirements {
    let sharers = u32::try_from(sharers.max(1)).unwrap_or(u32::MAX);
    let (cpu, mut memory) = match vm {
        Some(vm) => ((vm.cpu * 1000 / sharers).max(1), u64::from((vm.ram / sharers).max(1)) << 20),
        None => (10, 16 << 20),
    };
    // A request above the limit is refused.
    memory = memory.min(memory_limit.unwrap_or(u64::MAX));
    ResourceRequirements {
        requests: quantities(&[("cpu", format!("{cpu}m")), ("memory", bytes(memory))]),
        limits: memory_limit.and_then(|limit| quantities(&[("memory", bytes(limit))])),
        ..ResourceRequirements::default()
    }
}

/// A number of bytes, in the largest unit in which it is a whole number.
fn bytes(number: u64) -> String {
    let units = [(30, "Gi"), (20, "Mi"), (10, "Ki")];
    let unit = units.iter().find(|(shift, _)| number >= 1 << shift && number.is_multiple_of(1 << shift));
    unit.map_or(number.to_string(), |(shift, unit)| format!("{}{unit}", number >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_in_their_largest_whole_unit() {
        assert_eq!([1 << 30, 1536 << 20, 1500, 64 << 10].map(bytes), ["1Gi", "1536Mi", "1500", "64Ki"]);
    }

    #[test]
    fn a_request_is_never_above_the_limit() {
        let vm = VmResources { cpu: 2, ram: 4096, ephemeral_disk_size: 1 };
        let resources = of_release(Some(&vm), 2, Some(1 << 30));
        assert_eq!(resources.requests.unwrap()["memory"].0, "1Gi");
        assert_eq!(of_release(Some(&vm), 2, None).requests.unwrap()["cpu"].0, "1000m");
    }
}
