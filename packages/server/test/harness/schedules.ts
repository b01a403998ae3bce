import type { LaneKey } from "#lanes";
import type { TestDatabase } from "./database.ts";
import { test as base } from "./engine.ts";
import { NEVER_POLL } from "./nodes.ts";
import { type Service, startTestNode } from "./service.ts";

/** Inserts a schedule into the database. It has taken one tick and is not due for a year. */
export async function putSchedule(database: TestDatabase, { workspaceId, laneId }: LaneKey): Promise<void> {
  await database.query(
    `with made as (
       insert into schedule (workspace_id, name, lane_id, cron, timezone, payload, overlap, catch_up, next_run_at, last_tick_at)
       values ($1, 'schedule-' || gen_random_uuid(), $2, '0 0 1 1 *', 'UTC', '1', 'allow', 'last', moment() + interval '1 year', moment())
       returning workspace_id, id, last_tick_at
     )
     insert into schedule_tick (workspace_id, schedule_id, tick_at) select workspace_id, id, last_tick_at from made`,
    [workspaceId, laneId],
  );
}

let made = 0;

/** Creates a schedule over HTTP. Unless `settings` name a queue, it gets a new queue without a callback. Returns its record. */
export async function schedule(
  service: Service,
  settings: Record<string, unknown> = {},
  // biome-ignore lint/suspicious/noExplicitAny: as in Service.
): Promise<any> {
  const queue = settings.queue ?? (await service.queue());
  return service.ok("POST", "/v1/schedules", { name: `schedule-${++made}`, queue, cron: "* * * * *", timezone: "UTC", ...settings });
}

/** Creates many schedules with the same settings, a few at a time: a node refuses requests that its database could not keep up with. */
export async function schedules(service: Service, count: number, settings: Record<string, unknown>): Promise<{ name: string }[]> {
  const all: { name: string }[] = [];
  while (all.length < count) {
    const length = Math.min(20, count - all.length);
    all.push(...(await Promise.all(Array.from({ length }, () => schedule(service, settings)))));
  }
  return all;
}

// biome-ignore lint/suspicious/noExplicitAny: as in Service.
export const scheduleOf = (service: Service, { name }: { name: string }): Promise<any> => service.ok("GET", `/v1/schedules/${name}`);

/** The ticks for which the schedule's jobs were created, in the order of creation. */
export async function ticksOf(service: Service, { name }: { name: string }): Promise<string[]> {
  const found = await service.database.query<{ at: Date }>(
    `select scheduled_for as at from job_record
     where schedule = $1 and workspace_id = (select workspace_id from api_key where hash = sha256($2::text::bytea)) order by id`,
    [name, service.key],
  );
  return found.map(({ at }) => at.toISOString());
}

const DAY_MS = 86_400_000;

/**
 * As the engine's `test`. Time is frozen at a noon that no other test of the file uses, and schedules of earlier tests are deleted. `at`
 * returns moments of that day by their time: `12:01`, `12:01:30`.
 */
export const test = base.extend("at", { auto: true }, async ({ service }) => {
  await service.database.query("delete from schedule");
  const noonMs = Math.floor(service.clock.nowMs() / DAY_MS) * DAY_MS + 1.5 * DAY_MS;
  await service.moveTo(noonMs);
  const day = new Date(noonMs).toISOString().slice(0, 10);
  return (...times: string[]): string[] => times.map((time) => `${day}T${time.length === 5 ? `${time}:00` : time}.000Z`);
});

/** As `test`, on a node that never polls. Nothing fires until a test wakes it. */
export const testUnpolled = test.extend("node", { scope: "file" }, async ({ database, clock }, { onCleanup }) => {
  const node = await startTestNode(database, clock, NEVER_POLL);
  onCleanup(() => node.stop());
  return node;
});
