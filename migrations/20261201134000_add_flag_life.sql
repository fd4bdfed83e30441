-- More of a flag: whom to ask about it, how long it is meant to be there, and what a search looks at. None of it alters an
-- answer. The previous release writes flags without an owner and with the usual lifetime of their kind.
alter table flags
    add column owner_id uuid references users (id),
    -- Days from created_at; 0 for good, absent as usual for its kind.
    add column lifetime_days integer,
    add column value_type text generated always as (document ->> 'value_type') stored,
    add constraint flags_lifetime_known check (lifetime_days between 0 and 3650) not valid;

update flags set owner_id = created_by;

-- The words of a flag, for a search by the beginnings of words. Punctuation separates words whatever the text search
-- parser makes of it: `checkout/theme` is two.
create function flag_words(key text, name text, description text, tags text[]) returns tsvector
    language sql immutable parallel safe
    as $$
        select to_tsvector('pg_catalog.simple'::regconfig, translate(
            key || ' ' || name || ' ' || array_to_string(tags, ' ') || ' ' || description,
            './:_-@,;+#&=()[]{}<>!?*|\~^$%"''`', repeat(' ', 40)))
    $$;

alter table flags
    add column words tsvector generated always as (flag_words(key, name, description, tags)) stored;

create index flags_owner on flags (owner_id);
-- How many there are, without a look at their documents.
create index flags_living on flags (project_id) where archived_at is null;

-- Which flags a changeset that waits names, so that lists can say so. Follows the changeset, whoever writes it.
create table changeset_flags (
    changeset_id uuid not null references changesets (id) on delete cascade,
    project_id uuid not null,
    flag_key text not null,
    -- Empty for what is the same everywhere.
    environment_key text not null,
    primary key (changeset_id, flag_key, environment_key)
);

create index changeset_flags_flag on changeset_flags (project_id, flag_key);

create function changeset_flags_follow() returns trigger language plpgsql as $$
begin
    delete from changeset_flags where changeset_id = new.id;
    if new.state in ('in_review', 'approved', 'scheduled') and jsonb_typeof(new.changes) = 'array' then
        insert into changeset_flags (changeset_id, project_id, flag_key, environment_key)
        select distinct new.id, new.project_id, named.flag, coalesce(change ->> 'environment', '')
        from jsonb_array_elements(new.changes) as change
        cross join lateral (
            select coalesce(change ->> 'flag',
                            case when change ->> 'kind' = 'create_flag' then change -> 'definition' ->> 'key' end) as flag
        ) as named
        where named.flag is not null;
    end if;
    return null;
end
$$;

create trigger changesets_followed after insert or update of state, changes on changesets
    for each row when (new.changes is not null) execute function changeset_flags_follow();

insert into changeset_flags (changeset_id, project_id, flag_key, environment_key)
select distinct changesets.id, changesets.project_id,
       coalesce(change ->> 'flag', change -> 'definition' ->> 'key'), coalesce(change ->> 'environment', '')
from changesets
cross join lateral jsonb_array_elements(changesets.changes) as change
where changesets.state in ('in_review', 'approved', 'scheduled') and jsonb_typeof(changesets.changes) = 'array'
  and (change ? 'flag' or change ->> 'kind' = 'create_flag');
