//! Every route on one screen, and what surrounds them all.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, Request};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use shared::wire::project_file::FILE_BYTES_MAX;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::trace::TraceLayer;
use utoipa::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::http::input::BODY_BYTES_MAX;
use crate::http::openapi::ApiDoc;
use crate::http::{
    account, attribute, audit, changeset, count, edge, environment, event, exchange, experiment, flag, freeze, health,
    history, idempotency, invite, kill, loss, member, metric, plan, prerequisite, project, reset, restored, role,
    sdk_key, segment, session, setup, stale, token, ui, unknown, user, view, webhook,
};
use crate::state::AppState;

/// The API with its description.
pub fn api() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(ApiDoc::openapi())
        .routes(routes!(setup::setup_status, setup::set_up))
        .routes(routes!(session::current_session, session::sign_in, session::sign_out))
        .routes(routes!(account::get_account, account::update_account))
        .routes(routes!(account::change_password))
        .routes(routes!(account::list_sessions))
        .routes(routes!(account::end_session))
        .routes(routes!(account::sign_out_others))
        .routes(routes!(token::list_own_tokens, token::create_token))
        .routes(routes!(token::revoke_own_token))
        .routes(routes!(token::list_tokens))
        .routes(routes!(token::revoke_token))
        .routes(routes!(reset::check_reset))
        .routes(routes!(reset::reset_password))
        .routes(routes!(invite::check_invitation))
        .routes(routes!(invite::accept_invitation))
        .routes(routes!(invite::list_invites, invite::create_invite))
        .routes(routes!(invite::revoke_invite))
        .routes(routes!(user::list_users))
        .routes(routes!(user::update_user))
        .routes(routes!(user::create_reset_link))
        .routes(routes!(role::list_roles, role::create_role))
        .routes(routes!(role::get_role, role::update_role, role::delete_role))
        .routes(routes!(project::list_projects, project::create_project))
        .routes(routes!(project::get_project, project::update_project))
        .routes(routes!(member::list_members))
        .routes(routes!(member::save_member, member::remove_member))
        .routes(routes!(member::list_candidates))
        .routes(routes!(environment::create_environment))
        .routes(routes!(environment::update_environment))
        .routes(routes!(environment::get_receipt))
        .routes(routes!(flag::list_flags, flag::create_flag))
        .routes(routes!(flag::get_flag, flag::update_flag, flag::life::delete_flag))
        .routes(routes!(flag::save_config))
        .routes(routes!(prerequisite::get_prerequisites))
        .routes(routes!(flag::life::archive_flag))
        .routes(routes!(flag::life::unarchive_flag))
        .routes(routes!(flag::life::copy_flag))
        .routes(routes!(flag::variant::list_variants))
        .routes(routes!(flag::variant::list_tags))
        .routes(routes!(flag::many::change_flags))
        .routes(routes!(flag::many::compare_environments))
        .routes(routes!(flag::many::promote_flags))
        .routes(routes!(view::list_views, view::create_view))
        .routes(routes!(view::update_view, view::delete_view))
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
        .routes(routes!(
            segment::get_segment,
            segment::update_segment,
            segment::rename_segment,
            segment::delete_segment
        ))
        .routes(routes!(segment::list_segment_uses))
        .routes(routes!(segment::get_segment_effect))
        .routes(routes!(segment::edit_segment_keys))
        .routes(routes!(segment::list_segment_keys, segment::replace_segment_keys))
        .routes(routes!(segment::ask_segment))
        .routes(routes!(exchange::export_project))
        .routes(routes!(exchange::plan_import).layer(DefaultBodyLimit::max(FILE_BYTES_MAX)))
        .routes(routes!(exchange::import_project).layer(DefaultBodyLimit::max(FILE_BYTES_MAX)))
        .routes(routes!(attribute::list_attributes, attribute::create_attribute))
        .routes(routes!(attribute::get_attribute, attribute::update_attribute, attribute::delete_attribute))
        .routes(routes!(sdk_key::list_sdk_keys, sdk_key::create_sdk_key))
        .routes(routes!(sdk_key::update_sdk_key))
        .routes(routes!(sdk_key::rotate_sdk_key))
        .routes(routes!(sdk_key::revoke_sdk_key))
        .routes(routes!(history::list_history))
        .routes(routes!(history::get_revision))
        .routes(routes!(history::revert_revision))
        .routes(routes!(history::flag_at))
        .routes(routes!(history::flag_diff))
        .routes(routes!(history::revert_flag))
        .routes(routes!(history::segment_at))
        .routes(routes!(restored::list_restored))
        .routes(routes!(restored::confirm_restored))
        .routes(routes!(audit::list_audit))
        .routes(routes!(audit::list_project_audit))
        .routes(routes!(webhook::list_webhooks, webhook::create_webhook))
        .routes(routes!(webhook::get_webhook, webhook::update_webhook, webhook::delete_webhook))
        .routes(routes!(webhook::rotate_webhook))
        .routes(routes!(webhook::test_webhook))
        .routes(routes!(webhook::list_deliveries))
        .routes(routes!(webhook::get_delivery))
        .routes(routes!(webhook::send_delivery_again))
        .routes(routes!(edge::list_edges))
        .routes(routes!(edge::dismiss_edge))
        .routes(routes!(edge::edge_history))
        .routes(routes!(event::follow_events))
}

/// Everything the backend serves.
pub fn router(state: AppState) -> Router {
    let (api, document) = api().split_for_parts();
    let api = api.layer(from_fn_with_state(state.clone(), idempotency::once));
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
