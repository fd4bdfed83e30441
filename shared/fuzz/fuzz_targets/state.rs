//! Any state and contexts: compiling and answering never panic, and the answers are those of the rules as written.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target, fuzzer_mutate};
use shared_fuzz::check::state;
use shared_fuzz::mutate;

fuzz_target!(|data: &[u8]| -> Corpus { if state::check(data) { Corpus::Keep } else { Corpus::Reject } });

fuzz_mutator!(|data: &mut [u8], size: usize, size_max: usize, seed: u32| {
    match mutate::mutated(&data[..size], size_max, seed) {
        Some(bytes) => mutate::put(&bytes, data),
        None => fuzzer_mutate(data, size, size_max),
    }
});

fuzz_crossover!(|data: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    mutate::crossed(data, other, out.len(), seed).map_or(0, |bytes| mutate::put(&bytes, out))
});
