-- no-transaction
-- The list of changesets that people looked at.
create index concurrently changesets_reviewed on changesets (project_id, id desc) where changes is not null;
