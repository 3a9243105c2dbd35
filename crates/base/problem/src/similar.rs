//! Hints for names that are probably misspelt.

/// The known name that is most similar to `name`, if one is so similar that `name` is probably a misspelling of it.
///
/// One that differs in case alone is. Names may be dotted; the parts that both begin with do not count.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .filter_map(|candidate| {
            if name != candidate && name.eq_ignore_ascii_case(candidate) {
                return Some((1, candidate));
            }
            // A long common prefix does not make the rest similar.
            let (a, b) = different_parts(name, candidate);
            let lengths = [a.chars().count(), b.chars().count()];
            let limit = (lengths[0].max(lengths[1]) / 4).min(3);
            // The lengths alone may say that too much differs.
            if lengths[0].abs_diff(lengths[1]) > limit {
                return None;
            }
            let distance = distance(a, b);
            (distance > 0 && distance <= limit).then_some((distance, candidate))
        })
        .min_by_key(|(d, _)| *d)
        .map(|(_, candidate)| candidate)
}

/// The hint about an unknown name: the similar known name, or else `otherwise`, which usually lists the known names.
pub fn hint_for_unknown<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    did_you_mean(name, known).map_or_else(otherwise, |similar| format!("did you mean '{similar}'?"))
}

/// Two dotted names without the parts that both begin with.
fn different_parts<'n>(mut a: &'n str, mut b: &'n str) -> (&'n str, &'n str) {
    while let (Some((first, rest_of_a)), Some((same, rest_of_b))) = (a.split_once('.'), b.split_once('.'))
        && first == same
    {
        (a, b) = (rest_of_a, rest_of_b);
    }
    (a, b)
}

/// The edit distance; a transposition of two neighbouring characters counts once.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: [Vec<usize>; 3] = [vec![], vec![], (0..=b.len()).collect()];
    for i in 0..a.len() {
        rows.rotate_left(1);
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut next = (rows[1][j] + usize::from(a[i] != b[j])).min(rows[1][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                next = next.min(rows[0][j - 1] + 1);
            }
            row.push(next);
        }
        rows[2] = row;
    }
    rows[2][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        assert_eq!(did_you_mean("nats.pasword", ["nats.password", "nats.port"]), Some("nats.password"));
        assert_eq!(did_you_mean("nats.prot", ["nats.password", "nats.port"]), Some("nats.port"));
        assert_eq!(did_you_mean("gnats", ["nats"]), Some("nats"));
        assert_eq!(did_you_mean("nats.tls.enabled", ["nats.tsl.enabled"]), Some("nats.tsl.enabled"));
    }

    #[test]
    fn short_names_that_differ_are_different_names() {
        assert_eq!(did_you_mean("entirely.else", ["nats.password"]), None);
        assert_eq!(did_you_mean("nats.one", ["nats.env"]), None);
        assert_eq!(did_you_mean("db", ["dc", "d"]), None);
    }
}
