//! How a group is updated: `update` of the manifest and of its groups (BOSH: update config).

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::reader::{Object, Reader};

/// A group's `update`; what it does not set is the deployment's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

impl Default for Update {
    /// The values where neither the group nor the deployment has any. BOSH has a default for `serial` and the strategies, and
    /// requires the rest of a deployment; here the watch times end when five minutes are over.
    fn default() -> Self {
        let watch_time = WatchTime { from: 1_000, to: 300_000 };
        Update {
            canaries: Count::Number(1),
            max_in_flight: Count::Number(1),
            canary_watch_time: watch_time,
            update_watch_time: watch_time,
            serial: true,
            vm_strategy: VmStrategy::default(),
            initial_deploy_az_update_strategy: AzUpdate::default(),
        }
    }
}

impl Update {
    /// How many of `size` instances are canaries, at most all of them.
    pub fn canaries_of(&self, size: u32) -> u32 {
        self.canaries.of(size).min(size)
    }

    /// How many of `size` instances are updated at a time, at least one.
    pub fn max_in_flight_of(&self, size: u32) -> u32 {
        self.max_in_flight.of(size).max(1)
    }

    /// The object's `update` over `defaults`.
    pub(crate) fn parse(reader: &mut Reader, object: &Object, defaults: Update) -> Update {
        let Some(section) = reader.hash(object, "update") else { return defaults };
        let mut update = defaults;
        for (key, field) in [("canaries", &mut update.canaries), ("max_in_flight", &mut update.max_in_flight)] {
            let message = format!("'{key}' must be a number or a percentage of instances");
            read(reader, &section, key, field, |text| text.parse().map_err(|_: String| message));
        }
        let (canary, other) = (&mut update.canary_watch_time, &mut update.update_watch_time);
        read(reader, &section, "canary_watch_time", canary, WatchTime::parse);
        read(reader, &section, "update_watch_time", other, WatchTime::parse);
        update.serial = reader.bool(&section, "serial").unwrap_or(update.serial);
        read(reader, &section, "vm_strategy", &mut update.vm_strategy, |text| match text {
            "delete-create" => Ok(VmStrategy::DeleteCreate),
            "create-swap-delete" => Ok(VmStrategy::CreateSwapDelete),
            _ => Err("Invalid vm_strategy, valid strategies are: delete-create, create-swap-delete".to_owned()),
        });
        let key = "initial_deploy_az_update_strategy";
        read(reader, &section, key, &mut update.initial_deploy_az_update_strategy, |text| match text {
            "serial" => Ok(AzUpdate::Serial),
            "parallel" => Ok(AzUpdate::Parallel),
            _ => Err(format!("Invalid {key}, valid strategies are: serial, parallel")),
        });
        update
    }
}

/// Reads a text of the section into `field`; keeps what it is where the key is absent.
fn read<T>(
    reader: &mut Reader,
    section: &Object,
    key: &str,
    field: &mut T,
    parse: impl FnOnce(&str) -> Result<T, String>,
) {
    match reader.string(section, key).map(|text| parse(&text)) {
        None => {}
        Some(Ok(value)) => *field = value,
        Some(Err(message)) => reader.problem(section.at(key), message),
    }
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

impl FromStr for Count {
    type Err = String;

    /// As BOSH reads it: a number below zero counts as zero.
    fn from_str(text: &str) -> Result<Count, String> {
        let count = match text.strip_suffix('%') {
            Some(digits) => {
                let only_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
                digits.parse().ok().filter(|_| only_digits).map(Count::Percent)
            }
            None => text.parse().ok().and_then(|number: i64| u32::try_from(number.max(0)).ok()).map(Count::Number),
        };
        count.ok_or_else(|| "neither a number nor a percentage of instances".to_owned())
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Number(number) => number.fmt(f),
            Count::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Count::Number(number) => serializer.serialize_u32(*number),
            Count::Percent(_) => serializer.collect_str(self),
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

impl WatchTime {
    /// As BOSH reads it: a number of milliseconds, or two with a dash between them.
    fn parse(text: &str) -> Result<WatchTime, String> {
        let number = |text: &str| {
            let digits = text.trim();
            digits.parse().ok().filter(|_: &u64| digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let bounds = match text.split_once('-') {
            Some((from, to)) => number(from).zip(number(to)),
            None => number(text).map(|both| (both, both)),
        };
        match bounds {
            None => Err("Watch time should be an integer or a range of two integers".to_owned()),
            Some((from, to)) if from > to => Err("Min watch time cannot be greater than max watch time".to_owned()),
            Some((from, to)) => Ok(WatchTime { from, to }),
        }
    }
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

/// Groups that are updated at the same time: consecutive ones that are not serial. Each serial group is alone.
pub fn batches<T>(groups: Vec<T>, is_serial: impl Fn(&T) -> bool) -> Vec<Vec<T>> {
    let mut batches: Vec<(bool, Vec<T>)> = Vec::new();
    for group in groups {
        let serial = is_serial(&group);
        match batches.last_mut() {
            Some((false, batch)) if !serial => batch.push(group),
            _ => batches.push((serial, vec![group])),
        }
    }
    batches.into_iter().map(|(_, batch)| batch).collect()
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
    fn at_least_one_instance_is_updated_at_a_time() {
        let update = Update { canaries: Count::Number(5), max_in_flight: Count::Percent(10), ..Update::default() };
        assert_eq!((update.canaries_of(3), update.max_in_flight_of(3), update.max_in_flight_of(30)), (3, 1, 3));
        let none = Update { canaries: Count::Number(0), max_in_flight: Count::Number(0), ..update };
        assert_eq!((none.canaries_of(3), none.max_in_flight_of(3)), (0, 1));
    }

    #[test]
    fn texts_of_the_manifest_are_read_as_bosh_reads_them() {
        let counts = [
            ("3", Some(Count::Number(3))),
            ("+3", Some(Count::Number(3))),
            ("-1", Some(Count::Number(0))),
            ("30%", Some(Count::Percent(30))),
            ("+30%", None),
            ("%", None),
            ("", None),
            ("3.5", None),
        ];
        for (text, count) in counts {
            assert_eq!(text.parse().ok(), count, "{text:?}");
        }
        let times = [
            ("5000", Ok((5000, 5000))),
            (" 5 - 60 ", Ok((5, 60))),
            ("60-5", Err("Min watch time cannot be greater than max watch time")),
            ("5s", Err("Watch time should be an integer or a range of two integers")),
            ("-5", Err("Watch time should be an integer or a range of two integers")),
        ];
        for (text, expected) in times {
            let read = WatchTime::parse(text).map(|time| (time.from, time.to));
            assert_eq!(read.as_ref().map_err(String::as_str).copied(), expected, "{text:?}");
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

    #[test]
    fn a_serial_group_is_updated_alone() {
        let all = vec![("a", true), ("b", false), ("c", false), ("d", true), ("e", false)];
        let names: Vec<Vec<&str>> = batches(all, |(_, serial)| *serial)
            .into_iter()
            .map(|b| b.into_iter().map(|(name, _)| name).collect())
            .collect();
        assert_eq!(names, [vec!["a"], vec!["b", "c"], vec!["d"], vec!["e"]]);
    }
}
