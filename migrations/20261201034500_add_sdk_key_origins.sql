-- Which web pages may use a client key: an edge refuses others, and lets these read its answers.
alter table sdk_keys
    add column origins text[] not null default '{}';
