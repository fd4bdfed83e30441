-- A batch is a part of a range of gatherings, so that counts which a copy of an edge's folder sends cut otherwise are known
-- as the same. A version before goes on writing sequences alone.
alter table count_batches
    -- The first gathering of the range; absent when a version before wrote it down: then the range is `sequence`.
    add column first_sequence bigint,
    add column part integer not null default 0,
    add constraint count_batches_first_known check (first_sequence between 1 and sequence),
    drop constraint count_batches_pkey,
    add constraint count_batches_pkey primary key (process, sequence, part);

alter table set_aside_batches add column part integer not null default 0;
