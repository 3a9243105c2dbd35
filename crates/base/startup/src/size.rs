//! Numbers of bytes, as flags and variables give them.

/// A number of bytes with an optional unit: `500K`, `10M`, `20G`, `1T`, powers of 1024.
///
/// # Errors
/// A text of another form, or a number that does not fit 64 bits.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("must be a number and its unit: K, M, G or T, as in 10M".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "must start with a number, as in 10M".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("0", 0), ("512", 512), ("1K", 1024), ("10M", 10 << 20), ("2G", 2 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(parse_size(text), Ok(bytes));
        }
        for text in ["", "M", "-1", "1m", "5x", "1.5M", "99999999999G"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
