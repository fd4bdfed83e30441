-- Counts that stay small: what is counted stands once, in a series, and a count is a series, a time and a number. Minutes
-- are rolled up into hours and these into days. No foreign keys, so that removing a flag neither loses counts nor waits
-- for them. Rows are written by the leader alone.
create sequence count_series_ids;

-- A series that is in use gets another last minute every minute. With room for two versions of every row on its page that
-- touches no index, and takes a quarter of the time.

-- Evaluations of a flag.
create table evaluation_series (
    id bigint primary key default nextval('count_series_ids'),
    environment_id uuid not null,
    flag_id uuid not null,
    place text not null,
    -- Empty when no variant was answered.
    variant text not null,
    -- Empty in what an older edge counted.
    reason text not null,
    mode text not null,
    -- The first and last minute that was counted.
    first_at timestamptz not null,
    last_at timestamptz not null,
    constraint evaluation_series_unique unique (environment_id, flag_id, place, variant, reason, mode)
) with (fillfactor = 45);

-- Requests of an SDK key.
create table request_series (
    id bigint primary key default nextval('count_series_ids'),
    environment_id uuid not null,
    key_id uuid not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    constraint request_series_unique unique (key_id, environment_id)
) with (fillfactor = 45);

-- Evaluations by an edge, of all flags together: the sums of an environment without its thousands of series.
create table edge_series (
    id bigint primary key default nextval('count_series_ids'),
    environment_id uuid not null,
    process uuid not null,
    reason text not null,
    mode text not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    constraint edge_series_unique unique (environment_id, process, reason, mode)
) with (fillfactor = 45);

-- Requests of an SDK key for flags that its environment does not have.
create table unknown_series (
    id bigint primary key default nextval('count_series_ids'),
    environment_id uuid not null,
    key_id uuid not null,
    -- Empty for all that could be no key, or were too many different ones.
    flag_key text not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    constraint unknown_series_unique unique (environment_id, key_id, flag_key)
) with (fillfactor = 45);

create table minute_counts (
    series bigint not null,
    minute timestamptz not null,
    count bigint not null,
    primary key (series, minute)
) partition by range (minute);

create table minute_counts_default partition of minute_counts default with (fillfactor = 70);

create table hour_counts (
    series bigint not null,
    hour timestamptz not null,
    count bigint not null,
    primary key (series, hour)
);

create table day_counts (
    series bigint not null,
    day timestamptz not null,
    count bigint not null,
    primary key (series, day)
);

-- To find a period across all series; nearly in order of time as they are written. Small ranges, so that few rows are read
-- in vain, and summarized as they fill up: what is not would be read each time.
create index minute_counts_minute on minute_counts using brin (minute) with (pages_per_range = 16, autosummarize = on);
create index hour_counts_hour on hour_counts using brin (hour) with (pages_per_range = 16, autosummarize = on);
create index day_counts_day on day_counts using brin (day) with (pages_per_range = 16, autosummarize = on);

-- Hours whose minutes, and days whose hours, changed since they were rolled up, or never were.
create table due_rollups (
    grain text not null,
    period timestamptz not null,
    primary key (grain, period),
    constraint due_rollups_grain_known check (grain in ('hour', 'day'))
);

-- What is older than these was let go of. Who adds counts shares this row's lock, who moves it holds it alone.
create table count_horizons (
    one boolean primary key default true,
    minutes_from timestamptz not null,
    hours_from timestamptz not null,
    days_from timestamptz not null,
    constraint count_horizons_one_row check (one)
);

insert into count_horizons (minutes_from, hours_from, days_from)
values (date_trunc('day', now(), 'UTC') - interval '7 days', date_trunc('day', now(), 'UTC') - interval '90 days',
        date_trunc('day', now(), 'UTC') - interval '1826 days');

-- What was added of each process of an edge, and up to which of its batches nothing is remembered one by one any more.
create table count_processes (
    process uuid primary key,
    received bigint not null,
    forgotten_through bigint not null default 0,
    first_at timestamptz not null,
    last_at timestamptz not null
);

insert into count_processes (process, received, first_at, last_at)
select process, 0, min(received_at), max(received_at) from count_batches group by process;

-- Batches that cannot be added, with their bytes, for somebody to look at.
create table set_aside_batches (
    id uuid primary key default gen_random_uuid(),
    subject text not null,
    process uuid,
    sequence bigint,
    reason text not null,
    payload bytea not null,
    at timestamptz not null
);

-- What was counted on an edge and did not arrive.
create table count_losses (
    process uuid not null,
    cause text not null,
    edge_name text not null,
    -- The time in which it was counted.
    from_at timestamptz not null,
    to_at timestamptz not null,
    -- Evaluations, at most.
    lost_max bigint not null,
    -- False while some of it may still arrive.
    is_final boolean not null,
    primary key (process, cause),
    constraint count_losses_cause_known check (cause in ('killed', 'silent', 'let_go'))
);

create index count_losses_time on count_losses (to_at);

-- How each edge was, minute by minute.
create table edge_samples (
    process uuid not null,
    minute timestamptz not null,
    edge_name text not null,
    memory_bytes bigint not null,
    -- Since its process began.
    counted bigint not null,
    unsent bigint not null,
    -- Revisions that the environment furthest behind lacks.
    revisions_behind bigint not null,
    -- The longest from commit to receipt within this minute; absent without one.
    lag_ms bigint,
    primary key (process, minute)
);

create index edge_samples_minute on edge_samples (minute);

-- Counts of the schema before: what stands in it moves over, and so does what a backend of the previous release adds.
create function add_count_by_minute(of_series bigint, at timestamptz, added bigint) returns void language plpgsql as $$
declare
    horizons count_horizons;
begin
    select * into horizons from count_horizons for share;
    if at >= horizons.minutes_from then
        insert into minute_counts (series, minute, count) values (of_series, at, added)
        on conflict (series, minute) do update set count = minute_counts.count + excluded.count;
        insert into due_rollups (grain, period) values ('hour', date_trunc('hour', at, 'UTC'))
        on conflict (grain, period) do update set period = excluded.period;
    elsif at >= horizons.hours_from then
        insert into hour_counts (series, hour, count) values (of_series, date_trunc('hour', at, 'UTC'), added)
        on conflict (series, hour) do update set count = hour_counts.count + excluded.count;
    else
        insert into day_counts (series, day, count) values (of_series, date_trunc('day', at, 'UTC'), added)
        on conflict (series, day) do update set count = day_counts.count + excluded.count;
    end if;
    if at >= horizons.hours_from then
        insert into due_rollups (grain, period) values ('day', date_trunc('day', at, 'UTC'))
        on conflict (grain, period) do update set period = excluded.period;
    end if;
end
$$;

create function evaluation_counts_move() returns trigger language plpgsql as $$
declare
    found bigint;
begin
    insert into evaluation_series (environment_id, flag_id, place, variant, reason, mode, first_at, last_at)
    values (new.environment_id, new.flag_id, new.place, new.variant, '', new.mode, new.minute, new.minute)
    on conflict on constraint evaluation_series_unique
    do update set first_at = least(evaluation_series.first_at, excluded.first_at),
                  last_at = greatest(evaluation_series.last_at, excluded.last_at)
    returning id into found;
    perform add_count_by_minute(found, new.minute, new.count);
    -- Which edge it was is not known of these; all stand as one, so that the sums of both tables are the same.
    insert into edge_series (environment_id, process, reason, mode, first_at, last_at)
    values (new.environment_id, '00000000-0000-0000-0000-000000000000',
            case when new.place like 'error %' then 'ERROR' else '' end, new.mode, new.minute, new.minute)
    on conflict on constraint edge_series_unique
    do update set first_at = least(edge_series.first_at, excluded.first_at),
                  last_at = greatest(edge_series.last_at, excluded.last_at)
    returning id into found;
    perform add_count_by_minute(found, new.minute, new.count);
    return null;
end
$$;

create function sdk_key_counts_move() returns trigger language plpgsql as $$
declare
    found bigint;
begin
    insert into request_series (environment_id, key_id, first_at, last_at)
    values (new.environment_id, new.key_id, new.minute, new.minute)
    on conflict on constraint request_series_unique
    do update set first_at = least(request_series.first_at, excluded.first_at),
                  last_at = greatest(request_series.last_at, excluded.last_at)
    returning id into found;
    perform add_count_by_minute(found, new.minute, new.count);
    return null;
end
$$;

create trigger evaluation_counts_moved before insert on evaluation_counts
    for each row execute function evaluation_counts_move();
create trigger sdk_key_counts_moved before insert on sdk_key_counts
    for each row execute function sdk_key_counts_move();

-- Each of these fires the trigger above, and so adds nothing to the table it names.
with moved as (delete from evaluation_counts returning *) insert into evaluation_counts select * from moved;
with moved as (delete from sdk_key_counts returning *) insert into sdk_key_counts select * from moved;
