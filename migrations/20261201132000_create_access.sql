-- How people come in and go, and what programs may do for them: invites, links to set a new password, API tokens, where a
-- session is used from, and which SDK key takes over from which. Only grows; the previous release writes none of it.
alter table users
    -- When they last did anything here, to the minute; absent when never since this column came.
    add column last_seen_at timestamptz;

alter table sessions
    -- The browser in a few words; empty when nobody said.
    add column agent text not null default '';

create table invites (
    id uuid primary key,
    -- SHA-256 of what the link holds.
    hash bytea not null,
    email text not null,
    name text not null,
    is_admin boolean not null,
    created_at timestamptz not null,
    created_by uuid not null references users (id),
    expires_at timestamptz not null,
    accepted_at timestamptz,
    accepted_by uuid references users (id),
    revoked_at timestamptz,
    constraint invites_hash_unique unique (hash),
    constraint invites_email_lower check (email = lower(email)),
    constraint invites_accepted_by_somebody check ((accepted_at is null) = (accepted_by is null))
);

create index invites_created on invites (created_at desc, id desc);
create index invites_accepted_by on invites (accepted_by) where accepted_by is not null;

-- What somebody who accepts becomes a member of.
create table invite_projects (
    invite_id uuid not null references invites (id) on delete cascade,
    project_id uuid not null references projects (id) on delete cascade,
    role text not null,
    -- What became of it once the invite was accepted: applied, waiting or refused; absent before.
    outcome text,
    -- The changeset that made, or will make, them a member; absent when refused.
    changeset_id uuid,
    -- Why it was refused.
    problem text,
    primary key (invite_id, project_id),
    constraint invite_projects_outcome_known check (outcome in ('applied', 'waiting', 'refused'))
);

-- One open link for each person; a newer one takes its place.
create table password_resets (
    user_id uuid primary key references users (id) on delete cascade,
    hash bytea not null,
    created_at timestamptz not null,
    created_by uuid not null references users (id),
    expires_at timestamptz not null,
    constraint password_resets_hash_unique unique (hash)
);

create table api_tokens (
    id uuid primary key,
    user_id uuid not null references users (id) on delete cascade,
    name text not null,
    hash bytea not null,
    hint text not null,
    -- What it may do at most beside reading; its owner's permissions bound it too.
    permissions text[] not null,
    -- The only project it reaches; absent for all of its owner's.
    project_id uuid references projects (id) on delete cascade,
    -- The only environments it changes; absent for all. No references, so that a deleted one never widens it.
    environment_ids uuid[],
    created_at timestamptz not null,
    expires_at timestamptz not null,
    revoked_at timestamptz,
    last_used_at timestamptz,
    -- Whether the audit log knows that it expired.
    is_expiry_noted boolean not null default false,
    constraint api_tokens_hash_unique unique (hash),
    constraint api_tokens_environments_in_project check (environment_ids is null or project_id is not null)
);

create index api_tokens_user on api_tokens (user_id, created_at desc, id desc);
create index api_tokens_expiring on api_tokens (expires_at) where not is_expiry_noted;

alter table sdk_keys
    -- The key that this one takes over from.
    add column replaces uuid references sdk_keys (id);

create index sdk_keys_replaces on sdk_keys (replaces) where replaces is not null;
