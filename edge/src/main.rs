//! What an edge does.
fn main() {}
