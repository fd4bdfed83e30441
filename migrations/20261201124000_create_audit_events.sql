-- What people do that is no changeset: they sign in, make tokens, invite others. Numbered in the order it is written.
create table audit_events (
    number bigint generated always as identity primary key,
    at timestamptz not null,
    -- Absent when the product itself acted.
    actor_id uuid references users (id),
    via text not null,
    -- Absent for what concerns the installation.
    project_id uuid references projects (id),
    kind text not null,
    subject text not null,
    detail jsonb not null
);

create index audit_events_project on audit_events (project_id, number desc);
create index audit_events_actor on audit_events (actor_id, number desc);
