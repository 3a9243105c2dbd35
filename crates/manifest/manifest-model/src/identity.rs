//! Which instances a group has, and who each of them is (specification, "Calculating spec.* and link().instances").

use crate::names::group_label;

/// What the addresses of a deployment are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// The deployment's name.
    pub deployment: String,
    /// `KUBE_NAMESPACE`.
    pub namespace: String,
    /// `KUBE_SERVICE_DOMAIN`, appended verbatim.
    pub service_domain: String,
}

impl Domain {
    /// `<deployment>-<ig>.<namespace>.<service domain>`: the whole group.
    pub fn group_address(&self, group: &str) -> String {
        format!("{}.{}.{}", group_label(&self.deployment, group), self.namespace, self.service_domain)
    }

    /// `<deployment>-<ig>-<index>.<namespace>.<service domain>`: one instance.
    pub fn instance_address(&self, group: &str, index: u32) -> String {
        format!("{}-{index}.{}.{}", group_label(&self.deployment, group), self.namespace, self.service_domain)
    }
}

/// One instance of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The AZ's name, where the group has AZs.
    pub az: Option<String>,
    /// `AZ_INDEX`, from 1.
    pub az_index: u32,
    /// `POD_ORDINAL`, from 0.
    pub ordinal: u32,
    /// `(AZ_INDEX-1)*REPLICAS + POD_ORDINAL`.
    pub index: u32,
}

/// The instance's index: `(AZ_INDEX-1)*REPLICAS + POD_ORDINAL`, where an AZ_INDEX of 0 counts as 1.
/// `None` where it does not fit.
pub fn index(az_index: u32, replicas: u32, ordinal: u32) -> Option<u32> {
    az_index.max(1).checked_sub(1)?.checked_mul(replicas)?.checked_add(ordinal)
}

/// How many instances each AZ has: as even as can be, earlier AZs first. One share where there are no AZs.
pub fn shares(instances: u32, azs: usize) -> Vec<u32> {
    let azs = u32::try_from(azs.max(1)).unwrap_or(u32::MAX);
    (0..azs).map(|i| instances / azs + u32::from(i < instances % azs)).collect()
}

/// `REPLICAS`: the share of the largest AZ, the same number in all AZs, so that indexes never collide.
pub fn replicas(instances: u32, azs: usize) -> u32 {
    shares(instances, azs)[0]
}

/// Every instance of a group, by index.
pub fn slots(instances: u32, azs: &[String]) -> Vec<Slot> {
    let replicas = replicas(instances, azs.len());
    let mut slots = Vec::new();
    for (i, share) in (1u32..).zip(shares(instances, azs.len())) {
        for ordinal in 0..share {
            let az = azs.get(i as usize - 1).cloned();
            slots.push(Slot { az, az_index: i, ordinal, index: (i - 1) * replicas + ordinal });
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexes(instances: u32, azs: &[&str]) -> Vec<u32> {
        let azs: Vec<String> = azs.iter().map(|s| (*s).to_owned()).collect();
        slots(instances, &azs).iter().map(|s| s.index).collect()
    }

    #[test]
    fn instances_are_spread_and_numbered_by_the_formula() {
        assert_eq!(indexes(6, &["z1", "z2"]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(indexes(3, &["z1", "z2"]), [0, 1, 2]);
        assert_eq!(indexes(4, &["z1", "z2", "z3"]), [0, 1, 2, 4]);
        assert_eq!(indexes(2, &["z1", "z2", "z3"]), [0, 1]);
        assert_eq!(indexes(3, &[]), [0, 1, 2]);
        assert!(indexes(0, &["z1"]).is_empty());
    }

    #[test]
    fn an_az_index_of_zero_counts_as_one() {
        assert_eq!((index(0, 3, 2), index(1, 3, 2), index(2, 3, 2)), (Some(2), Some(2), Some(5)));
        assert_eq!(index(u32::MAX, u32::MAX, 1), None);
    }

    #[test]
    fn addresses_follow_the_specification() {
        let domain =
            Domain { deployment: "cf".into(), namespace: "ns".into(), service_domain: "svc.cluster.local".into() };
        assert_eq!(domain.instance_address("nats", 3), "cf-nats-3.ns.svc.cluster.local");
        assert_eq!(domain.group_address("nats"), "cf-nats.ns.svc.cluster.local");
    }
}
