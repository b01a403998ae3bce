-- Dead letters are grouped by what failed. Each has the fingerprint of its group.
alter table job add column fingerprint text;

-- The dead letters of a group. The workspace is an expression for the same reason as in job_newest.
create index job_fingerprint on job ((coalesce(workspace_id, id)), fingerprint, id desc) where state = 'failed';

-- A message without what differs from one failure to the next: addresses, names of hosts, quoted values, and words with digits, which numbers,
-- ids, hexadecimal texts and UUIDs are. It reads the first 400 characters. None of the patterns can look back, so the time that it takes
-- is bounded.
create function normalize_error(message text) returns text language sql immutable parallel safe as $$
  select trim(left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    left(message, 400),
    '[[:alpha:]][[:alnum:]+.-]*://[^[:space:]"''`]*', '…', 'g'),
    '"[^"]*"|''[^'']*''|`[^`]*`|“[^”]*”', '…', 'g'),
    '([[:alnum:]-]+[.])+(com|net|org|io|dev|app|cloud|local|internal|localhost|test|example|invalid|[a-z][a-z])(:[0-9]+)?\M', '…', 'gi'),
    '\m[0-9a-f]{8,}\M|[[:alnum:]_]*[0-9][[:alnum:]_]*([.:-]+[[:alnum:]_]+)*', '#', 'gi'),
    '[[:space:]]+', ' ', 'g'), 200))
$$;

-- The host that the queue calls, with its port. Null: workers serve it.
create function queue_host(workspace uuid, lane bigint) returns text language sql stable parallel safe as $$
  select lower(substring(callback_url from '^[^:]+://([^/?#]+)')) from queue where workspace_id = workspace and id = lane
$$;

-- What dead letters are grouped by, and the fingerprint of it.
create type failure as (fingerprint text, code text, status integer, host text, message text);

create function failure_of(code text, status integer, host text, message text) returns failure language sql immutable parallel safe as $$
  select row(left(encode(sha256(convert_to(concat_ws(chr(10), code, coalesce(status::text, '-'), coalesce(host, '-'), message), 'UTF8')), 'hex'), 16),
    code, status, host, message)::failure
$$;

-- How a job failed, by its last error and the host that its queue called. The name of the host is taken out of the message.
create function failure_of_error(host text, last_error text) returns failure language plpgsql immutable as $$
declare
  error json := coalesce(last_error, '{}')::json;
begin
  return failure_of(coalesce(error ->> 'code', 'UNKNOWN'), (error ->> 'status')::integer, host,
    normalize_error(case when host is null then error ->> 'message' else replace(coalesce(error ->> 'message', ''), host, '…') end));
end $$;

-- Where the failures of a code go in a workspace that has too many groups.
create function failure_of_rest(code text) returns failure language sql immutable parallel safe as
  $$ select failure_of(code, null, null, '(other messages)') $$;

-- Changes in the number of dead letters: 1 for each job that failed, -1 for each that was retried or removed. They are folded seconds later.
create table dead_letter_delta (
  workspace_id uuid not null,
  fingerprint  text not null,
  at           timestamptz not null,
  jobs         smallint not null,
  lane_id      bigint not null,
  -- The job's last error, and the host that its queue called, if its group is new.
  error        text,
  host         text
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index dead_letter_delta_workspace on dead_letter_delta (workspace_id, fingerprint);

create table dead_letter_group (
  workspace_id  uuid not null references workspace on delete cascade,
  fingerprint   text not null,
  code          text not null,
  status        integer,
  host          text,
  message       text not null,
  jobs          bigint not null,
  -- Lanes in which jobs failed like this: some of them, if they are many.
  lanes         bigint[] not null,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null,
  primary key (workspace_id, fingerprint)
) with (fillfactor = 70);
create index dead_letter_group_empty on dead_letter_group (last_seen_at) where jobs <= 0;

-- How many jobs failed in each hour of the last days.
create table dead_letter_hour (
  workspace_id uuid not null references workspace on delete cascade,
  fingerprint  text not null,
  hour         timestamptz not null,
  failed       bigint not null,
  primary key (workspace_id, fingerprint, hour)
) with (fillfactor = 70);
create index dead_letter_hour_age on dead_letter_hour (hour);

-- The fingerprint of a job that fails now. A workspace has about as many groups as this allows.
create function fingerprint_of(workspace uuid, lane bigint, last_error text) returns text language plpgsql stable as $$
declare
  found failure := failure_of_error(queue_host(workspace, lane), last_error);
begin
  if not exists (select from dead_letter_group g where g.workspace_id = workspace and g.fingerprint = found.fingerprint)
    and (select count(*) from (select from dead_letter_group g where g.workspace_id = workspace limit 1000) g) >= 1000
  then found := failure_of_rest(found.code); end if;
  return found.fingerprint;
end $$;

-- Every statement that moves a job into the dead-letter queue or out of it counts, whatever its folder. Completed jobs cost one comparison.
create function count_dead_letter() returns trigger language plpgsql as $$
declare
  is_new boolean;
begin
  if tg_op = 'UPDATE' and new.state = 'failed' then
    is_new := not exists (
      select from tidemill.dead_letter_group g where g.workspace_id = new.workspace_id and g.fingerprint = new.fingerprint);
    insert into tidemill.dead_letter_delta (workspace_id, fingerprint, at, jobs, lane_id, error, host)
    values (new.workspace_id, new.fingerprint, moment(), 1, new.lane_id, case when is_new then new.last_error end,
      case when is_new then queue_host(new.workspace_id, new.lane_id) end);
  else
    insert into tidemill.dead_letter_delta (workspace_id, fingerprint, at, jobs, lane_id)
    values (old.workspace_id, old.fingerprint, moment(), -1, old.lane_id);
  end if;
  return null;
end $$;
create trigger dead_letter_added after update of state on job for each row
  when (new.state = 'failed' and old.state <> 'failed' and new.fingerprint is not null) execute function count_dead_letter();
create trigger dead_letter_left after update of state on job for each row
  when (old.state = 'failed' and new.state <> 'failed' and old.fingerprint is not null) execute function count_dead_letter();
create trigger dead_letter_removed after delete on job for each row
  when (old.state = 'failed' and old.fingerprint is not null) execute function count_dead_letter();

-- The dead letters that there are.
update job set fingerprint = fingerprint_of(workspace_id, lane_id, last_error) where state = 'failed';
insert into dead_letter_group (workspace_id, fingerprint, code, status, host, message, jobs, lanes, first_seen_at, last_seen_at)
select j.workspace_id, j.fingerprint, f.code, f.status, f.host, coalesce(f.message, ''), j.jobs, j.lanes, j.first_at, j.last_at
from (
  select workspace_id, fingerprint, count(*) as jobs, (array_agg(distinct lane_id))[:20] as lanes, min(finished_at) as first_at,
    max(finished_at) as last_at, max(lane_id) as lane_id, max(last_error) as error
  from job where state = 'failed' and exists (select from workspace w where w.id = workspace_id) group by workspace_id, fingerprint
) j cross join lateral failure_of_error(queue_host(j.workspace_id, j.lane_id), j.error) f;

select make_tenant_views();
