create index workspace_deleted on workspace (id) where deleted_at is not null;
