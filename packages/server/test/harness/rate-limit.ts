import { type Service, until } from "./service.ts";

/** When the attempts of a queue's jobs started, in order, with those in progress. Milliseconds since 1970. */
export async function startsOf({ database, key }: Service, queue: string): Promise<number[]> {
  const found = await database.query<{ at: Date }>(
    `with mine as (
       select j.* from job_record j join lane q on q.workspace_id = j.workspace_id and q.id = j.lane_id
       join api_key k on k.workspace_id = q.workspace_id where k.hash = sha256($1::text::bytea) and q.name = $2)
     select (entry ->> 'started_at')::timestamptz as at from mine, json_array_elements(('[' || attempts_log || ']')::json) entry
     union all select started_at from mine where state = 'active' order by at`,
    [key, queue],
  );
  return found.map(({ at }) => at.getTime());
}

/** Waits until the queue's rate limit allows no more starts, or no job waits. */
export const untilRateIsUsed = ({ database, key }: Service, queue: string): Promise<void> =>
  until(async () => {
    const open = await database.query(
      `select from lane q join api_key k on k.workspace_id = q.workspace_id
       join lane_gate g on g.workspace_id = q.workspace_id and g.lane_id = q.id
       where k.hash = sha256($1::text::bytea) and q.name = $2 and g.starts_free > 0
         and exists (select from job j where j.workspace_id = q.workspace_id and j.lane_id = q.id and j.state = 'waiting')`,
      [key, queue],
    );
    return open.length === 0;
  }, `the rate of ${queue} to be used up`);
