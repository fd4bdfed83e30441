-- no-transaction
-- What happened at a time, in a project and everywhere.
create index concurrently if not exists changesets_project_applied on changesets (project_id, applied_at desc);
