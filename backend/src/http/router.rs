//! Every route on one screen, and what surrounds them all.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, Request};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::trace::TraceLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::http::input::BODY_BYTES_MAX;
use crate::http::openapi::ApiDoc;
use crate::http::{
    changeset, count, edge, environment, event, experiment, flag, freeze, health, kill, loss, metric, plan, project,
    sdk_key, segment, session, setup, stale, ui, unknown,
};
use crate::state::AppState;

/// The API with its description.
pub fn api() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(ApiDoc::openapi())
        .routes(routes!(setup::setup_status, setup::set_up))
        .routes(routes!(session::current_session, session::sign_in, session::sign_out))
        .routes(routes!(project::list_projects, project::create_project))
        .routes(routes!(project::get_project))
        .routes(routes!(environment::create_environment))
        .routes(routes!(environment::get_receipt))
        .routes(routes!(flag::list_flags, flag::create_flag))
        .routes(routes!(flag::get_flag, flag::update_flag))
        .routes(routes!(flag::save_config))
        .routes(routes!(changeset::list_changesets, changeset::create_changeset))
        .routes(routes!(changeset::dry_run_changeset))
        .routes(routes!(changeset::get_changeset, changeset::update_changeset))
        .routes(routes!(changeset::step::submit_changeset))
        .routes(routes!(changeset::step::approve_changeset))
        .routes(routes!(changeset::step::reject_changeset))
        .routes(routes!(changeset::step::cancel_changeset))
        .routes(routes!(changeset::step::apply_changeset))
        .routes(routes!(changeset::step::break_glass))
        .routes(routes!(changeset::step::comment_on_changeset))
        .routes(routes!(kill::kill_flag))
        .routes(routes!(kill::restore_flag))
        .routes(routes!(freeze::list_freezes, freeze::create_freeze))
        .routes(routes!(freeze::update_freeze, freeze::delete_freeze))
        .routes(routes!(plan::list_plans, plan::create_plan))
        .routes(routes!(plan::get_plan))
        .routes(routes!(plan::pause_plan))
        .routes(routes!(plan::resume_plan))
        .routes(routes!(plan::next_step))
        .routes(routes!(plan::stop_plan))
        .routes(routes!(count::get_counts))
        .routes(routes!(count::get_count_summary))
        .routes(routes!(count::get_top_flags))
        .routes(routes!(count::get_count_errors))
        .routes(routes!(count::get_flag_shares))
        .routes(routes!(unknown::list_unknown_flags))
        .routes(routes!(stale::list_stale_flags))
        .routes(routes!(stale::get_flag_usage))
        .routes(routes!(metric::list_metrics, metric::create_metric))
        .routes(routes!(metric::update_metric, metric::delete_metric))
        .routes(routes!(experiment::get_experiment))
        .routes(routes!(loss::list_losses))
        .routes(routes!(segment::list_segments, segment::create_segment))
        .routes(routes!(segment::get_segment, segment::update_segment, segment::delete_segment))
        .routes(routes!(sdk_key::list_sdk_keys, sdk_key::create_sdk_key))
        .routes(routes!(sdk_key::revoke_sdk_key))
        .routes(routes!(edge::list_edges))
        .routes(routes!(edge::dismiss_edge))
        .routes(routes!(edge::edge_history))
        .routes(routes!(event::follow_events))
}

/// Everything the backend serves.
pub fn router(state: AppState) -> Router {
    let (api, document) = api().split_for_parts();
    let docs = SwaggerUi::new("/docs").url("/api/v1/openapi.json", document).config(Config::default());
    let pages = ui::router(state.config.server.ui_dir.clone());
    Router::new()
        .merge(api)
        .merge(docs)
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .fallback_service(pages)
        .with_state(state)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(header("x-content-type-options", "nosniff"))
        .layer(header("referrer-policy", "same-origin"))
        .layer(CatchPanicLayer::new())
        .layer(TraceLayer::new_for_http().make_span_with(|request: &Request<_>| {
            // The path alone: queries may hold what nobody should log.
            tracing::info_span!("request", method = %request.method(), path = request.uri().path())
        }))
}

fn header(name: &'static str, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::if_not_present(HeaderName::from_static(name), HeaderValue::from_static(value))
}
