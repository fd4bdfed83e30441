-- What edges counted, each batch exactly once. No foreign keys, partitions by time with a default.
create table count_batches (
    process uuid not null,
    sequence bigint not null,
    received_at timestamptz not null,
    primary key (process, sequence)
);

create table evaluation_counts (
    environment_id uuid not null,
    flag_id uuid not null,
    minute timestamptz not null,
    place text not null,
    -- Empty when no variant was answered.
    variant text not null,
    mode text not null,
    count bigint not null,
    primary key (environment_id, flag_id, minute, place, variant, mode)
) partition by range (minute);

create table evaluation_counts_default partition of evaluation_counts default;

create table sdk_key_counts (
    environment_id uuid not null,
    key_id uuid not null,
    minute timestamptz not null,
    count bigint not null,
    primary key (key_id, minute)
) partition by range (minute);

create table sdk_key_counts_default partition of sdk_key_counts default;

-- The last heartbeat of every edge that counts, so that a silent one is still known after a restart.
create table edges (
    process uuid primary key,
    name text not null,
    heartbeat jsonb not null,
    last_heard_at timestamptz not null,
    -- Set by a goodbye, a successor or a person; then it counts no more.
    gone_at timestamptz
);
