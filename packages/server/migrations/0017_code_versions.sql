-- The version of the code that executes the run of this job. Null: any version.
alter table job add column code_version text;

-- The waiting jobs of workflows by version, for claims while workers of several versions ask.
create index job_claimable_version on job (workspace_id, lane_id, code_version, priority desc, run_at, id)
  where state = 'waiting' and kind <> 'queue';

-- Versions of the code that workers have asked with for runs of a workflow. An empty version: workers without one.
create table workflow_version (
  workspace_id   uuid not null,
  lane_id        bigint not null,
  version        text not null,
  -- When it asked first, or first again after it was gone.
  first_asked_at timestamptz not null,
  last_asked_at  timestamptz not null,
  primary key (workspace_id, lane_id, version),
  foreign key (workspace_id, lane_id) references workflow on delete cascade
);

-- Runs whose journal did not fit the code that executed them last.
create table run_unfit (
  workspace_id uuid not null,
  run_id       uuid not null,
  lane_id      bigint not null,
  -- Key of the first step that did not fit, and why.
  step         text not null,
  reason       text not null,
  -- Version of the code that it did not fit. Empty: none was given.
  version      text not null,
  -- All versions that it did not fit.
  tried        text[] not null,
  -- Whether the run waits for other code.
  parked       boolean not null,
  primary key (workspace_id, run_id),
  foreign key (workspace_id, run_id) references run on delete cascade
);
create index run_unfit_parked on run_unfit (workspace_id, lane_id, run_id) where parked;

-- The next jobs of a workflow for workers of one version: those of this version or of none, and, if `newest`, those of versions that are
-- not among `others`. Versions are found by jumping from one to the next.
create function next_jobs_of_version(workspace uuid, lane bigint, own text, others text[], newest boolean, count bigint)
  returns setof uuid language plpgsql rows 10 as $$
begin
  return query
    with recursive version (name) as (
      (select j.code_version from job j
        where j.workspace_id = workspace and j.lane_id = lane and j.state = 'waiting' and j.kind <> 'queue' and j.code_version is not null
        order by j.code_version limit 1)
      union all
      select next.code_version from version cross join lateral (
        select j.code_version from job j
        where j.workspace_id = workspace and j.lane_id = lane and j.state = 'waiting' and j.kind <> 'queue' and j.code_version > version.name
        order by j.code_version limit 1) next
    )
    select found.id from (
      (select j.id, j.priority, j.run_at from job j
        where j.workspace_id = workspace and j.lane_id = lane and j.state = 'waiting' and j.kind <> 'queue' and j.code_version is null
        order by j.code_version, j.priority desc, j.run_at, j.id limit count)
      union all
      select next.* from version cross join lateral (
        select j.id, j.priority, j.run_at from job j
        where j.workspace_id = workspace and j.lane_id = lane and j.state = 'waiting' and j.kind <> 'queue' and j.code_version = version.name
        order by j.code_version, j.priority desc, j.run_at, j.id limit count) next
      where version.name = own or newest and not version.name = any(others)
    ) found
    order by found.priority desc, found.run_at, found.id limit count;
end $$;

select make_tenant_views();
