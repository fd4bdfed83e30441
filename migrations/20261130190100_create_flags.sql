-- Environments, and what decides a flag's answers in them. What lists filter and sort by are columns, the rest is a
-- document with a format number.
create table environments (
    id uuid primary key,
    project_id uuid not null references projects (id),
    key text not null,
    name text not null,
    hue smallint not null,
    position integer not null,
    -- Sum of state.bytes, kept by every changeset, so that the limit costs no scan.
    state_bytes bigint not null default 0,
    created_at timestamptz not null,
    constraint environments_key_unique unique (project_id, key),
    constraint environments_position_unique unique (project_id, position),
    constraint environments_hue_known check (hue between 1 and 8)
);

create table flags (
    id uuid primary key,
    project_id uuid not null references projects (id),
    key text not null,
    name text not null,
    description text not null,
    tags text[] not null,
    kind text not null,
    format integer not null,
    document jsonb not null,
    version bigint not null,
    archived_at timestamptz,
    created_at timestamptz not null,
    created_by uuid not null references users (id),
    changed_at timestamptz not null,
    changed_by uuid not null references users (id),
    constraint flags_key_unique unique (project_id, key)
);

create index flags_changed on flags (project_id, changed_at desc, id desc);

create table flag_configs (
    flag_id uuid not null references flags (id),
    environment_id uuid not null references environments (id),
    enabled boolean not null,
    -- What most users get while not killed: on, part or off.
    shape text not null,
    format integer not null,
    document jsonb not null,
    version bigint not null,
    note text not null,
    changed_at timestamptz not null,
    changed_by uuid not null references users (id),
    primary key (flag_id, environment_id),
    constraint flag_configs_shape_known check (shape in ('on', 'part', 'off'))
);

create table kills (
    flag_id uuid not null references flags (id),
    environment_id uuid not null references environments (id),
    reason text not null,
    until_at timestamptz,
    killed_at timestamptz not null,
    killed_by uuid not null references users (id),
    primary key (flag_id, environment_id)
);

create index kills_until on kills (until_at) where until_at is not null;

create table segments (
    id uuid primary key,
    project_id uuid not null references projects (id),
    key text not null,
    name text not null,
    format integer not null,
    document jsonb not null,
    version bigint not null,
    changed_at timestamptz not null,
    changed_by uuid not null references users (id),
    constraint segments_key_unique unique (project_id, key)
);

-- Which flag config names which segment, kept in the transaction that saves the config.
create table flag_segments (
    flag_id uuid not null,
    environment_id uuid not null,
    segment_id uuid not null,
    primary key (flag_id, environment_id, segment_id),
    constraint flag_segments_config foreign key (flag_id, environment_id)
        references flag_configs (flag_id, environment_id) on delete cascade,
    constraint flag_segments_segment foreign key (segment_id) references segments (id)
);

create index flag_segments_used on flag_segments (segment_id, environment_id);

create table sdk_keys (
    id uuid primary key,
    environment_id uuid not null references environments (id),
    name text not null,
    kind text not null,
    hash bytea not null,
    hint text not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz not null,
    created_by uuid not null references users (id),
    constraint sdk_keys_hash_unique unique (hash),
    constraint sdk_keys_kind_known check (kind in ('server', 'client'))
);

create index sdk_keys_environment on sdk_keys (environment_id);
