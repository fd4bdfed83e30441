-- Every write, its history, and byte for byte what edges must hold. The counter's row is the publish lock: it is taken
-- last in a transaction, so revisions become visible in their own order and without gaps.
create table counter (
    one boolean primary key default true,
    revision bigint not null,
    constraint counter_one_row check (one)
);

insert into counter (revision) values (0);

create table changesets (
    id uuid primary key,
    project_id uuid references projects (id),
    -- Absent when the product itself acted, as when a kill ends at its time.
    author_id uuid references users (id),
    note text not null,
    revision bigint not null,
    applied_at timestamptz not null,
    constraint changesets_revision_unique unique (revision)
);

create table revision_entries (
    revision bigint not null references changesets (revision),
    ordinal integer not null,
    environment_id uuid references environments (id),
    entity text not null,
    entity_id uuid,
    entity_key text not null,
    before jsonb,
    after jsonb,
    primary key (revision, ordinal)
);

create index revision_entries_entity on revision_entries (entity_id, revision desc);

create table state (
    environment_id uuid not null references environments (id),
    key text not null,
    revision bigint not null,
    killed boolean not null,
    deleted boolean not null,
    -- Length of the value with a revision of full width, for the limits.
    bytes integer not null,
    value text not null,
    primary key (environment_id, key)
);

create index state_revision on state (environment_id, revision);
