-- Addresses of the list of flags that people keep under a name, for themselves or for the project, and with which of
-- them somebody's list of a project begins.
create table views (
    id uuid primary key,
    project_id uuid not null references projects (id) on delete cascade,
    user_id uuid not null references users (id) on delete cascade,
    name text not null,
    -- Parameters of the list, as in its address.
    query text not null,
    is_shared boolean not null,
    changed_at timestamptz not null,
    constraint views_name_unique unique (project_id, user_id, name)
);

create index views_shared on views (project_id) where is_shared;

create table view_defaults (
    project_id uuid not null references projects (id) on delete cascade,
    user_id uuid not null references users (id) on delete cascade,
    view_id uuid not null references views (id) on delete cascade,
    primary key (project_id, user_id)
);

create index view_defaults_view on view_defaults (view_id);
