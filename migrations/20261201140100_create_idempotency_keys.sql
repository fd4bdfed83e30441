-- What a write that carried an `Idempotency-Key` answered, so that one that is sent again does nothing again. The row is
-- there before anything is done; whoever inserts it does it.
create table idempotency_keys (
    user_id uuid not null references users (id) on delete cascade,
    -- SHA-256 of method, path and key.
    scope bytea not null,
    -- SHA-256 of the body and of what the write was conditional on.
    request bytea not null,
    -- Tells apart who inserted it, when it was forgotten and made anew meanwhile.
    owner uuid not null,
    state text not null,
    at timestamptz not null,
    status integer,
    content_type text,
    etag text,
    body bytea,
    -- Where to find what was made, when the answer is not kept.
    made text,
    primary key (user_id, scope),
    constraint idempotency_keys_state_known check (state in ('running', 'kept', 'done')),
    constraint idempotency_keys_body_bounded check (octet_length(body) <= 65536)
);

create index idempotency_keys_at on idempotency_keys (at);
