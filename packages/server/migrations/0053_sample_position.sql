-- Where the sample that is under way goes on: the last lane that it has visited, and when that was. Null: it has ended.
alter table job_metric_sample add column workspace_id uuid, add column lane_id bigint, add column visited_at timestamptz,
  add check ((workspace_id is null) = (lane_id is null)), add check (lane_id is null or visited_at is not null);
