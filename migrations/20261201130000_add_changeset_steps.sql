-- Who ended a changeset that people looked at, and who passed over its policy.
alter table changesets
    -- When and by whom it was rejected or taken back.
    add column closed_at timestamptz,
    add column closed_by uuid references users (id),
    -- Who passed over the policy; its author when absent.
    add column break_glass_by uuid references users (id);
