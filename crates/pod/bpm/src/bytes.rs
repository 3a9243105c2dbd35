//! Sizes in memory limits, as Cloud Foundry's bytefmt reads them.

/// The text that bytefmt gives for anything that it cannot read.
pub const INVALID_BYTE_QUANTITY: &str =
    "byte quantity must be a positive integer with a unit of measurement like M, MB, MiB, G, GiB, or GB";

/// `text` in bytes: a number, which may have a fraction, and a unit; every unit is a power of 1024, in any case.
pub fn to_bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_uppercase();
    let (number, unit) = text.split_at(text.find(char::is_alphabetic)?);
    let shift = match unit {
        "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        "P" | "PB" | "PIB" => 50,
        "E" | "EB" | "EIB" => 60,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    if !number.is_finite() || number.is_sign_negative() {
        return None;
    }
    let bytes = number * (1u64 << shift) as f64;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_bytefmt_does() {
        let cases = [
            ("1B", Some(1)),
            ("1K", Some(1024)),
            ("1kb", Some(1024)),
            ("2KiB", Some(2048)),
            ("1.5M", Some(1_572_864)),
            (" 3G ", Some(3_221_225_472)),
            ("1t", Some(1 << 40)),
            ("1E", Some(1 << 60)),
            ("0M", Some(0)),
            ("1024", None),
            ("-1M", None),
            ("1 M", None),
            ("1Mi", None),
            ("M", None),
            ("", None),
            ("99E", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(to_bytes(text), bytes, "{text:?}");
        }
    }
}
