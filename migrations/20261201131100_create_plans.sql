-- Changesets that happen step by step. What a plan says stands with the changeset; how far it has come, in rows of its own.
alter table changesets
    add column plan jsonb;

create table plan_steps (
    changeset_id uuid not null references changesets (id) on delete cascade,
    ordinal integer not null,
    -- Absent while it waits for the step before it.
    due_at timestamptz,
    -- Not tried again before, when something holds it back.
    retry_at timestamptz,
    state text not null,
    -- The changeset that it became: written later in the same transaction, under the lock on the counter.
    applied_changeset_id uuid,
    problem text,
    -- "Each step once" is this row: it is moved from waiting to applied in the transaction that applies the step.
    primary key (changeset_id, ordinal),
    constraint plan_steps_applied_changeset foreign key (applied_changeset_id)
        references changesets (id) deferrable initially deferred,
    constraint plan_steps_state_known check (state in ('waiting', 'applied', 'skipped', 'blocked')),
    constraint plan_steps_changeset_when_applied check ((state = 'applied') = (applied_changeset_id is not null))
);

create index plan_steps_due on plan_steps (due_at) where state = 'waiting';
create index plan_steps_applied on plan_steps (applied_changeset_id);

-- Which flags a plan is about: a kill has to find the plans of its flag. By key, since a step may make the flag.
create table plan_flags (
    changeset_id uuid not null references changesets (id) on delete cascade,
    project_id uuid not null references projects (id) on delete cascade,
    flag_key text not null,
    -- Absent for what is the same everywhere.
    environment_id uuid references environments (id) on delete cascade
);

create index plan_flags_changeset on plan_flags (changeset_id);
create index plan_flags_flag on plan_flags (project_id, flag_key);

-- A plan with a row here does not go on. Only added to and removed from, and without a foreign key to the changeset or a
-- unique constraint, so that a kill, which adds one, waits for nobody.
create table plan_pauses (
    id uuid primary key default gen_random_uuid(),
    changeset_id uuid not null,
    at timestamptz not null,
    user_id uuid references users (id),
    reason text not null
);

create index plan_pauses_changeset on plan_pauses (changeset_id);
