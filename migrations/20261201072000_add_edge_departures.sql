-- What the ledger of losses needs to know of an edge that left, and of what was added of it.
alter table edges
    -- How it left; absent while it counts, and for those that left before this was written down.
    add column departure text,
    -- What its goodbye said that it counted in all.
    add column goodbye_counted bigint,
    -- The most evaluations a second between two of its heartbeats.
    add column counted_per_second_max double precision not null default 0,
    add constraint edges_departure_known check (departure in ('goodbye', 'replaced', 'dismissed'));

-- False when some of its batches were added without being summed up here, so that nothing follows from `received`.
alter table count_processes add column is_complete boolean not null default true;

update count_processes set is_complete = false;

-- Raised whenever series are removed, so that nobody counts on the id of one that is gone.
alter table count_horizons add column series_generation bigint not null default 0;

create index count_batches_received on count_batches using brin (received_at);
