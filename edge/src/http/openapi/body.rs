//! Bodies of single evaluations as they are described; strict, so that a stray or a missing member is found.

#![expect(dead_code, reason = "describes bodies; none is ever made of it")]

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};

/// About whom or what a flag is asked.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Context {
    /// Who is asking: text, or an integer, which counts as its decimal text. Splits by it need it.
    #[schema(schema_with = targeting_key)]
    targeting_key: Option<Value>,
    /// Attributes: text, numbers, booleans, lists of these, objects of these.
    #[serde(flatten)]
    attributes: HashMap<String, Value>,
}

fn targeting_key() -> Schema {
    let of = |kind| ObjectBuilder::new().schema_type(kind).build();
    AnyOfBuilder::new().item(of(Type::String)).item(of(Type::Number)).item(of(Type::Null)).into()
}

/// What `POST /evaluate` asks.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"flagKey": "checkout", "context": {"targetingKey": "user-1", "plan": "pro"}}))]
pub(super) struct EvaluateRequest {
    /// Which flag.
    #[schema(max_length = 200)]
    flag_key: String,
    /// Empty when absent or null.
    context: Option<Context>,
}

/// What OFREP asks.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"context": {"targetingKey": "user-1", "plan": "pro"}}))]
pub(super) struct OfrepRequest {
    /// Empty when absent or null.
    context: Option<Context>,
}

/// The value of a flag's variant.
pub(super) fn value() -> Schema {
    let of = |kind| ObjectBuilder::new().schema_type(kind).build();
    AnyOfBuilder::new()
        .description(Some("Of the flag's type. Absent means: use the default in your code."))
        .item(of(Type::Boolean))
        .item(of(Type::String))
        .item(of(Type::Number))
        .item(of(Type::Object))
        .into()
}

/// Why a flag answered so.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Reason {
    /// No targets, prerequisites or rules: the same for everybody.
    Static,
    /// There are targets or rules, none applied.
    Default,
    /// A target or a rule applied.
    TargetingMatch,
    /// A split decided.
    Split,
    /// Off, killed, or blocked by a prerequisite.
    Disabled,
}

/// Why a call has no answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum ErrorCode {
    /// No such flag here, or one that the key may not see.
    FlagNotFound,
    /// The body is not the JSON that is asked for, or the flag cannot be compiled.
    ParseError,
    /// The flag is split by `targetingKey`, which the context lacks.
    TargetingKeyMissing,
    /// The context is no object, or lacks the attribute that the flag is split by.
    InvalidContext,
    /// The edge has no state yet; ask again.
    ProviderNotReady,
    /// Anything else; see `errorDetails`.
    General,
}

/// What an error of the native form has for a reason.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum ErrorReason {
    /// See `errorCode`.
    Error,
}

/// Where an answer comes from.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Metadata {
    /// `project/environment`.
    #[schema(example = "shop/production")]
    flag_set_id: String,
    /// Revision of the environment that was answered by.
    #[schema(example = "413", pattern = "^[0-9]+$")]
    version: String,
    /// Present while the answer may be out of date.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stale: Option<bool>,
    /// The prerequisite that keeps the flag off, where the key may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    blocked_by: Option<String>,
}

/// What a flag answers.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"flagKey": "checkout", "value": true, "variant": "on", "reason": "TARGETING_MATCH",
                          "metadata": {"flagSetId": "shop/production", "version": "413"}}))]
pub(super) struct Evaluation {
    /// The flag that was asked for.
    flag_key: String,
    /// What to use.
    #[schema(schema_with = value, required = false)]
    value: Option<Value>,
    /// Absent with the value.
    #[schema(nullable = false)]
    variant: Option<String>,
    reason: Reason,
    metadata: Metadata,
}

/// Why `POST /evaluate` has no answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"flagKey": "chekout", "reason": "ERROR", "errorCode": "FLAG_NOT_FOUND",
                          "errorDetails": "there is no flag 'chekout' in shop/production",
                          "metadata": {"flagSetId": "shop/production", "version": "413"}}))]
pub(super) struct EvaluationError {
    /// Where it is known.
    #[schema(nullable = false)]
    flag_key: Option<String>,
    reason: ErrorReason,
    error_code: ErrorCode,
    /// A sentence that says what to do.
    error_details: String,
    /// Once the key was accepted.
    #[schema(nullable = false)]
    metadata: Option<Metadata>,
}

/// What a flag answers, as OFREP has it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"key": "checkout", "value": true, "variant": "on", "reason": "TARGETING_MATCH",
                          "metadata": {"flagSetId": "shop/production", "version": "413"}}))]
pub(super) struct OfrepEvaluation {
    /// The flag that was asked for.
    key: String,
    /// What to use.
    #[schema(schema_with = value, required = false)]
    value: Option<Value>,
    /// Absent with the value.
    #[schema(nullable = false)]
    variant: Option<String>,
    reason: Reason,
    metadata: Metadata,
}

/// Why OFREP's single evaluation has no answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"key": "chekout", "errorCode": "FLAG_NOT_FOUND",
                          "errorDetails": "there is no flag 'chekout' in shop/production",
                          "metadata": {"flagSetId": "shop/production", "version": "413"}}))]
pub(super) struct OfrepError {
    /// The flag that was asked for.
    key: String,
    error_code: ErrorCode,
    /// A sentence that says what to do.
    error_details: String,
    /// Once the key was accepted.
    #[schema(nullable = false)]
    metadata: Option<Metadata>,
}
