-- A log of attempts has a bound: a worker may give a job back any number of times. Of a log that has become too long, the latest entries
-- are kept that are half as long together.
create function latest_attempts(log text) returns text language sql immutable as $$
  select coalesce(string_agg(entry::text, ',' order by place), '') from (
    select entry, place, sum(octet_length(entry::text) + 1) over (order by place desc) as bytes
    from json_array_elements(('[' || log || ']')::json) with ordinality a (entry, place)) e
  where bytes <= 131072
$$;

-- A log of attempts with one more.
create function add_attempt(log text, entry text) returns text language sql immutable as $$
  select concat_ws(',', nullif(case when octet_length(log) > 262144 then latest_attempts(log) else log end, ''), entry)
$$;

create or replace function log_attempt(log text, attempt integer, started_at timestamptz, of_lease bigint, outcome text, error text)
returns text language sql stable as $$
  select add_attempt(log, json_build_object('attempt', attempt, 'started_at',
    to_char(started_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'duration_ms', round((extract(epoch from moment() - started_at) * 1000)::numeric, 2), 'outcome', outcome,
    'status', null, 'error', error::json, 'worker', (select worker from lease where id = of_lease))::text)
$$;
