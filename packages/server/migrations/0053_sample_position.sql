-- The lane that the sample under way visited last. Null: none is under way.
alter table job_metric_sample add column workspace_id uuid, add column lane_id bigint,
  add check ((workspace_id is null) = (lane_id is null));

-- When that was.
alter table job_metric_sample add column visited_at timestamptz,
  add check (lane_id is null or visited_at is not null);
