-- Context attributes that people registered, and which document looks at which attribute by name. The latter is kept by
-- triggers in the transaction that saves a document, whatever release saves it, so that it is right while the previous
-- release still runs; reading 30,000 documents instead takes seconds.
create table attributes (
    id uuid primary key,
    project_id uuid not null references projects (id) on delete cascade,
    name text not null,
    type text not null,
    suggestions text[] not null,
    description text not null,
    version bigint not null,
    changed_at timestamptz not null,
    changed_by uuid not null references users (id),
    constraint attributes_name_unique unique (project_id, name),
    constraint attributes_type_known check
        (type in ('text', 'number', 'boolean', 'list', 'semver', 'time', 'network'))
);

create table attribute_uses (
    id uuid primary key default gen_random_uuid(),
    name text not null,
    -- Who looks at it: a flag's config in an environment, or a segment.
    flag_id uuid,
    environment_id uuid,
    segment_id uuid,
    constraint attribute_uses_config foreign key (flag_id, environment_id)
        references flag_configs (flag_id, environment_id) on delete cascade,
    constraint attribute_uses_segment foreign key (segment_id) references segments (id) on delete cascade,
    constraint attribute_uses_one check (num_nonnulls(flag_id, segment_id) = 1),
    constraint attribute_uses_place check ((environment_id is null) = (flag_id is null)),
    -- Nulls are distinct, so each of these speaks only of its own kind of use.
    constraint attribute_uses_config_unique unique (flag_id, environment_id, name),
    constraint attribute_uses_segment_unique unique (segment_id, name)
);

create index attribute_uses_name on attribute_uses (name);

-- Names in the conditions of a config, and those it divides users by.
create function attributes_of_config(document jsonb) returns setof text language sql immutable as $$
    select value #>> '{}'
    from jsonb_path_query(document, '$.rules[*].conditions.**.attribute') as value
    union
    select value #>> '{}'
    from jsonb_path_query(document, '$.rules[*].serve.split.bucket_by') as value
    union
    select document #>> '{default_serve,split,bucket_by}'
$$;

create function attributes_of_segment(document jsonb) returns setof text language sql immutable as $$
    select distinct value #>> '{}' from jsonb_path_query(document, '$.conditions.**.attribute') as value
$$;

create function attribute_uses_follow_config() returns trigger language plpgsql as $$
begin
    delete from attribute_uses where flag_id = new.flag_id and environment_id = new.environment_id;
    insert into attribute_uses (name, flag_id, environment_id)
    select name, new.flag_id, new.environment_id
    from attributes_of_config(new.document) as used (name)
    where name <> '';
    return null;
end
$$;

create function attribute_uses_follow_segment() returns trigger language plpgsql as $$
begin
    delete from attribute_uses where segment_id = new.id;
    insert into attribute_uses (name, segment_id)
    select name, new.id from attributes_of_segment(new.document) as used (name) where name <> '';
    return null;
end
$$;

-- Come before the documents are read: they wait for those who write now, and hold up the next until this is committed.
create trigger flag_configs_attributes after insert or update of document on flag_configs
    for each row execute function attribute_uses_follow_config();
create trigger segments_attributes after insert or update of document on segments
    for each row execute function attribute_uses_follow_segment();

insert into attribute_uses (name, flag_id, environment_id)
select used.name, flag_id, environment_id
from flag_configs, attributes_of_config(document) as used (name)
where used.name <> '';

insert into attribute_uses (name, segment_id)
select used.name, id
from segments, attributes_of_segment(document) as used (name)
where used.name <> '';
