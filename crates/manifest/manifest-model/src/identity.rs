//! Which instances a group has, and who each of them is (specification, "Calculating spec.* and link().instances").

use std::collections::{HashMap, HashSet};

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
    /// Its index for life: `(AZ_INDEX-1)*REPLICAS + POD_ORDINAL` in the first version of the deployment.
    pub index: u32,
}

/// The instance's index in the first version of a deployment: `(AZ_INDEX-1)*REPLICAS + POD_ORDINAL`, where an AZ_INDEX of 0 counts as 1.
/// `None` where it does not fit.
pub fn index(az_index: u32, replicas: u32, ordinal: u32) -> Option<u32> {
    az_index.max(1).checked_sub(1)?.checked_mul(replicas)?.checked_add(ordinal)
}

/// How many instances each AZ has: as even as can be, earlier AZs first. One share where there are no AZs.
fn shares(instances: u32, azs: usize) -> Vec<u32> {
    let azs = u32::try_from(azs.max(1)).unwrap_or(u32::MAX);
    (0..azs).map(|i| instances / azs + u32::from(i < instances % azs)).collect()
}

/// `REPLICAS`: the share of the largest AZ, the same number in all AZs, so that indexes never collide.
pub fn replicas(instances: u32, azs: usize) -> u32 {
    shares(instances, azs)[0]
}

/// The AZs of a group by `AZ_INDEX`. An AZ keeps the number that it had in `earlier` versions, also one that the manifest no longer has,
/// because pods and their disks are named by it; new AZs come after them, in the manifest's order.
pub fn numbered_azs(azs: &[String], earlier: &[Slot]) -> Vec<String> {
    let mut known: Vec<(u32, &String)> =
        earlier.iter().filter_map(|slot| Some((slot.az_index, slot.az.as_ref()?))).collect();
    known.sort();
    known.dedup();
    let mut numbered: Vec<String> = known.into_iter().map(|(_, az)| az.clone()).collect();
    for az in azs {
        if !numbered.contains(az) {
            numbered.push(az.clone());
        }
    }
    // A group whose AZs are all gone has none.
    if azs.is_empty() { Vec::new() } else { numbered }
}

/// Every instance of a group, by index. What existed in an AZ in `earlier` versions has the index that it had; new instances get the
/// lowest indexes that none ever had. Without earlier versions the formula gives the indexes.
pub fn slots(instances: u32, azs: &[String], earlier: &[Slot]) -> Vec<Slot> {
    // Instances without AZ and those with one have nothing in common, not even the names of their pods.
    let of_this_kind = earlier.iter().filter(|slot| slot.az.is_none() == azs.is_empty());
    let known: HashMap<(Option<&str>, u32), u32> =
        of_this_kind.map(|slot| ((slot.az.as_deref(), slot.ordinal), slot.index)).collect();
    let taken: HashSet<u32> = known.values().copied().collect();
    let mut free = (0..).filter(|index| !taken.contains(index));
    let numbered = numbered_azs(azs, earlier);
    let replicas = replicas(instances, azs.len());
    let mut slots = Vec::new();
    for (position, share) in shares(instances, azs.len()).into_iter().enumerate() {
        let az = azs.get(position).cloned();
        let number = az.as_ref().and_then(|az| numbered.iter().position(|known| known == az)).unwrap_or_default();
        let az_index = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
        for ordinal in 0..share {
            let index = match known.get(&(az.as_deref(), ordinal)) {
                Some(index) => *index,
                None if known.is_empty() => (az_index - 1) * replicas + ordinal,
                None => free.next().unwrap_or(u32::MAX),
            };
            slots.push(Slot { az: az.clone(), az_index, ordinal, index });
        }
    }
    slots.sort_by_key(|slot| slot.index);
    slots
}

/// The instances that a group has or had: `slots`, and those of `earlier` versions that it no longer has. They keep their indexes in
/// the next version.
pub fn known_after(slots: &[Slot], earlier: &[Slot]) -> Vec<Slot> {
    let present: HashSet<_> = slots.iter().map(|slot| (&slot.az, slot.ordinal)).collect();
    let is_gone = |old: &&Slot| {
        !present.contains(&(&old.az, old.ordinal))
            && slots.first().is_none_or(|slot| slot.az.is_none() == old.az.is_none())
    };
    let mut known: Vec<Slot> = slots.iter().chain(earlier.iter().filter(is_gone)).cloned().collect();
    known.sort_by_key(|slot| slot.index);
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexes(instances: u32, azs: &[&str]) -> Vec<u32> {
        let azs: Vec<String> = azs.iter().map(|s| (*s).to_owned()).collect();
        slots(instances, &azs, &[]).iter().map(|s| s.index).collect()
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

    fn names(azs: &[&str]) -> Vec<String> {
        azs.iter().map(|az| (*az).to_owned()).collect()
    }

    /// The instances of each version, as `AZ/ORDINAL=INDEX` and with the number of the AZ.
    fn versions(history: &[(u32, &[&str])]) -> Vec<Vec<String>> {
        let mut known = Vec::new();
        let version = |(instances, azs): &(u32, &[&str])| {
            let slots = slots(*instances, &names(azs), &known);
            known = known_after(&slots, &known);
            let shown = |slot: &Slot| {
                format!("{}{}/{}={}", slot.az_index, slot.az.as_deref().unwrap_or(""), slot.ordinal, slot.index)
            };
            slots.iter().map(shown).collect()
        };
        history.iter().map(version).collect()
    }

    #[test]
    fn an_instance_keeps_its_index_when_its_group_is_scaled() {
        let zones: &[&str] = &["z1", "z2"];
        assert_eq!(
            versions(&[(2, zones), (3, zones), (4, zones), (2, zones), (4, zones)])[1..],
            [
                vec!["1z1/0=0", "2z2/0=1", "1z1/1=2"],
                vec!["1z1/0=0", "2z2/0=1", "1z1/1=2", "2z2/1=3"],
                vec!["1z1/0=0", "2z2/0=1"],
                vec!["1z1/0=0", "2z2/0=1", "1z1/1=2", "2z2/1=3"],
            ]
        );
    }

    #[test]
    fn an_az_keeps_its_number_and_its_instances() {
        let found = versions(&[
            (2, &["z1", "z2"]),
            (2, &["z2", "z1"]),
            (3, &["z0", "z1", "z2"]),
            (2, &["z2"]),
            (2, &["z1", "z2"]),
        ]);
        assert_eq!(found[1], ["1z1/0=0", "2z2/0=1"]);
        assert_eq!(found[2], ["1z1/0=0", "2z2/0=1", "3z0/0=2"]);
        assert_eq!(found[3], ["2z2/0=1", "2z2/1=3"]);
        assert_eq!(found[4], ["1z1/0=0", "2z2/0=1"]);
    }

    #[test]
    fn instances_without_az_begin_anew_when_they_get_one() {
        let found = versions(&[(2, &[]), (2, &["z1"]), (3, &["z1"])]);
        assert_eq!(found[0], ["1/0=0", "1/1=1"]);
        assert_eq!(found[1], ["1z1/0=0", "1z1/1=1"]);
        assert_eq!(found[2], ["1z1/0=0", "1z1/1=1", "1z1/2=2"]);
    }

    /// Histories of scaling and zones: no living instance changes its index, and no two share one.
    #[test]
    fn no_history_changes_who_an_instance_is() {
        let mut random = 1u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..1000 {
            let mut known: Vec<Slot> = Vec::new();
            let mut indexes = HashMap::new();
            for _ in 0..8 {
                let mut azs = names(&["z1", "z2", "z3", "z4"]);
                for position in 0..4 {
                    azs.swap(position, next(4) as usize);
                }
                azs.truncate(1 + next(4) as usize);
                let slots = slots(next(12) as u32, &azs, &known);
                for (position, slot) in slots.iter().enumerate() {
                    let key = (slot.az.clone(), slot.az_index, slot.ordinal);
                    assert_eq!(*indexes.entry(key).or_insert(slot.index), slot.index, "{slots:?}");
                    assert!(slots[..position].iter().all(|other| other.index != slot.index), "{slots:?}");
                }
                known = known_after(&slots, &known);
            }
            let numbers: std::collections::BTreeSet<_> =
                known.iter().map(|slot| (slot.az.clone(), slot.az_index)).collect();
            let zones: std::collections::BTreeSet<_> = known.iter().map(|slot| slot.az.clone()).collect();
            assert_eq!(numbers.len(), zones.len(), "an AZ has two numbers: {known:?}");
        }
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
