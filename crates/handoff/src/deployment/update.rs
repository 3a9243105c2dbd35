//! How a group is updated: the types of `update`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A group's `update`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// How many instances are updated first, alone.
    pub canaries: Count,
    /// How many instances are updated at a time.
    pub max_in_flight: Count,
    /// How long a canary may take until it runs.
    pub canary_watch_time: WatchTime,
    /// How long any other instance may take until it runs.
    pub update_watch_time: WatchTime,
    /// Whether the groups behind it wait for it.
    pub serial: bool,
    /// How an instance's VM is replaced.
    pub vm_strategy: VmStrategy,
    /// Whether the first deployment starts all AZs at once.
    pub initial_deploy_az_update_strategy: AzUpdate,
}

/// A number of instances, or a percentage of the group's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// So many.
    Number(u32),
    /// So many in a hundred, rounded down.
    Percent(u32),
}

impl Count {
    /// How many that is of `size` instances, as BOSH computes it.
    pub fn of(self, size: u32) -> u32 {
        match self {
            Count::Number(number) => number,
            Count::Percent(percent) => {
                let share = u64::from(size) * u64::from(percent) / 100;
                u32::try_from(share).unwrap_or(u32::MAX).min(size)
            }
        }
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Count::Number(number) => serializer.serialize_u32(*number),
            Count::Percent(percent) => serializer.collect_str(&format_args!("{percent}%")),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(u32),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(number) => Ok(Count::Number(number)),
            Either::Text(text) => {
                let percent = text.strip_suffix('%').and_then(|digits| digits.parse().ok());
                percent.map(Count::Percent).ok_or_else(|| D::Error::custom("neither a number nor a percentage"))
            }
        }
    }
}

/// A watch time: the instance is checked from the one time on and has failed at the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchTime {
    /// The first check, in milliseconds after the start.
    #[serde(with = "duration")]
    pub from: u64,
    /// The end, in milliseconds after the start.
    #[serde(with = "duration")]
    pub to: u64,
}

/// How an instance's VM is replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VmStrategy {
    /// The old one goes, then the new one comes.
    #[default]
    DeleteCreate,
    /// The new one is made while the old one works.
    CreateSwapDelete,
}

/// In which order the first deployment starts a group's AZs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AzUpdate {
    /// One after the other.
    #[default]
    Serial,
    /// All at once.
    Parallel,
}

/// Milliseconds, written `30s` or `1500ms`.
mod duration {
    use super::{Deserialize, Deserializer, Error, Serializer};

    // The signature is serde's.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(super) fn serialize<S: Serializer>(ms: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        if ms.is_multiple_of(1000) {
            serializer.collect_str(&format_args!("{}s", ms / 1000))
        } else {
            serializer.collect_str(&format_args!("{ms}ms"))
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parse = |digits: &str, factor: u64| digits.parse::<u64>().ok()?.checked_mul(factor);
        let ms = match text.strip_suffix("ms") {
            Some(digits) => parse(digits, 1),
            None => text.strip_suffix('s').and_then(|digits| parse(digits, 1000)),
        };
        ms.ok_or_else(|| D::Error::custom("not a duration"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_numbers_or_percentages() {
        let cases = [(Count::Number(3), 10, 3), (Count::Percent(25), 10, 2), (Count::Percent(200), 10, 10)];
        for (count, size, number) in cases {
            assert_eq!(count.of(size), number, "{count:?}");
            let text = serde_yaml::to_string(&count).unwrap();
            assert_eq!(serde_yaml::from_str::<Count>(&text).unwrap(), count, "{text}");
        }
        for text in ["x", "-1", "5.5", "%", "true"] {
            assert!(serde_yaml::from_str::<Count>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        let watch = WatchTime { from: 500, to: 1_200_000 };
        let text = serde_yaml::to_string(&watch).unwrap();
        assert_eq!(text, "from: 500ms\nto: 1200s\n");
        assert_eq!(serde_yaml::from_str::<WatchTime>(&text).unwrap(), watch);
        for text in ["5", "s", "-1s", "1h", "'99999999999999999999s'", "18446744073709551615s"] {
            assert!(serde_yaml::from_str::<WatchTime>(&format!("{{from: {text}, to: 1s}}")).is_err(), "{text}");
        }
    }
}
