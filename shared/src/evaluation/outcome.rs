//! What an evaluation answers, in OpenFeature's words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::sdk_key::SdkKeyKind;

/// Why a flag answered what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Reason {
    /// The flag has no targets, prerequisites or rules: the same answer for everybody.
    Static,
    /// There are targets or rules, none applied.
    Default,
    /// A target or a rule applied.
    TargetingMatch,
    /// A split decided.
    Split,
    /// The flag is off, killed or blocked by a prerequisite.
    Disabled,
    /// See the error code.
    Error,
}

impl Reason {
    /// The reason as OpenFeature writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Static => "STATIC",
            Self::Default => "DEFAULT",
            Self::TargetingMatch => "TARGETING_MATCH",
            Self::Split => "SPLIT",
            Self::Disabled => "DISABLED",
            Self::Error => "ERROR",
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorCode {
    /// No such flag here, or one the key may not see.
    FlagNotFound,
    /// The flag's definition can be read but not compiled, or the request is not JSON.
    ParseError,
    /// The default is a split by `targetingKey`, which the context lacks.
    TargetingKeyMissing,
    /// The default is a split by another attribute, which the context lacks, or the context is no object.
    InvalidContext,
    /// The edge has no state yet.
    ProviderNotReady,
    /// Anything else, such as a definition written by a newer version.
    General,
}

impl ErrorCode {
    /// All codes, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::FlagNotFound,
        Self::ParseError,
        Self::TargetingKeyMissing,
        Self::InvalidContext,
        Self::ProviderNotReady,
        Self::General,
    ];

    /// The code as OpenFeature writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FlagNotFound => "FLAG_NOT_FOUND",
            Self::ParseError => "PARSE_ERROR",
            Self::TargetingKeyMissing => "TARGETING_KEY_MISSING",
            Self::InvalidContext => "INVALID_CONTEXT",
            Self::ProviderNotReady => "PROVIDER_NOT_READY",
            Self::General => "GENERAL",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a flag, or the part of it that rules are, cannot answer.
pub(super) type Broken = (ErrorCode, Box<str>);

/// Where in a flag an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Turned off in its config.
    Off,
    /// Killed.
    Killed,
    /// A prerequisite is not satisfied.
    Blocked,
    /// A target.
    Target,
    /// The rule at this position of the config, paused rules counted.
    Rule(u16),
    /// The default serve.
    Default,
    /// No answer.
    Error(ErrorCode),
}

/// The answer of one evaluation; borrows from the compiled flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'f> {
    /// The value as JSON; absent means "use the code default".
    pub value: Option<&'f str>,
    /// The variant's key.
    pub variant: Option<&'f str>,
    /// The variant's position in the flag.
    pub variant_index: Option<u16>,
    /// Why.
    pub reason: Reason,
    /// Set when the reason is [`Reason::Error`].
    pub error: Option<(ErrorCode, &'f str)>,
    /// Where it came from.
    pub place: Place,
    /// The prerequisite that is not satisfied, when the place is [`Place::Blocked`] and the asker may see it.
    pub blocked_by: Option<&'f str>,
}

impl<'f> Outcome<'f> {
    /// The outcome as it may be told: a client, whose key anyone can read, does not learn what a config holds.
    pub fn for_asker(self, asker: SdkKeyKind) -> Self {
        match self.error {
            Some((code @ (ErrorCode::ParseError | ErrorCode::General), _)) if asker == SdkKeyKind::Client => {
                Self::error(code, "the flag cannot be evaluated; a server key is told why")
            }
            _ => self,
        }
    }

    /// An outcome that is an error.
    pub const fn error(code: ErrorCode, detail: &'f str) -> Self {
        Self {
            value: None,
            variant: None,
            variant_index: None,
            reason: Reason::Error,
            error: Some((code, detail)),
            place: Place::Error(code),
            blocked_by: None,
        }
    }
}
