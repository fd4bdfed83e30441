-- no-transaction
-- History of a project, newest first. Built beside writers, alone in its file as it must be.
create index concurrently if not exists changesets_project_revision on changesets (project_id, revision desc);
