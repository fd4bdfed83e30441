-- What only the bucket had when a restored database met it: kept until somebody confirms that it is to go, and after that so
-- that the leader can delete what is of environments that the database does not know (no foreign key for the same reason).
create table bucket_only (
    key text primary key,
    environment_id uuid not null,
    -- The revision that says "restored".
    restored bigint not null,
    -- The revision that deleted it; absent while nobody confirmed.
    confirmed bigint
);

create index bucket_only_restored on bucket_only (restored);
