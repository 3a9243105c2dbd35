//! Lines that are forwarded together, and how they are laid out to be sent.

/// What a pipe takes in one place.
pub(crate) const PAGE: usize = 4096;

/// Lines that are forwarded together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each line ends.
    ends: Vec<usize>,
}

impl Batch {
    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds a line, which `write` writes with its end.
    pub(crate) fn line(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// What it says.
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Empties it.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// The lines as they lie in a file from `base` on, and the parts in which they are sent: each within one page, which
    /// takes exactly one place in a pipe, so that a pipe takes all of it or nothing. A line that fits into a page is
    /// never divided, whenever this process is killed.
    pub(crate) fn laid_out(&self, base: u64) -> (Vec<u8>, Vec<(u32, u32)>) {
        let shift = (base % PAGE as u64) as usize;
        let mut payload: Vec<u8> = Vec::with_capacity(self.bytes.len() * 9 / 8 + PAGE);
        let mut parts: Vec<(u32, u32)> = Vec::new();
        let mut start = 0;
        for end in &self.ends {
            let line = &self.bytes[start..*end];
            start = *end;
            let room = PAGE - (shift + payload.len()) % PAGE;
            if line.len() > room {
                payload.resize(payload.len() + room % PAGE, 0);
            }
            let mut rest = line;
            while !rest.is_empty() {
                let room = PAGE - (shift + payload.len()) % PAGE;
                let (now, later) = rest.split_at(rest.len().min(room));
                match parts.last_mut() {
                    // Goes on where the last one ends, in the same page.
                    Some((at, length)) if (*at + *length) as usize == payload.len() && room < PAGE => {
                        *length += now.len() as u32;
                    }
                    _ => parts.push((payload.len() as u32, now.len() as u32)),
                }
                payload.extend_from_slice(now);
                rest = later;
            }
        }
        (payload, parts)
    }
}
