import type { CreateSchedule } from "@tidemill/contract";
import type { Actor } from "#audit";
import { type Db, invalid, momentMs, problem, type Transactional, type UuidSource } from "#kernel";
import { auditCreated } from "./audit.ts";
import { checkCalendar } from "./check-calendar.ts";
import type { FireContext } from "./fire.ts";
import { lockQueue } from "./lock-queue.ts";
import type { Schedule } from "./schedule.ts";
import { settingsOf } from "./settings.ts";
import { findFreeName, insertSchedule } from "./store.ts";

type NewSchedule = Parameters<typeof insertSchedule>[1];
type Stored = Awaited<ReturnType<typeof insertSchedule>>;

/** A generated name ends with a dash and random hexadecimal digits; the rest of its 128 characters is for the queue's name. */
const RANDOM_DIGITS = 8;
const MAX_BASE_LENGTH = 119;

/**
 * Creates a schedule, named after its queue when the request gives no name. Its first tick is the first one after now.
 *
 * @throws NOT_FOUND when the workspace has no such queue; CONFLICT when it has a schedule of that name; VALIDATION_ERROR for an invalid
 *   cron expression, time zone, template or name; PAYLOAD_TOO_LARGE
 */
export async function createSchedule(
  database: Transactional,
  { calendars, ids, audit, shares }: Pick<FireContext, "calendars" | "ids" | "audit" | "shares">,
  actor: Actor,
  request: CreateSchedule,
): Promise<Schedule> {
  if (request.name === "preview")
    throw invalid("name", 'cannot be "preview": GET /v1/schedules/preview is the preview of a cron expression');
  const settings = await settingsOf(shares.loopTime, actor.workspaceId, request);
  const calendar = checkCalendar(calendars, request);
  return database.transaction(async (tx) => {
    const { workspaceId } = actor;
    const queue = await lockQueue(tx, workspaceId, request.queue);
    const unnamed = { workspaceId, laneId: queue.id, nextMs: calendar.next(momentMs(queue.now)) };
    const insert = (schedule: NewSchedule) => insertSchedule(tx, schedule, settings);
    const stored = await (request.name === undefined
      ? insertUnnamed(tx, ids, unnamed, request.queue, insert)
      : insert({ ...unnamed, name: request.name }));
    if (!stored) throw problem("CONFLICT", { name: request.name }, { message: `The schedule "${request.name}" already exists.` });
    const schedule = { ...stored, queue: request.queue };
    await auditCreated(tx, audit, actor, schedule, request);
    return schedule;
  });
}

/**
 * Names the schedule after its queue, with a number from 2 to 9 when the name is taken. When all of these are taken, or another request
 * takes the free one at the same moment, the name ends with random digits. So concurrent requests do not wait for each other.
 */
async function insertUnnamed(
  tx: Db,
  ids: UuidSource,
  unnamed: Omit<NewSchedule, "name">,
  base: string,
  insert: (schedule: NewSchedule) => Promise<Stored>,
): Promise<Stored> {
  const free = await findFreeName(tx, unnamed.workspaceId, base);
  let stored = free && (await insert({ ...unnamed, name: free.name }));
  while (!stored) stored = await insert({ ...unnamed, name: `${base.slice(0, MAX_BASE_LENGTH)}-${ids.next().slice(-RANDOM_DIGITS)}` });
  return stored;
}
