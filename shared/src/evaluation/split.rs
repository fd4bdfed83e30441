//! Compiled splits: who owns which buckets, and how a key becomes one.

use crate::evaluation::attribute::Attribute;
use crate::evaluation::bucketing::{Bucketing, Key};
use crate::evaluation::context::{Context, TARGETING_KEY};
use crate::evaluation::outcome::{ErrorCode, Outcome};
use crate::model::key::VariantKey;
use crate::model::split::Split as Document;

const TARGETING_KEY_MISSING: &str = "the flag splits users by targetingKey, which is missing or is neither a text nor \
    a whole number; send it as a text";

#[derive(Debug)]
pub(super) struct Split {
    pub(super) bucket_by: Attribute,
    missing_detail: Box<str>,
    bucketing: Bucketing,
    /// One past the last bucket of each range or gap, ascending, with its owner.
    ends: Box<[(u32, Option<u16>)]>,
}

impl Split {
    pub(super) fn compile(split: &Document, position: impl Fn(&VariantKey) -> u16) -> Self {
        let mut ends = Vec::with_capacity(split.ranges.len() + 1);
        let mut free_from = 0;
        for range in &split.ranges {
            if range.start > free_from {
                ends.push((range.start, None));
            }
            ends.push((range.end, Some(position(&range.variant))));
            free_from = range.end;
        }
        let missing_detail = if split.bucket_by == TARGETING_KEY {
            TARGETING_KEY_MISSING.into()
        } else {
            let name = &split.bucket_by;
            format!("the flag splits users by '{name}', which is missing or is neither a text nor a whole number")
                .into()
        };
        Self {
            bucket_by: Attribute::new(&split.bucket_by),
            missing_detail,
            bucketing: Bucketing::new(split.algorithm, &split.seed, split.total),
            ends: ends.into(),
        }
    }

    /// The bucket of whom the context is about; `None` when the bucketing key is missing.
    #[inline]
    pub(super) fn bucket(&self, context: &Context<'_>) -> Option<u32> {
        self.bucketing.bucket(Key::of(self.bucket_by.of(context)).as_ref())
    }

    /// What is hashed, for people; `None` when the bucketing key is missing.
    pub(super) fn input(&self, context: &Context<'_>) -> Option<String> {
        let key = Key::of(self.bucket_by.of(context))?;
        Some(self.bucketing.input(&key)).filter(|input| !input.is_empty())
    }

    /// The variant that owns a bucket.
    #[inline]
    pub(super) fn owner(&self, bucket: u32) -> Option<u16> {
        self.ends.get(self.range_at(bucket)).and_then(|(_, owner)| *owner)
    }

    /// The range or gap around a bucket.
    pub(super) fn range(&self, bucket: u32) -> (u32, u32) {
        let at = self.range_at(bucket);
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(end, _)| *end);
        (start, self.ends.get(at).map_or(self.bucketing.total(), |(end, _)| *end))
    }

    fn range_at(&self, bucket: u32) -> usize {
        self.ends.partition_point(|(end, _)| *end <= bucket)
    }

    /// The error of a default serve whose bucketing key is missing.
    pub(super) fn missing(&self) -> Outcome<'_> {
        let is_usual = self.bucket_by.name() == TARGETING_KEY;
        let code = if is_usual { ErrorCode::TargetingKeyMissing } else { ErrorCode::InvalidContext };
        Outcome::error(code, &self.missing_detail)
    }
}
