//! Frames: the length of what follows as four bytes, the highest first, and then that many bytes.

/// The longest content of a frame: far more than any message has, and nothing that hurts to hold.
pub const LONGEST: usize = 64 * 1024;
/// How long the length is.
const HEADER: usize = 4;

/// A frame that is longer than [`LONGEST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// The frame with this content.
pub fn encode(content: &[u8]) -> Result<Vec<u8>, TooLong> {
    let length = u32::try_from(content.len()).ok().filter(|_| content.len() <= LONGEST).ok_or(TooLong)?;
    let mut frame = Vec::with_capacity(HEADER + content.len());
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(content);
    Ok(frame)
}

/// Puts frames together from what arrives in any portions.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
}

impl Decoder {
    /// Takes what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The content of the next frame that is complete. One that will be too long is refused before it is.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let Some(header) = self.bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes(*header)).unwrap_or(usize::MAX);
        if length > LONGEST {
            return Err(TooLong);
        }
        if self.bytes.len() < HEADER + length {
            return Ok(None);
        }
        let content = self.bytes[HEADER..HEADER + length].to_vec();
        self.bytes.drain(..HEADER + length);
        Ok(Some(content))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_survive_any_portions(
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8),
            portion in 1usize..50,
        ) {
            let bytes: Vec<u8> = contents.iter().flat_map(|c| encode(c).unwrap()).collect();
            let mut decoder = Decoder::default();
            let mut received = Vec::new();
            for bytes in bytes.chunks(portion) {
                decoder.push(bytes);
                while let Some(content) = decoder.take().unwrap() {
                    received.push(content);
                }
            }
            prop_assert_eq!(received, contents);
        }

        #[test]
        fn garbage_is_refused_or_waited_for(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            while let Ok(Some(content)) = decoder.take() {
                prop_assert!(content.len() <= bytes.len());
            }
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_known_by_its_header() {
        assert_eq!(encode(&vec![0; LONGEST]).unwrap().len(), LONGEST + 4);
        assert_eq!(encode(&vec![0; LONGEST + 1]), Err(TooLong));
        let mut decoder = Decoder::default();
        decoder.push(&[0xff; 4]);
        assert_eq!(decoder.take(), Err(TooLong));
    }
}
