import type { CreateSchedule } from "@tidemill/contract";
import { type Db, invalid, momentMs, problem, type Transactional, type WorkspaceId } from "#kernel";
import { checkCalendar } from "./check-calendar.ts";
import type { Firing } from "./fire.ts";
import { holdQueue } from "./hold-queue.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { settingsOf } from "./settings.ts";
import { countSchedules, findFreeName, insertSchedule } from "./store.ts";
import { tellCreated } from "./tell.ts";

type NewSchedule = Parameters<typeof insertSchedule>[1];
type Stored = Awaited<ReturnType<typeof insertSchedule>>;

/**
 * Makes a schedule, named after its queue when the request names none. Its first tick is the first one after now.
 *
 * @throws NOT_FOUND when the workspace has no such queue; CONFLICT when it has a schedule of that name; VALIDATION_ERROR for a cron
 *   expression, a time zone, a template or a name that is none; PAYLOAD_TOO_LARGE
 */
export async function createSchedule(
  database: Transactional,
  { calendars, audit }: Pick<Firing, "calendars" | "audit">,
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
      ? insertUnnamed(tx, asked, request.queue, insert)
      : insert({ ...asked, name: request.name }));
    if (!stored) throw problem("CONFLICT", { name: request.name }, { message: "There is a schedule of that name already." });
    const schedule = { ...stored, queue: request.queue };
    await tellCreated(tx, audit, caller, schedule, request);
    return schedule;
  });
}

/** Whoever makes another at the same moment may take the name that was free: then the next one is. */
async function insertUnnamed(
  tx: Db,
  asked: Omit<NewSchedule, "name">,
  base: string,
  insert: (one: NewSchedule) => Promise<Stored>,
): Promise<Stored> {
  for (;;) {
    const stored = await insert({ ...asked, name: await freeName(tx, asked.workspaceId, base) });
    if (stored) return stored;
  }
}

/** Past the first hundred, numbers begin after as many as there are schedules: most of those before are taken. */
async function freeName(tx: Db, workspaceId: WorkspaceId, base: string): Promise<string> {
  let found = await findFreeName(tx, workspaceId, base, 1);
  for (let from = found ? 0 : 1 + (await countSchedules(tx, workspaceId)); !found; from += 100) {
    found = await findFreeName(tx, workspaceId, base, from);
  }
  return found.name;
}
