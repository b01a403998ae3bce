import { rows, sql } from "../packages/server/src/kernel/index.ts";
import type { Environment } from "./environment.ts";
import { correctCounts } from "./insert-jobs.ts";

/** Schedules to insert directly into the database, all at once. They are spread over the queues, whose names must differ. */
export interface SchedulesToPut {
  readonly queues: readonly string[];
  readonly count: number;
  readonly cron: string;
  /** The first tick of the first schedule. Milliseconds since 1970. */
  readonly firstMs: number;
  /** The first ticks are spread evenly over this time. */
  readonly spreadSeconds: number;
}

export const putSchedules = (
  { database }: Environment,
  { queues, count, cron, firstMs, spreadSeconds }: SchedulesToPut,
): Promise<unknown> =>
  rows(
    database,
    sql`
      insert into schedule (workspace_id, name, lane_id, cron, timezone, payload, overlap, catch_up, next_run_at)
      select q.workspace_id, 'schedule-' || n, q.id, ${cron}, 'UTC', '{"report":"daily"}', 'allow', 'last',
        to_timestamp(${firstMs}::float8 / 1000 + floor(n::float8 / ${count}::int * ${spreadSeconds}::int))
      from generate_series(0, ${count}::int - 1) n
      join unnest(${queues}::text[]) with ordinality as names (name, place) on place = 1 + n % ${queues.length}::int
      join lane q on q.name = names.name`,
  );

/** Deletes all schedules and their jobs. */
export async function clearSchedules({ database }: Environment): Promise<void> {
  await rows(database, sql`truncate schedule, schedule_tick`);
  await rows(database, sql`delete from job where schedule is not null`);
  await rows(database, sql`delete from job_history where schedule is not null`);
  await correctCounts(database);
  await rows(database, sql`vacuum analyze job`);
  await rows(database, sql`vacuum analyze schedule`);
}
