-- Telling other systems what happened. Deliveries are made from the history (up to `webhook_cursor`) and from
-- `webhook_events`, where whatever is no changeset is noted in the transaction that does it.
create table webhooks (
    id uuid primary key,
    project_id uuid not null references projects (id) on delete cascade,
    url text not null,
    -- Empty for all.
    event_types text[] not null,
    -- Empty for all. What is the same in every environment is told to everybody.
    environment_ids uuid[] not null,
    -- Encrypted under a key derived from `auth.secret`: a nonce of 12 bytes, then what was sealed with it.
    secret bytea not null,
    -- Also signs until then, after a rotation.
    previous_secret bytea,
    previous_until timestamptz,
    is_enabled boolean not null default true,
    -- Why the product itself switched it off.
    disabled_reason text,
    -- Only revisions above this are told.
    from_revision bigint not null,
    -- Events in a row whose retries all failed.
    failed_in_row integer not null default 0,
    -- The last attempt failed: it may take only some of the slots.
    is_troubled boolean not null default false,
    -- The receiver asked not to be called before.
    paused_until timestamptz,
    created_at timestamptz not null,
    created_by uuid not null references users (id),
    constraint webhooks_previous_complete check ((previous_secret is null) = (previous_until is null))
);

create index webhooks_project on webhooks (project_id, created_at, id);

-- What happened and is no changeset; gone once it was made into deliveries.
create table webhook_events (
    number bigint generated always as identity primary key,
    -- Absent for what concerns all projects.
    project_id uuid references projects (id) on delete cascade,
    at timestamptz not null,
    type text not null,
    -- Empty for all.
    environment_ids uuid[] not null,
    data jsonb not null
);

-- The last revision that was made into deliveries.
create table webhook_cursor (
    one boolean primary key default true,
    revision bigint not null,
    constraint webhook_cursor_one_row check (one)
);

insert into webhook_cursor (revision) select revision from counter;

create table webhook_deliveries (
    -- Also `webhook-id`, so the receiver knows it again.
    id uuid primary key,
    -- The order in which events are sent, as far as retries allow.
    number bigint generated always as identity,
    webhook_id uuid not null references webhooks (id) on delete cascade,
    event_key text not null,
    type text not null,
    -- The very bytes that are signed.
    body text not null,
    state text not null default 'pending',
    created_at timestamptz not null,
    -- When it is sent next; absent once nothing more is done.
    due_at timestamptz,
    ended_at timestamptz,
    attempts integer not null default 0,
    -- Attempts that failed since it was last begun.
    failures integer not null default 0,
    -- Of the last attempt.
    status integer,
    problem text,
    constraint webhook_deliveries_event_unique unique (webhook_id, event_key),
    constraint webhook_deliveries_state_known check (state in ('pending', 'delivered', 'failed')),
    constraint webhook_deliveries_due_while_pending check ((state = 'pending') = (due_at is not null))
);

create index webhook_deliveries_page on webhook_deliveries (webhook_id, number desc);
create index webhook_deliveries_pending on webhook_deliveries (webhook_id, number) where state = 'pending';
create index webhook_deliveries_created on webhook_deliveries (created_at);

create table webhook_attempts (
    delivery_id uuid not null references webhook_deliveries (id) on delete cascade,
    number integer not null,
    at timestamptz not null,
    duration_ms bigint not null,
    -- What was answered; absent when nothing was.
    status integer,
    -- Absent when it was accepted.
    problem text,
    -- The beginning of the answer's body.
    response text,
    primary key (delivery_id, number)
);

-- An edge that is late or silent, once per spell; the row goes when it is back.
create table edge_spells (
    process uuid primary key,
    name text not null,
    kind text not null,
    -- Where it is late; absent for silence.
    environment_id uuid references environments (id) on delete cascade,
    since timestamptz not null,
    constraint edge_spells_kind_known check (kind in ('late', 'silent'))
);
