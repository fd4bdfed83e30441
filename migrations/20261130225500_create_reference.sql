-- Which flag config or segment refers to which flag or segment, kept in the transaction that saves the document: what a
-- change would break, and who uses what and where. A segment's references are the same in every environment.
create table reference (
    -- Only for replication, which wants every row to have a name.
    id uuid primary key default gen_random_uuid(),
    -- Who refers: a flag's config in an environment, or a segment.
    from_flag_id uuid,
    environment_id uuid,
    from_segment_id uuid,
    -- To what: a flag that has a config in the same environment, or a segment.
    to_flag_id uuid,
    to_segment_id uuid,
    constraint reference_from_config foreign key (from_flag_id, environment_id)
        references flag_configs (flag_id, environment_id) on delete cascade,
    constraint reference_from_segment foreign key (from_segment_id) references segments (id) on delete cascade,
    constraint reference_to_config foreign key (to_flag_id, environment_id)
        references flag_configs (flag_id, environment_id),
    constraint reference_to_segment foreign key (to_segment_id) references segments (id),
    constraint reference_from_one check (num_nonnulls(from_flag_id, from_segment_id) = 1),
    constraint reference_to_one check (num_nonnulls(to_flag_id, to_segment_id) = 1),
    constraint reference_place_of_config check ((environment_id is null) = (from_flag_id is null)),
    constraint reference_segment_needs_no_flag check (from_segment_id is null or to_flag_id is null),
    constraint reference_to_another check (from_flag_id <> to_flag_id and from_segment_id <> to_segment_id),
    -- Nulls are distinct, so each of these speaks only of its own kind of reference.
    constraint reference_config_needs_flag unique (from_flag_id, environment_id, to_flag_id),
    constraint reference_config_uses_segment unique (from_flag_id, environment_id, to_segment_id),
    constraint reference_segment_uses_segment unique (from_segment_id, to_segment_id)
);

create index reference_needed on reference (to_flag_id, environment_id);
create index reference_used on reference (to_segment_id);

-- The previous release knows only flag_segments and may run beside this one. Until it is gone the two tables follow
-- each other: what it saves is seen here, and segments named by configs saved here stay published and undeletable there.
-- It knows nothing of segments named by segments: use those once it is gone.
create function reference_follows_flag_segments() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into reference (from_flag_id, environment_id, to_segment_id)
        values (new.flag_id, new.environment_id, new.segment_id)
        on conflict do nothing;
    else
        delete from reference
        where from_flag_id = old.flag_id and environment_id = old.environment_id and to_segment_id = old.segment_id;
    end if;
    return null;
end
$$;

create function flag_segments_follows_reference() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        if new.from_flag_id is not null and new.to_segment_id is not null then
            insert into flag_segments (flag_id, environment_id, segment_id)
            values (new.from_flag_id, new.environment_id, new.to_segment_id)
            on conflict do nothing;
        end if;
    else
        delete from flag_segments
        where flag_id = old.from_flag_id and environment_id = old.environment_id and segment_id = old.to_segment_id;
    end if;
    return null;
end
$$;

-- Comes before the rows are copied: it waits for those who write now, and holds up the next until this is committed.
create trigger flag_segments_followed after insert or delete on flag_segments
    for each row execute function reference_follows_flag_segments();

-- This is all there is: until now a segment could not use another one, and a flag could not need another one.
insert into reference (from_flag_id, environment_id, to_segment_id)
select flag_id, environment_id, segment_id from flag_segments;

create trigger reference_followed after insert or delete on reference
    for each row execute function flag_segments_follows_reference();
