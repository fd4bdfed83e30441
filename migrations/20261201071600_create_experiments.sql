-- What experiments are judged by. Users stand in it as hashes that mean nothing outside their environment.
alter table environments
    add column unit_key uuid not null default gen_random_uuid();

-- A metric: an event that users cause, and how it is read.
create table metrics (
    id uuid primary key,
    project_id uuid not null references projects (id),
    name text not null,
    event text not null,
    kind text not null,
    created_at timestamptz not null,
    created_by uuid not null references users (id),
    constraint metrics_name_unique unique (project_id, name),
    constraint metrics_kind_known check (kind in ('conversion', 'numeric'))
);

-- When a unit was first given a variant by a place of an experiment: an evaluation series of the reason SPLIT and the
-- mode single.
create table exposures (
    series bigint not null,
    unit bigint not null,
    minute timestamptz not null,
    primary key (series, unit)
);

create index exposures_minute on exposures using brin (minute);

-- What is told of events.
create table event_series (
    id bigint primary key default nextval('count_series_ids'),
    environment_id uuid not null,
    event text not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    constraint event_series_unique unique (environment_id, event)
) with (fillfactor = 45);

create table unit_events (
    series bigint not null,
    unit bigint not null,
    minute timestamptz not null,
    count bigint not null,
    sum double precision not null,
    primary key (series, unit, minute)
);

create index unit_events_minute on unit_events using brin (minute);
