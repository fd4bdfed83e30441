//! The description of the edge's API, for people and for programs that make clients of it.
//!
//! The evaluation endpoints are not handlers of a router, so each has a function here that carries its description and
//! is never called. What is served is `openapi.json`, the reviewed copy of [`document`]; a test holds the two together,
//! and real answers against it.

mod body;
mod bulk;
mod evaluate;
mod health;
mod ofrep;
mod refusal;
mod track;

use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, RefOr, Required};
use utoipa::{Modify, OpenApi};

/// The description as JSON, as it was reviewed.
pub(super) const REVIEWED: &str = include_str!("../../../openapi.json");

#[derive(OpenApi)]
#[openapi(
    info(
        title = "FluxGate edge",
        description = "Answers feature flags from memory, in a form of its own and as OFREP 0.3, and takes what users did.\n\n\
            Keys travel as `Authorization: Bearer …` or `X-API-Key: …`. A server key sees all flags of its environment; \
            a client key sees those that are visible to clients, and may be held to web origins.\n\n\
            Web pages: `OPTIONS` on every address of evaluation and on the stream needs no key and answers 204. Answers \
            to a client key, and refusals, carry `Access-Control-Allow-Origin`; answers to a server key do not, since \
            server keys do not belong into pages.\n\n\
            Any Content-Type is read as JSON, of at most 1 MiB. Of doubled members the last wins."
    ),
    servers((url = "/", description = "this edge")),
    paths(
        evaluate::evaluate,
        track::track,
        ofrep::evaluate_flag,
        ofrep::evaluate_flags,
        ofrep::follow_stream,
        health::show_liveness,
        health::show_readiness,
        health::show_metrics,
    ),
    components(schemas(bulk::StreamEvent)),
    modifiers(&Credentials, &OptionalBodies),
    tags(
        (name = "native", description = "One flag, and what users did, in a form of our own."),
        (name = "ofrep", description = "OpenFeature Remote Evaluation Protocol 0.3, which every OpenFeature SDK speaks."),
        (name = "operation", description = "For those who run the edge; none of it needs a key."),
    )
)]
struct ApiDoc;

/// The two ways to send a key.
struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("An SDK key.")).build();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
        let header = ApiKeyValue::with_description("X-API-Key", "An SDK key, where `Authorization` is taken.");
        components.add_security_scheme("api_key", SecurityScheme::ApiKey(ApiKey::Header(header)));
    }
}

/// OFREP's calls may come without a body.
struct OptionalBodies;

impl Modify for OptionalBodies {
    fn modify(&self, document: &mut Document) {
        let ofrep = document.paths.paths.iter_mut().filter(|(path, _)| path.starts_with("/ofrep/"));
        for body in ofrep.filter_map(|(_, item)| item.post.as_mut()?.request_body.as_mut()) {
            if let RefOr::T(body) = body {
                body.required = Some(Required::False);
            }
        }
    }
}

/// The description, made from the code.
pub fn document() -> Document {
    ApiDoc::openapi()
}
