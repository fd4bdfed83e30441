-- no-transaction
-- History of one flag or segment, those that are gone included.
create index concurrently if not exists revision_entries_key on revision_entries (entity_key, revision desc);
