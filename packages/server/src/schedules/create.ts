import type { CreateSchedule } from "@tidemill/contract";
import { type Db, invalid, momentMs, problem, type Transactional, type UuidSource } from "#kernel";
import { checkCalendar } from "./check-calendar.ts";
import type { Firing } from "./fire.ts";
import { holdQueue } from "./hold-queue.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { settingsOf } from "./settings.ts";
import { findFreeName, insertSchedule } from "./store.ts";
import { tellCreated } from "./tell.ts";

type NewSchedule = Parameters<typeof insertSchedule>[1];
type Stored = Awaited<ReturnType<typeof insertSchedule>>;

/** Hexadecimal digits at the end of a name, and what is left of 128 characters before them and a dash. */
const CHANCE = 8;
const LONGEST_BASE = 119;

/**
 * Makes a schedule, named after its queue when the request names none. Its first tick is the first one after now.
 *
 * @throws NOT_FOUND when the workspace has no such queue; CONFLICT when it has a schedule of that name; VALIDATION_ERROR for a cron
 *   expression, a time zone, a template or a name that is none; PAYLOAD_TOO_LARGE
 */
export async function createSchedule(
  database: Transactional,
  { calendars, ids, audit }: Pick<Firing, "calendars" | "ids" | "audit">,
  caller: Caller,
  request: CreateSchedule,
): Promise<Schedule> {
  if (request.name === "preview") throw invalid("name", "cannot be preview: GET /v1/schedules/preview is another thing");
  const settings = settingsOf(request);
  const calendar = checkCalendar(calendars, request);
  return database.transaction(async (tx) => {
    const { workspaceId } = caller;
    const queue = await holdQueue(tx, workspaceId, request.queue);
    const asked = { workspaceId, laneId: queue.id, nextMs: calendar.next(momentMs(queue.now)) };
    const insert = (one: NewSchedule) => insertSchedule(tx, one, settings);
    const stored = await (request.name === undefined
      ? insertUnnamed(tx, ids, asked, request.queue, insert)
      : insert({ ...asked, name: request.name }));
    if (!stored) throw problem("CONFLICT", { name: request.name }, { message: "There is a schedule of that name already." });
    const schedule = { ...stored, queue: request.queue };
    await tellCreated(tx, audit, caller, schedule, request);
    return schedule;
  });
}

/** Past the first numbers, and where another takes the free name at the same moment, the name ends by chance: nobody waits in line for it. */
async function insertUnnamed(
  tx: Db,
  ids: UuidSource,
  asked: Omit<NewSchedule, "name">,
  base: string,
  insert: (one: NewSchedule) => Promise<Stored>,
): Promise<Stored> {
  const free = await findFreeName(tx, asked.workspaceId, base);
  let stored = free && (await insert({ ...asked, name: free.name }));
  while (!stored) stored = await insert({ ...asked, name: `${base.slice(0, LONGEST_BASE)}-${ids.next().slice(-CHANCE)}` });
  return stored;
}
