-- no-transaction
-- The list of changesets that wait.
create index concurrently changesets_open on changesets (project_id, state)
    where changes is not null and state <> 'applied';
