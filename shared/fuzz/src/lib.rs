//! What fuzzing needs beside its targets: [`check`] says what must hold, [`mutate`] changes JSON as a tree, since bytes
//! changed by chance are hardly ever JSON.

pub mod check;
pub mod mutate;
