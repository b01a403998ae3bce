import type { FastifyReply, FastifyRequest } from "fastify";
import { actorOf, workspaceOf } from "#http";
import { type Clock, momentMs, type Tenants } from "#kernel";
import type { Fired, Firing } from "./fire.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { showSchedule } from "./show.ts";

export interface ScheduleRoutes {
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly firing: Firing;
  /** Called after the commit with what came of ticks that were due before a change, and of triggers. */
  readonly onFired: (fired: Fired) => void;
  /** A schedule is due next then. Milliseconds since 1970. */
  readonly onNextRun: (ms: number) => void;
}

export const JSON_TYPE = "application/json; charset=utf-8";

export const callerOf = (request: FastifyRequest): Caller => ({ workspaceId: workspaceOf(request), actorId: actorOf(request) });

/** Answers with a schedule that was made or changed, which the node may have to fire sooner than it looks anyway. */
export function answer(reply: FastifyReply, { onNextRun }: Pick<ScheduleRoutes, "onNextRun">, schedule: Schedule): FastifyReply {
  if (schedule.next_run_at !== null) onNextRun(momentMs(schedule.next_run_at));
  return reply.type(JSON_TYPE).send(showSchedule(schedule));
}
