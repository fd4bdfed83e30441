//! The official client, as an application would use it.
//!
//! One command per line on stdin, one answer per line on stdout, both JSON; what fails is an answer too.

use std::error::Error;
use std::io::{self, BufRead, Write};

use open_feature::{
    Client, EvaluationContext, EvaluationDetails, EvaluationError, EvaluationErrorCode, EvaluationReason,
    FlagMetadataValue, OpenFeature, StructValue, Value as FlagValue,
};
use open_feature_ofrep::{OfrepOptions, OfrepProvider};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    for line in io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        let answer = match command["do"].as_str() {
            Some("connect") => connect(&command).await.map(|()| Value::Null),
            Some("ask") => ask(&command).await,
            _ => Err(format!("there is no command {}", command["do"]).into()),
        };
        let said = match answer {
            Ok(answer) => json!({ "answer": answer }),
            Err(error) => json!({ "failed": error.to_string() }),
        };
        writeln!(io::stdout(), "{said}")?;
    }
    Ok(())
}

async fn connect(command: &Value) -> Result<(), Box<dyn Error>> {
    let mut headers = HeaderMap::new();
    for (name, value) in command["headers"].as_object().ok_or("headers is no object")? {
        let value = value.as_str().ok_or("a header is no text")?;
        headers.insert(HeaderName::try_from(name)?, HeaderValue::from_str(value)?);
    }
    let base_url = command["edge"].as_str().ok_or("edge is no text")?.to_owned();
    let provider = OfrepProvider::new(OfrepOptions { base_url, headers, ..OfrepOptions::default() }).await?;
    OpenFeature::singleton_mut().await.set_provider(provider).await;
    Ok(())
}

async fn ask(command: &Value) -> Result<Value, Box<dyn Error>> {
    let client = OpenFeature::singleton().await.create_client();
    let flag = command["flag"].as_str().ok_or("flag is no text")?;
    let context = context(&command["context"])?;
    let fallback = &command["fallback"];
    Ok(match command["type"].as_str() {
        Some("boolean") => told(client.get_bool_details(flag, Some(&context), None).await, fallback, Value::from),
        Some("string") => told(client.get_string_details(flag, Some(&context), None).await, fallback, Value::from),
        Some("integer") => told(client.get_int_details(flag, Some(&context), None).await, fallback, Value::from),
        Some("float") => told(client.get_float_details(flag, Some(&context), None).await, fallback, Value::from),
        Some("object") => told(object(&client, flag, &context).await, fallback, structure),
        _ => return Err(format!("there is no type {}", command["type"]).into()),
    })
}

async fn object(
    client: &Client,
    flag: &str,
    context: &EvaluationContext,
) -> Result<EvaluationDetails<StructValue>, EvaluationError> {
    client.get_struct_details(flag, Some(context), None).await
}

fn context(value: &Value) -> Result<EvaluationContext, Box<dyn Error>> {
    let mut context = EvaluationContext::default();
    for (name, value) in value.as_object().ok_or("context is no object")? {
        match value {
            Value::String(text) if name == "targetingKey" => context.targeting_key = Some(text.clone()),
            Value::String(text) => context.add_custom_field(name, text.as_str()),
            Value::Bool(truth) => context.add_custom_field(name, *truth),
            Value::Number(number) => match number.as_i64() {
                Some(integer) => context.add_custom_field(name, integer),
                None => context.add_custom_field(name, number.as_f64().ok_or("a number out of range")?),
            },
            other => return Err(format!("the client has no way to send {name} = {other}").into()),
        }
    }
    Ok(context)
}

/// This client gives back an error instead of a fallback; an application would then take its own.
fn told<T>(
    found: Result<EvaluationDetails<T>, EvaluationError>,
    fallback: &Value,
    value: impl Fn(T) -> Value,
) -> Value {
    match found {
        Ok(found) => json!({
            "value": value(found.value),
            "variant": found.variant,
            "reason": found.reason.map(|reason| reason.to_string()),
            "error": null,
            "message": null,
            "metadata": found.flag_metadata.values.into_iter().map(metadata).collect::<Map<_, _>>(),
        }),
        Err(error) => json!({
            "value": fallback,
            "variant": null,
            "reason": EvaluationReason::Error.to_string(),
            "error": match error.code {
                EvaluationErrorCode::General(_) => "GENERAL".to_owned(),
                code => code.to_string(),
            },
            "message": error.message,
            "metadata": {},
        }),
    }
}

fn metadata((name, value): (String, FlagMetadataValue)) -> (String, Value) {
    let value = match value {
        FlagMetadataValue::Bool(truth) => truth.into(),
        FlagMetadataValue::Int(integer) => integer.into(),
        FlagMetadataValue::Float(float) => float.into(),
        FlagMetadataValue::String(text) => text.into(),
    };
    (name, value)
}

fn structure(value: StructValue) -> Value {
    value.fields.into_iter().map(|(name, value)| (name, json(value))).collect::<Map<_, _>>().into()
}

fn json(value: FlagValue) -> Value {
    match value {
        FlagValue::Bool(truth) => truth.into(),
        FlagValue::Int(integer) => integer.into(),
        FlagValue::Float(float) => float.into(),
        FlagValue::String(text) => text.into(),
        FlagValue::Array(list) => list.into_iter().map(json).collect::<Vec<_>>().into(),
        FlagValue::Struct(fields) => structure(fields),
    }
}
