-- When the jobs of a workspace were last compared with the number that is kept, or could not be. So nodes share this work, and a workspace whose
-- count fails does not keep others from theirs.
create table job_recount (
  workspace_id uuid primary key references workspace on delete cascade,
  at           timestamptz not null
);

select make_tenant_views();
