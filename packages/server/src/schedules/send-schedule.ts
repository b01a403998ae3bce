import type { FastifyReply } from "fastify";
import { JSON_TYPE } from "#http";
import { type Clock, momentMs, type Tenants } from "#kernel";
import type { ChangeContext } from "./change.ts";
import type { Schedule } from "./schedule.ts";
import { showSchedule } from "./show.ts";

export interface ScheduleRoutes {
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly context: ChangeContext;
  /** Called with the next tick of a schedule that was created or changed. Milliseconds since 1970. */
  readonly onNextRun: (ms: number) => void;
}

/** Sends a schedule that was created or changed, and passes on its next tick, which may be due before the loop would look again. */
export function sendSchedule(reply: FastifyReply, { onNextRun }: Pick<ScheduleRoutes, "onNextRun">, schedule: Schedule): FastifyReply {
  if (schedule.next_run_at !== null) onNextRun(momentMs(schedule.next_run_at));
  return reply.type(JSON_TYPE).send(showSchedule(schedule));
}
