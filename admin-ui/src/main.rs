//! The admin UI: how people see flags and change them, compiled to WASM and served by the backend.

#![expect(unreachable_pub, reason = "a program has no outside; `pub` says what a module offers to the others")]

mod api;
mod app;
mod clock;
mod component;
mod format;
mod layout;
mod live;
mod navigation;
mod page;
mod piece;
mod remote;
mod route;
mod session;
mod storage;

use leptos::prelude::*;
use wasm_bindgen::JsCast;

fn main() {
    console_error_panic_hook::set_once();
    let Some(root) = document().get_element_by_id("app") else {
        leptos::logging::error!("index.html has no element with the id 'app'");
        return;
    };
    root.set_inner_html("");
    leptos::mount::mount_to(root.unchecked_into(), app::App).forget();
}
