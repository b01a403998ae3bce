-- The lane that the sample under way visited last. Null: none is under way.
alter table job_metric_sample add column last_workspace uuid, add column last_lane bigint,
  add check ((last_workspace is null) = (last_lane is null));

-- When that was.
alter table job_metric_sample add column visited_at timestamptz,
  add check (last_lane is null or visited_at is not null);
