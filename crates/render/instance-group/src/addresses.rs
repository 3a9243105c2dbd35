//! Addresses that two would have.

use std::collections::HashMap;

use manifest_model::names::group_label;
use problem::{Place, Problem, code};

use crate::Deployment;

/// Finds groups whose address is that of another group's instance: `db-0` beside an instance of `db`.
pub(crate) fn check(deployment: &Deployment, problems: &mut Vec<Problem>) {
    let domain = &deployment.domain;
    let label = |group: &str| group_label(&domain.deployment, group);
    let groups = &deployment.manifest.instance_groups;
    let by_label: HashMap<String, _> = groups.iter().map(|group| (label(&group.name), group)).collect();
    for group in groups {
        let own = label(&group.name);
        let Some((of, index)) = own.rsplit_once('-') else { continue };
        let (Some(other), Ok(index)) = (by_label.get(of), index.parse::<u32>()) else { continue };
        let is_instance = || other.slots().iter().any(|slot| slot.index == index);
        if own == format!("{of}-{index}") && is_instance() {
            let message = format!(
                "Instance group '{}' would have the address of an instance of instance group '{}': {}",
                group.name,
                other.name,
                domain.group_address(&group.name)
            );
            let mut place = Place::node(&deployment.manifest.file, group.path.clone());
            place.path.push("name".into());
            problems.push(Problem::input(message).code(code::NAME_CONFLICT).at(place).hint("rename one of them"));
        }
    }
}
