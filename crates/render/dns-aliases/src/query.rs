//! The first label of a name: an instance's id, or a query with filters.

use crate::Instance;

/// The filters of `q-...`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    azs: Vec<u32>,
    indexes: Vec<u32>,
    numbers: Vec<u32>,
    pub(crate) networks: Vec<u32>,
    /// The last `s`; 0 without one.
    pub(crate) health: u32,
}

impl Filters {
    /// The filters of what follows `q-`; nothing if that is malformed.
    pub(crate) fn read(text: &str) -> Option<Filters> {
        let mut filters = Filters::default();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let digits = rest.get(1..)?;
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let number: u32 = digits[..end].parse().ok()?;
            match letter {
                'a' => filters.azs.push(number),
                'i' => filters.indexes.push(number),
                'm' => filters.numbers.push(number),
                'n' => filters.networks.push(number),
                's' => filters.health = number,
                // When health is checked for the first time.
                'y' => {}
                _ => return None,
            }
            rest = &digits[end..];
        }
        (!text.is_empty()).then_some(filters)
    }

    /// The index, if there is one; nothing if there are other filters than those on health and one index.
    pub(crate) fn only_health_and_index(&self) -> Option<Option<u32>> {
        let others = self.azs.len() + self.numbers.len() + self.networks.len();
        (others == 0 && self.indexes.len() <= 1).then(|| self.indexes.first().copied())
    }

    /// Whether an instance matches, apart from its health and networks.
    pub(crate) fn admit(&self, instance: &Instance) -> bool {
        let any =
            |numbers: &[u32], own: Option<u32>| numbers.is_empty() || own.is_some_and(|own| numbers.contains(&own));
        any(&self.azs, instance.az)
            && any(&self.indexes, Some(instance.index))
            && any(&self.numbers, Some(instance.number))
    }
}

/// The instances that a filter on health (`s`) leaves. What is not known counts as healthy.
pub(crate) fn by_health<'a>(health: u32, instances: Vec<&'a Instance>) -> Vec<&'a Instance> {
    let with = |wanted: bool| -> Vec<&'a Instance> {
        instances.iter().copied().filter(|instance| instance.healthy.unwrap_or(true) == wanted).collect()
    };
    match health {
        1 => with(false),
        3 => with(true),
        4 => instances,
        // The default: the healthy ones, or all if none is.
        _ => {
            let healthy = with(true);
            if healthy.is_empty() { instances } else { healthy }
        }
    }
}

/// Whether a filter on health (`s`) can leave different ones of so many instances, depending on their health.
pub(crate) fn is_decided_by_health(health: u32, instances: usize) -> bool {
    match health {
        4 => false,
        1 | 3 => true,
        // The only one is left even if it is not healthy.
        _ => instances > 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_letters_with_numbers() {
        let filters = Filters::read("a1a2i0m7n3s4y1").unwrap();
        assert_eq!((filters.azs, filters.indexes, filters.numbers), (vec![1, 2], vec![0], vec![7]));
        assert_eq!((filters.networks, filters.health), (vec![3], 4));
        for malformed in ["", "s", "4", "sa", "x1", "s4-", "s4a", "s99999999999", "é1", "s 4"] {
            assert_eq!(Filters::read(malformed), None, "{malformed}");
        }
    }
}
