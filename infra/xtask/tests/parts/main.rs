//! The parts that FluxGate does not build: PostgreSQL and NATS, as they are run here.

mod lifecycle;
mod nats;
