import {
  CreateSchedule,
  Job,
  ListSchedules,
  Page,
  PatchSchedule,
  PreviewSchedule,
  SchedulePath,
  SchedulePreview,
  Schedule as ScheduleRecord,
  type ScheduleState,
} from "@tidemill/contract";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Api, actorOf, nextPage, noContent, readNumber, readPage, replies, showNumber, workspaceOf } from "#http";
import { showJob } from "#jobs";
import { type Clock, momentMs, problem, type Tenants } from "#kernel";
import { createSchedule } from "./create.ts";
import { deleteSchedule } from "./delete.ts";
import type { Fired, Firing } from "./fire.ts";
import { patchSchedule } from "./patch.ts";
import { pauseSchedule } from "./pause.ts";
import { previewSchedule } from "./preview.ts";
import { resumeSchedule } from "./resume.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { showSchedule } from "./show.ts";
import { findSchedule, listSchedules } from "./store.ts";
import { triggerSchedule } from "./trigger.ts";

export interface ScheduleRoutes {
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly firing: Firing;
  /** Told, after the commit, what came of ticks that were due before a change, and of triggers. */
  readonly onFired: (fired: Fired) => void;
  /** Told when a schedule is due next. Milliseconds since 1970. */
  readonly onNextRun: (ms: number) => void;
}

const tags = ["Schedules"];
const security = [{ workspaceKey: [] }];
const JSON_TYPE = "application/json; charset=utf-8";
const PREVIEWED = 5;

/** The schedule endpoints of the specification; contract §6. */
export function mountSchedules(api: Api, { tenants, clock, firing, onFired, onNextRun }: ScheduleRoutes): void {
  api.get(
    "/v1/schedules",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List schedules",
        operationId: "listSchedules",
        querystring: ListSchedules,
        response: replies({ 200: Page(ScheduleRecord) }),
      },
    },
    async (request, reply) => {
      const { queue, state } = request.query;
      const page = readPage(request.query, readNumber);
      const workspaceId = workspaceOf(request);
      const found = await listSchedules(tenants.of(workspaceId), {
        workspaceId,
        queues: queue?.split(",") ?? null,
        states: (state?.split(",") ?? null) as ScheduleState[] | null,
        before: page.after,
        most: page.limit + 1,
      });
      const { rows, nextCursor } = nextPage(found, page.limit, ({ id }) => showNumber(id));
      return reply.type(JSON_TYPE).send(`{"data":[${rows.map(showSchedule).join(",")}],"next_cursor":${JSON.stringify(nextCursor)}}`);
    },
  );

  api.post(
    "/v1/schedules",
    {
      config: { access: "write", rawMember: "payload" },
      schema: {
        tags,
        security,
        summary: "Create a schedule",
        operationId: "createSchedule",
        body: CreateSchedule,
        response: replies({ 201: ScheduleRecord }, "NOT_FOUND", "CONFLICT", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const schedule = await createSchedule(tenants.of(caller.workspaceId), firing, caller, request.body);
      return answer(reply.code(201), schedule);
    },
  );

  api.get(
    "/v1/schedules/preview",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "The next runs of a cron expression",
        operationId: "previewSchedule",
        querystring: PreviewSchedule,
        response: replies({ 200: SchedulePreview }),
      },
    },
    (request) => {
      const { cron, timezone, count = PREVIEWED } = request.query;
      return previewSchedule(firing.calendars, { cron, timezone, count }, clock.nowMs());
    },
  );

  api.get(
    "/v1/schedules/:name",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "A schedule",
        operationId: "getSchedule",
        params: SchedulePath,
        response: replies({ 200: ScheduleRecord }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const schedule = await findSchedule(tenants.of(workspaceId), workspaceId, request.params.name);
      if (!schedule) throw problem("NOT_FOUND");
      return reply.type(JSON_TYPE).send(showSchedule(schedule));
    },
  );

  api.patch(
    "/v1/schedules/:name",
    {
      config: { access: "write", rawMember: "payload" },
      schema: {
        tags,
        security,
        summary: "Change a schedule",
        operationId: "patchSchedule",
        params: SchedulePath,
        body: PatchSchedule,
        response: replies({ 200: ScheduleRecord }, "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const changed = await patchSchedule(tenants.of(caller.workspaceId), firing, caller, request.params.name, request.body);
      onFired(changed.fired);
      return answer(reply, changed.schedule);
    },
  );

  for (const [verb, change, summary] of [
    ["pause", pauseSchedule, "Pause a schedule"],
    ["resume", resumeSchedule, "Resume a paused schedule"],
  ] as const) {
    api.patch(
      `/v1/schedules/:name/${verb}`,
      {
        config: { access: "write" },
        schema: {
          tags,
          security,
          summary,
          operationId: `${verb}Schedule`,
          params: SchedulePath,
          response: replies({ 200: ScheduleRecord }, "NOT_FOUND"),
        },
      },
      async (request, reply) => {
        const caller = callerOf(request);
        const changed = await change(tenants.of(caller.workspaceId), firing, caller, request.params.name);
        onFired(changed.fired);
        return answer(reply, changed.schedule);
      },
    );
  }

  api.post(
    "/v1/schedules/:name/trigger",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Make a schedule's job now",
        operationId: "triggerSchedule",
        params: SchedulePath,
        response: replies({ 201: Job }, "QUOTA_EXCEEDED", "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { job, queue, fired } = await triggerSchedule(tenants.of(caller.workspaceId), firing, caller, request.params.name);
      onFired(fired);
      return reply.code(201).type(JSON_TYPE).send(showJob(job, queue));
    },
  );

  api.delete(
    "/v1/schedules/:name",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Delete a schedule; its jobs stay",
        operationId: "deleteSchedule",
        params: SchedulePath,
        response: replies({ 204: noContent("The schedule is gone.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      await deleteSchedule(tenants.of(caller.workspaceId), firing.audit, caller, request.params.name);
      return reply.code(204).send();
    },
  );

  function answer(reply: FastifyReply, schedule: Schedule): FastifyReply {
    if (schedule.next_run_at !== null) onNextRun(momentMs(schedule.next_run_at));
    return reply.type(JSON_TYPE).send(showSchedule(schedule));
  }
}

const callerOf = (request: FastifyRequest): Caller => ({ workspaceId: workspaceOf(request), actorId: actorOf(request) });
