-- A hash over everything that happened, so that whoever changes it afterwards is found out. Links stand beside what they
-- hash, in tables of their own: nothing is rewritten, and the previous release goes on writing as before. Its changesets get
-- their links as well, because the database makes them, when a transaction commits: then all of a changeset is written, and
-- its transaction holds the counter, so links are made in the order of revisions.
--
-- What was there before has no link: the chain holds from its first revision on.
create table history_chain (
    revision bigint primary key,
    -- SHA-256 of the changeset's row, of the approvals it had and of its entries, one after the other: to say what differs.
    parts bytea not null,
    -- SHA-256 of the link before (nothing before the first) and the parts.
    chain bytea not null,
    constraint history_chain_lengths check (length(parts) = 96 and length(chain) = 32)
);

create table audit_chain (
    -- Without gaps, in the order of commits; numbers of events are in the order of their writing.
    position bigint primary key,
    number bigint not null,
    part bytea not null,
    chain bytea not null,
    constraint audit_chain_number_unique unique (number),
    constraint audit_chain_lengths check (length(part) = 32 and length(chain) = 32)
);

-- Documents are hashed as PostgreSQL writes `jsonb` as text, times in microseconds since 1970, so that no setting of a
-- session (zone, style of dates) makes a difference.
create function sha256_of(text) returns bytea language sql immutable parallel safe
    as $$ select coalesce(sha256(convert_to($1, 'UTF8')), decode(repeat('00', 32), 'hex')) $$;

create function micros_of(timestamptz) returns bigint language sql immutable parallel safe
    as $$ select (extract(epoch from $1) * 1000000)::bigint $$;

create function revision_parts(wanted bigint) returns bytea language sql stable as $$
    select sha256_of(jsonb_build_array(revision, id, project_id, author_id, via, note, break_glass, encode(digest, 'hex'),
                                       micros_of(applied_at))::text)
           || sha256_of((select jsonb_agg(jsonb_build_array(user_id, encode(approvals.digest, 'hex'), approvals.note,
                                                            micros_of(at))
                                          order by user_id, approvals.digest)
                         from approvals where changeset_id = changesets.id)::text)
           || sha256(coalesce((select string_agg(
                                   sha256_of(jsonb_build_array(ordinal, environment_id, entity, entity_id, entity_key)::text)
                                   || sha256_of(before::text) || sha256_of(after::text), ''::bytea order by ordinal)
                               from revision_entries where revision_entries.revision = wanted), ''::bytea))
    from changesets where changesets.revision = wanted
$$;

create function audit_part(wanted bigint) returns bytea language sql stable as $$
    select sha256_of(jsonb_build_array(number, micros_of(at), actor_id, via, project_id, kind, subject)::text
                     || encode(sha256_of(detail::text), 'hex'))
    from audit_events where number = wanted
$$;

create function history_chain_add() returns trigger language plpgsql as $$
declare
    before bytea;
    now bytea;
begin
    -- Held already by whoever took the number; whoever did not, waits here.
    perform from counter for update;
    select chain into before from history_chain order by revision desc limit 1;
    now := revision_parts(new.revision);
    insert into history_chain (revision, parts, chain)
    values (new.revision, now, sha256(coalesce(before, ''::bytea) || now))
    on conflict (revision) do nothing;
    return null;
end
$$;

create function audit_chain_add() returns trigger language plpgsql as $$
declare
    last bigint;
    before bytea;
    now bytea;
begin
    -- One at a time, in the order in which they commit. Nothing is locked after it.
    perform pg_advisory_xact_lock(7378697629483820646);
    select position, chain into last, before from audit_chain order by position desc limit 1;
    now := audit_part(new.number);
    insert into audit_chain (position, number, part, chain)
    values (coalesce(last, 0) + 1, new.number, now, sha256(coalesce(before, ''::bytea) || now));
    return null;
end
$$;

create constraint trigger changesets_chained after insert or update of revision on changesets
    deferrable initially deferred for each row when (new.revision is not null) execute function history_chain_add();

create constraint trigger audit_events_chained after insert on audit_events
    deferrable initially deferred for each row execute function audit_chain_add();

-- The log is read by time. The table is of this release, so nobody waits for these.
create index audit_events_at on audit_events (at desc, number desc);
create index audit_events_project_at on audit_events (project_id, at desc, number desc);

-- Somebody with access to the machine may end a protection; they are no user. Of this release, too.
alter table policies alter column changed_by drop not null;
