-- Who must agree to what: policies of protected environments, changesets that wait, roles beside the built-in ones and
-- roles for single environments. Only grows: what the previous release writes is an applied changeset, as before.
alter table changesets
    alter column revision drop not null,
    alter column applied_at drop not null,
    add column state text not null default 'applied',
    -- Counts up with every edit and every step of its life, so that nobody acts on what they did not see.
    add column version bigint not null default 1,
    -- When it was begun; what was written by the previous release was begun when it was applied.
    add column created_at timestamptz,
    -- What it does, for as long as somebody may still ask: absent for what was never reviewed.
    add column format integer,
    add column changes jsonb,
    -- Of all that an approval signs.
    add column digest bytea,
    -- Through what it came to be.
    add column via text not null default 'person',
    -- Why the policy was passed over.
    add column break_glass text,
    -- Why it is suspended or was rejected.
    add column problem text,
    add constraint changesets_state_known check (state in
        ('draft', 'in_review', 'approved', 'scheduled', 'applied', 'rejected', 'cancelled', 'suspended')) not valid,
    add constraint changesets_numbered_when_applied
        check ((state = 'applied') = (revision is not null and applied_at is not null)) not valid,
    add constraint changesets_project_when_waiting check (state = 'applied' or project_id is not null) not valid;

-- Which environments a changeset that waits will touch.
create table changeset_environments (
    changeset_id uuid not null references changesets (id) on delete cascade,
    environment_id uuid not null references environments (id) on delete cascade,
    primary key (changeset_id, environment_id)
);

create index changeset_environments_environment on changeset_environments (environment_id);

-- Who wrote any part of it, and so cannot approve it.
create table changeset_editors (
    changeset_id uuid not null references changesets (id) on delete cascade,
    user_id uuid not null references users (id),
    primary key (changeset_id, user_id)
);

-- An approval is of a digest: another content needs new ones.
create table approvals (
    changeset_id uuid not null references changesets (id) on delete cascade,
    user_id uuid not null references users (id),
    digest bytea not null,
    note text not null,
    at timestamptz not null,
    primary key (changeset_id, user_id, digest)
);

create table changeset_comments (
    id uuid primary key,
    changeset_id uuid not null references changesets (id) on delete cascade,
    user_id uuid not null references users (id),
    at timestamptz not null,
    text text not null
);

create index changeset_comments_changeset on changeset_comments (changeset_id, at, id);

-- A row stays when the protection ends, so that its version never means two things.
create table policies (
    environment_id uuid primary key references environments (id) on delete cascade,
    format integer not null,
    -- Absent when the environment is not protected.
    document jsonb,
    version bigint not null,
    changed_at timestamptz not null,
    changed_by uuid not null references users (id)
);

-- Roles that people made; the built-in ones are not in here.
create table roles (
    key text primary key,
    name text not null,
    permissions text[] not null,
    version bigint not null,
    changed_at timestamptz not null,
    changed_by uuid not null references users (id)
);

-- The previous release takes a role that it does not know for none.
alter table members drop constraint members_role_known;

-- Other roles in single environments.
create table member_environments (
    project_id uuid not null,
    user_id uuid not null,
    environment_id uuid not null references environments (id) on delete cascade,
    role text not null,
    primary key (project_id, user_id, environment_id),
    constraint member_environments_member foreign key (project_id, user_id)
        references members (project_id, user_id) on delete cascade
);

create index member_environments_environment on member_environments (environment_id);

-- Counts up with every change of a membership; stays when it ends, so that a version never means two things.
create table member_versions (
    project_id uuid not null references projects (id) on delete cascade,
    user_id uuid not null references users (id) on delete cascade,
    version bigint not null,
    primary key (project_id, user_id)
);
