-- Times in which nothing changes answers in an environment. Which environments and when is in the document.
create table freezes (
    id uuid primary key,
    project_id uuid not null references projects (id) on delete cascade,
    format integer not null,
    document jsonb not null,
    version bigint not null,
    changed_at timestamptz not null,
    changed_by uuid not null references users (id)
);

create index freezes_project on freezes (project_id);
