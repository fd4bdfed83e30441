-- People, their sessions, and which projects they belong to.
create table users (
    id uuid primary key,
    email text not null,
    name text not null,
    password_hash text not null,
    is_admin boolean not null default false,
    created_at timestamptz not null,
    disabled_at timestamptz,
    constraint users_email_unique unique (email),
    constraint users_email_lower check (email = lower(email))
);

create table sessions (
    id uuid primary key,
    user_id uuid not null references users (id) on delete cascade,
    created_at timestamptz not null,
    last_used_at timestamptz not null,
    expires_at timestamptz not null
);

create index sessions_user on sessions (user_id);

create table projects (
    id uuid primary key,
    key text not null,
    name text not null,
    created_at timestamptz not null,
    constraint projects_key_unique unique (key)
);

create table members (
    project_id uuid not null references projects (id) on delete cascade,
    user_id uuid not null references users (id) on delete cascade,
    role text not null,
    primary key (project_id, user_id),
    constraint members_role_known check (role in ('viewer', 'editor', 'admin'))
);

create index members_user on members (user_id);
