//! The product's enums as people read them.

use shared::model::flag::FlagKind;
use shared::model::key::VariantKey;
use shared::model::variant::{ValueType, Variant};

/// All kinds, the most common first.
pub const KINDS: [FlagKind; 5] =
    [FlagKind::Release, FlagKind::Experiment, FlagKind::Operational, FlagKind::KillSwitch, FlagKind::Permission];

/// All types, the most common first.
pub const VALUE_TYPES: [ValueType; 5] =
    [ValueType::Boolean, ValueType::String, ValueType::Integer, ValueType::Float, ValueType::Object];

/// What a kind is for.
pub fn kind_meaning(kind: FlagKind) -> &'static str {
    match kind {
        FlagKind::Release => "brings a change to users step by step; goes when it is done",
        FlagKind::Experiment => "compares variants; goes when the answer is known",
        FlagKind::Operational => "steers how the system runs; may stay",
        FlagKind::KillSwitch => "stands ready to turn something off; stays",
        FlagKind::Permission => "says who may use something; stays",
    }
}

/// `boolean`.
pub fn value_type(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::Boolean => "boolean",
        ValueType::String => "string",
        ValueType::Integer => "integer",
        ValueType::Float => "float",
        ValueType::Object => "object",
    }
}

/// The hue of a variant: that of its position; `off` and what is no variant have none.
pub fn hue(variants: &[Variant], variant: &str) -> u8 {
    if variant == "off" {
        return 0;
    }
    let others = variants.iter().filter(|other| other.key.as_str() != "off");
    let position = others.clone().position(|other| other.key.as_str() == variant);
    position.map_or(0, |position| u8::try_from(position % 8).unwrap_or(0) + 1)
}

/// The variant that stands for "nothing happens": `off`, else the last.
pub fn off_variant(variants: &[Variant]) -> Option<VariantKey> {
    let off = variants.iter().find(|variant| variant.key.as_str() == "off");
    off.or(variants.last()).map(|variant| variant.key.clone())
}
