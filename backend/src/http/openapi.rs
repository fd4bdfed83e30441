//! The description of the API; routes add themselves to it in `router`.

use shared::evaluation::Reason;
use shared::model::changeset::Via;
use shared::model::condition::Operator;
use shared::wire::api::event::Event;
use shared::wire::count::Mode;
use shared::wire::problem::Problem;
use utoipa::OpenApi;

use crate::app::flag::{LifetimeFilter, Order, Sort};
use crate::http::csv::Format;
use crate::http::file::FileFormat;

/// OpenAPI 3.1 without paths.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "FluxGate admin API",
        description = "Changes flags and reads how they are used. Errors are RFC 9457 problems with a stable `code`. \
                       People are signed in by the cookie that `POST /api/v1/session` sets; programs send \
                       an API token as `Authorization: Bearer fg_api_…`. \
                       A write that carries an `Idempotency-Key` is done once within 24 hours, however often it is sent."
    ),
    components(schemas(Problem, Event, FileFormat, Format, LifetimeFilter, Mode, Operator, Order, Reason, Sort, Via))
)]
pub struct ApiDoc;
