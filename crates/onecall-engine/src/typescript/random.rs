//! The random numbers of a program. All of them come from one seed, so that a journalled program
//! gets the same ones when it is repeated.

use std::cell::RefCell;

use onecall_core::DigestBuilder;

thread_local! {
    static RANDOM: RefCell<RandomSource> = RefCell::new(RandomSource::new([0; 32]));
}

/// Makes all random numbers of this process from `seed`. Every worker needs its own seed, because
/// all are forked from one zygote.
pub(super) fn seed(seed: [u8; 32]) {
    RANDOM.set(RandomSource::new(seed));
}

/// A random number in the range from zero to one, excluding one. It is fast, and can be predicted
/// from earlier ones.
pub(super) fn number() -> f64 {
    RANDOM.with_borrow_mut(RandomSource::number)
}

/// A random byte that cannot be predicted without the seed.
pub(super) fn byte() -> u8 {
    RANDOM.with_borrow_mut(RandomSource::byte)
}

struct RandomSource {
    seed: [u8; 32],
    /// The state of the generator for numbers.
    state: [u64; 2],
    /// Bytes that are not used yet, the next one last.
    bytes: Vec<u8>,
    /// How many blocks of bytes have been made.
    blocks: u64,
}

impl RandomSource {
    fn new(seed: [u8; 32]) -> Self {
        let digest = digest(b"numbers", &seed, 0);
        let [low, high] = [digest.first_chunk(), digest.last_chunk()]
            .map(|part| u64::from_le_bytes(part.copied().unwrap_or([1; 8])));
        // The generator needs a state that is not zero.
        Self { seed, state: [low | 1, high], bytes: Vec::new(), blocks: 0 }
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits are what a number holds")]
    fn number(&mut self) -> f64 {
        // xorshift128+
        let [mut a, b] = self.state;
        a ^= a << 23;
        a = a ^ b ^ (a >> 17) ^ (b >> 26);
        self.state = [b, a];
        (a.wrapping_add(b) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn byte(&mut self) -> u8 {
        if self.bytes.is_empty() {
            self.bytes.extend(digest(b"bytes", &self.seed, self.blocks));
            self.blocks += 1;
        }
        self.bytes.pop().unwrap_or_default()
    }
}

/// A block of random bytes; `purpose` separates the streams of one seed.
fn digest(purpose: &[u8], seed: &[u8; 32], block: u64) -> [u8; 32] {
    let mut digest = DigestBuilder::default();
    digest.add_part(purpose);
    digest.add(seed);
    digest.add(block.to_le_bytes());
    digest.finish().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(seed: [u8; 32]) -> (Vec<f64>, Vec<u8>) {
        let mut random = RandomSource::new(seed);
        let numbers = (0..10).map(|_| random.number()).collect();
        (numbers, (0..100).map(|_| random.byte()).collect())
    }

    #[test]
    fn one_seed_gives_the_same_values_again_and_another_gives_others() {
        assert_eq!(values([7; 32]), values([7; 32]));
        let (numbers, bytes) = values([7; 32]);
        let (others, other_bytes) = values([8; 32]);
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        assert_ne!((numbers, bytes), (others, other_bytes));
    }

    #[test]
    fn blocks_of_bytes_differ() {
        let (_, bytes) = values([0; 32]);
        assert_ne!(bytes[..32], bytes[32..64]);
    }
}
