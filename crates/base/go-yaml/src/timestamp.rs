//! Which texts are dates: they stay text, but are not written plain.

/// Whether a text is a timestamp: `Y-M-D`; with ` h:m:s[.f]` behind it; or with `T` or `t`, `h:m:s[.f]` and `Z` or an
/// offset. The year has four digits, month and day one or two.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let mut rest = Rest(text.as_bytes());
    date(&mut rest).is_some_and(|()| rest.0.is_empty() || time(&mut rest).is_some_and(|()| rest.0.is_empty()))
}

/// What is left of the text.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// A number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let digits = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if digits < least {
            return None;
        }
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        std::str::from_utf8(number).ok()?.parse().ok()
    }
}

fn date(rest: &mut Rest) -> Option<()> {
    let year = rest.number(4, 4)?;
    rest.take(b'-')?;
    let month = rest.number(1, 2)?;
    rest.take(b'-')?;
    let day = rest.number(1, 2)?;
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&day).then_some(())
}

fn time(rest: &mut Rest) -> Option<()> {
    let has_zone = match rest.0.first()? {
        b' ' => false,
        b'T' | b't' => true,
        _ => return None,
    };
    rest.0 = &rest.0[1..];
    let hour = rest.number(1, 2).filter(|hour| *hour < 24)?;
    rest.take(b':')?;
    let minute = rest.number(1, 2).filter(|minute| *minute < 60)?;
    rest.take(b':')?;
    let second = rest.number(1, 2).filter(|second| *second < 60)?;
    let _ = (hour, minute, second);
    // Go accepts a fraction behind `.` and `,`, of any number of digits.
    if matches!(rest.0.first(), Some(b'.' | b',')) && rest.0.get(1).is_some_and(u8::is_ascii_digit) {
        let digits = rest.0[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest.0 = &rest.0[1 + digits..];
    }
    if has_zone { zone(rest) } else { Some(()) }
}

fn zone(rest: &mut Rest) -> Option<()> {
    match rest.0.first()? {
        b'Z' => rest.take(b'Z'),
        b'+' | b'-' => {
            rest.0 = &rest.0[1..];
            rest.number(2, 2).filter(|hours| *hours <= 24)?;
            rest.take(b':')?;
            rest.number(2, 2).filter(|minutes| *minutes < 60)?;
            Some(())
        }
        _ => None,
    }
}
