//! How long a flag is meant to be there.

use serde::{Deserialize, Serialize};

use crate::model::flag::FlagKind;

/// The longest lifetime that can be said, in days.
pub const LIFETIME_DAYS_MAX: u32 = 3_650;

/// How long a flag is meant to be there; it decides nothing but when it is called stale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Lifetime {
    /// As long as flags of its kind usually are.
    #[default]
    Usual,
    /// For good.
    Permanent,
    /// So many days from the day it was made; 1 to 3,650.
    Days(u32),
}

impl Lifetime {
    /// After how many days a flag of this kind should be gone; none when it is there to stay.
    pub fn days(self, kind: FlagKind) -> Option<u32> {
        match self {
            Self::Usual => kind.usual_days(),
            Self::Permanent => None,
            Self::Days(days) => Some(days),
        }
    }

    /// False when it names days that cannot be.
    pub fn is_valid(self) -> bool {
        !matches!(self, Self::Days(days) if !(1..=LIFETIME_DAYS_MAX).contains(&days))
    }
}

impl FlagKind {
    /// All of them, as lists show them.
    pub const ALL: [Self; 5] = [Self::Release, Self::Experiment, Self::Operational, Self::KillSwitch, Self::Permission];

    /// How many days a flag of this kind usually takes; none for those that are there to stay.
    pub fn usual_days(self) -> Option<u32> {
        matches!(self, Self::Release | Self::Experiment).then_some(40)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lifetime_is_that_of_the_kind_unless_somebody_said_otherwise() {
        assert_eq!(Lifetime::default().days(FlagKind::Release), Some(40));
        assert_eq!(Lifetime::default().days(FlagKind::Operational), None);
        assert_eq!(Lifetime::Days(7).days(FlagKind::Operational), Some(7));
        assert_eq!(Lifetime::Permanent.days(FlagKind::Experiment), None);
    }

    #[test]
    fn a_lifetime_reads_as_in_json() {
        for (lifetime, text) in [
            (Lifetime::Usual, json!("usual")),
            (Lifetime::Permanent, json!("permanent")),
            (Lifetime::Days(60), json!({ "days": 60 })),
        ] {
            assert_eq!(serde_json::to_value(lifetime).expect("JSON"), text);
            assert_eq!(serde_json::from_value::<Lifetime>(text).expect("a lifetime"), lifetime);
        }
        assert!(Lifetime::Days(3_650).is_valid() && !Lifetime::Days(0).is_valid() && !Lifetime::Days(3_651).is_valid());
    }
}
