-- no-transaction
-- What somebody did.
create index concurrently if not exists changesets_author_revision on changesets (author_id, revision desc);
