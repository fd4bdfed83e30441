//! One typed id per noun, so that an environment's id can never be passed where a flag's is meant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! typed_id {
    ($(#[doc = $doc:literal] $name:ident),+ $(,)?) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = Uuid))]
        pub struct $name(Uuid);

        impl $name {
            /// The plain UUID, for the database.
            pub fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    )+};
}

typed_id! {
    /// A project.
    ProjectId,
    /// An environment of a project.
    EnvironmentId,
    /// A flag.
    FlagId,
    /// A rule inside a flag config.
    RuleId,
    /// A segment.
    SegmentId,
    /// An SDK key.
    SdkKeyId,
    /// A person who can sign in.
    UserId,
    /// A session of a signed-in person.
    SessionId,
    /// A changeset.
    ChangesetId,
    /// What somebody said of a changeset.
    CommentId,
    /// A freeze of environments.
    FreezeId,
    /// An API token.
    TokenId,
    /// A saved view of a list of flags.
    ViewId,
    /// An invite.
    InviteId,
    /// A metric of experiments.
    MetricId,
    /// A registered context attribute.
    AttributeId,
    /// A webhook.
    WebhookId,
    /// One event on its way to one webhook.
    DeliveryId,
    /// One process of an edge; a restarted edge has a new one.
    ProcessId,
}
