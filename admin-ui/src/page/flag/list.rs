//! The flags of a project, with their state in every environment.

use std::time::Duration;

use leptos::prelude::*;
use shared::wire::api::event::Event;
use shared::wire::api::flag::{FlagPage, FlagSummary};

use super::killed::KilledNotice;
use super::list_row::FlagRow;
use super::search::{NoMatch, Search};
use crate::api;
use crate::api::flag::Filter;
use crate::clock::now_ms;
use crate::component::button::Button;
use crate::component::icon::Icon;
use crate::component::status::{Empty, Failed, Loading};
use crate::component::table::Table;
use crate::format;
use crate::layout::page_head::PageHead;
use crate::live::{Live, throttled};
use crate::navigation::Navigation;
use crate::piece::environment::EnvironmentName;
use crate::piece::project::Projects;
use crate::remote::{Remote, Write};
use crate::route::Route;

/// Flags per page.
const PAGE: u32 = 100;

/// The page at `/p/{project}/flags`.
#[component]
pub fn FlagListPage(project: String) -> impl IntoView {
    let navigation = Navigation::get();
    let projects = Projects::get();
    let (q, sort) = (navigation.query("q"), navigation.query("sort"));
    let filter = Memo::new(move |_| Filter {
        q: q.get().unwrap_or_default(),
        sort: sort.get().filter(|sort| sort == "key").unwrap_or_else(|| "changed".into()),
        after: None,
        limit: PAGE,
    });
    let list = Remote::new(move || Some(filter.get()), {
        let project = project.clone();
        move |filter| {
            let project = project.clone();
            async move { api::flag::list(&project, &filter).await }
        }
    });
    let reload = throttled(Duration::from_millis(500), move || list.reload());
    let older = RwSignal::new(Vec::<FlagSummary>::new());
    let next = RwSignal::new(None::<String>);
    Effect::new(move |_| {
        filter.track();
        older.set(Vec::new());
    });
    Effect::new(move |_| {
        // A refreshed first page leaves what was loaded below it where it is; a flag that moved up shows once.
        let first = list.with(|page| page.and_then(|page| page.next.clone()));
        if older.with_untracked(Vec::is_empty) {
            next.set(first);
        }
    });
    Live::get().on_event({
        let project = project.clone();
        move |event| match event {
            Event::Changed(changed) if changed.project.as_str() == project => reload(),
            Event::Resync => reload(),
            _ => {}
        }
    });
    let name = {
        let project = project.clone();
        move || projects.find(&project).map_or_else(|| project.clone(), |found| found.name)
    };
    let new_flag = Route::NewFlag { project: project.clone() }.link();
    let refused = {
        let project = project.clone();
        Memo::new(move |_| {
            let project = projects.find(&project).filter(|project| !project.can_edit)?;
            Some(format!("Needs the right to change flags in {}; ask an admin.", project.name))
        })
    };
    let table = {
        let project = project.clone();
        move || view! { <FlagTable project=project.clone() list=list older=older next=next filter=filter/> }
    };
    let has_none = Memo::new(move |_| list.with(|page| page.is_some_and(|page| page.total == 0)));
    let failure = Memo::new(move |_| list.failure().map(|error| error.sentence()));
    let is_loaded = list.is_loaded();
    view! {
        <PageHead title="Flags" tab=Signal::derive(move || format!("Flags · {}", name()))>
            {move || match refused.get() {
                // The empty state has the same button; there is one primary button in a view.
                _ if has_none.get() => ().into_any(),
                Some(reason) => view! { <Button icon=Icon::Plus refused=Some(reason)>"New flag"</Button> }.into_any(),
                None => view! {
                    <a class="button" data-kind="primary" href=new_flag.clone()>{Icon::Plus.view()}"New flag"</a>
                }
                .into_any(),
            }}
        </PageHead>
        {move || match (is_loaded.get(), failure.get()) {
            (_, Some(text)) => view! { <Failed text=text retry=move || list.reload()/> }.into_any(),
            (true, None) if has_none.get() => view! { <NoFlags project=project.clone()/> }.into_any(),
            (true, None) => table().into_any(),
            (false, None) => view! { <Loading text="Loading flags"/> }.into_any(),
        }}
    }
}

#[component]
fn FlagTable(
    project: String,
    list: Remote<FlagPage>,
    older: RwSignal<Vec<FlagSummary>>,
    next: RwSignal<Option<String>>,
    filter: Memo<Filter>,
) -> impl IntoView {
    let navigation = Navigation::get();
    let environments = {
        let (projects, project) = (Projects::get(), project.clone());
        Memo::new(move |_| projects.environments(&project))
    };
    let items = Memo::new(move |_| {
        let mut items = list.with(|page| page.map(|page| page.items.clone()).unwrap_or_default());
        older.with(|older| {
            items.extend(
                older.iter().filter(|flag| !items.iter().any(|i| i.key == flag.key)).cloned().collect::<Vec<_>>(),
            )
        });
        items
    });
    let matching = Memo::new(move |_| list.with(|page| page.map_or(0, |page| page.matching)));
    let count = move || list.with(|page| page.map(|page| words(page.matching, page.total)).unwrap_or_default());
    let more = Write::new();
    let project = StoredValue::new(project);
    let seen_ms = now_ms();
    let load_more = move || {
        let filter = Filter { after: next.get_untracked(), ..filter.get_untracked() };
        let project = project.get_value();
        more.run(async move { api::flag::list(&project, &filter).await }, move |page: FlagPage| {
            next.set(page.next);
            older.update(|older| older.extend(page.items));
        });
    };
    let sorted = move |key: &str| filter.with(|filter| filter.sort == key);
    let sort_by = move |key: &'static str| navigation.replace_query("sort", (key != "changed").then_some(key));
    let head = move || {
        view! {
            <tr>
                <th scope="col" aria-sort=move || sorted("key").then_some("ascending")>
                    <button type="button" on:click=move |_| sort_by("key")>
                        "Flag" <span aria-hidden="true">{move || if sorted("key") { " ↑" } else { "" }}</span>
                    </button>
                </th>
                {move || {
                    let head = |environment| view! { <th scope="col"><EnvironmentName environment=environment/></th> };
                    environments.get().into_iter().map(head).collect_view()
                }}
                <th scope="col" aria-sort=move || sorted("changed").then_some("descending")>
                    <button type="button" on:click=move |_| sort_by("changed")>
                        "Changed" <span aria-hidden="true">{move || if sorted("changed") { " ↓" } else { "" }}</span>
                    </button>
                </th>
            </tr>
        }
    };
    let rows = move || {
        view! {
            <For
                each=move || items.get()
                key=|flag| (flag.key.clone(), flag.changed_at, flag.states.clone().into_iter().map(|s| s.brief).collect::<Vec<_>>())
                let(flag)
            >
                <FlagRow project=project.get_value() flag=flag environments=environments seen_ms=seen_ms/>
            </For>
        }
    };
    view! {
        <div class="stack">
            <KilledNotice project=project.get_value() flags=items/>
            <div class="spread">
                <Search/>
                <p role="status" class="muted">{count}</p>
            </div>
            {move || {
                if matching.get() == 0 {
                    view! { <NoMatch/> }.into_any()
                } else {
                    view! {
                        <Table
                            label="Flags"
                            row_count=Signal::derive(move || Some(matching.get() + 1))
                            busy=Signal::derive(move || list.is_loading())
                            head=head
                        >
                            {rows()}
                        </Table>
                    }
                    .into_any()
                }
            }}
            {move || {
                next.with(Option::is_some).then(|| view! {
                    <div class="row">
                        <Button busy=Signal::derive(move || more.is_pending()) on_press=load_more>"Load more"</Button>
                        <span class="muted">{move || format!("{} of {} shown", items.with(Vec::len), format::exact(matching.get()))}</span>
                    </div>
                })
            }}
        </div>
    }
}

#[component]
fn NoFlags(project: String) -> impl IntoView {
    let new_flag = Route::NewFlag { project: project.clone() }.link();
    let keys = Route::Keys { project }.link();
    view! {
        <Empty title="No flags yet">
            <p>
                "A flag lets you turn a part of your software on or off, for everyone or for some, without a deployment. "
                "Make one, turn it on for a few users, and watch who gets it."
            </p>
            <a class="button" data-kind="primary" href=new_flag>{Icon::Plus.view()}"New flag"</a>
            <p>"Applications ask an edge with an SDK key: " <a href=keys>"make one"</a>" and copy the first call from there."</p>
        </Empty>
    }
}

fn words(matching: u64, total: u64) -> String {
    if matching == total {
        format::plural(total, "flag")
    } else {
        format!("{} of {}", format::exact(matching), format::plural(total, "flag"))
    }
}
