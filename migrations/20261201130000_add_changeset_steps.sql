-- Who ended a changeset that people looked at, and who passed over its policy; the lists of those that were looked at, and
-- of those that wait.
alter table changesets
    -- When and by whom it was rejected or taken back.
    add column closed_at timestamptz,
    add column closed_by uuid references users (id),
    -- Who passed over the policy; its author when absent.
    add column break_glass_by uuid references users (id);

create index changesets_reviewed on changesets (project_id, id desc) where changes is not null;

create index changesets_open on changesets (project_id, state) where changes is not null and state <> 'applied';
