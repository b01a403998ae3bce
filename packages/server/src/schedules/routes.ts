import {
  CreateSchedule,
  ListSchedules,
  Page,
  PatchSchedule,
  SchedulePath,
  Schedule as ScheduleRecord,
  type ScheduleState,
} from "@tidemill/contract";
import { requestActor } from "#audit";
import {
  type Api,
  JSON_TYPE,
  noContent,
  openNumber,
  PAGE_END,
  pageOf,
  readPage,
  replies,
  routeDefaults,
  sealNumber,
  workspaceOf,
} from "#http";
import { cutPage, PAGE_RESPONSE_BYTES } from "#kernel";
import { readCursorKey } from "#workspaces";
import { createSchedule } from "./create.ts";
import { deleteSchedule } from "./delete.ts";
import { listSchedules } from "./list.ts";
import { scheduleNotFound } from "./not-found.ts";
import { patchSchedule } from "./patch.ts";
import { mountRuns } from "./run-routes.ts";
import { type ScheduleRoutes, sendSchedule } from "./send-schedule.ts";
import { showSchedule } from "./show.ts";
import { findSchedule } from "./store.ts";

const { tags, security } = routeDefaults("Schedules");

/** The schedule endpoints of the specification; contract §6. */
export function mountSchedules(api: Api, routes: ScheduleRoutes): void {
  const { tenants, context } = routes;
  mountRuns(api, routes);

  api.get(
    "/v1/schedules",
    {
      config: { access: "read", responseBytes: PAGE_RESPONSE_BYTES },
      schema: {
        tags,
        security,
        summary: "List schedules",
        description: `Returns the schedules of the workspace, newest first. Filters that are given together must all match. ${PAGE_END}`,
        operationId: "listSchedules",
        querystring: ListSchedules,
        response: replies({ 200: Page(ScheduleRecord) }),
      },
    },
    async (request, reply) => {
      const { queue, state } = request.query;
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const cursorKey = await readCursorKey(db, workspaceId);
      const page = readPage(request.query, (cursor) => openNumber(cursorKey, "schedules", cursor));
      const found = await listSchedules(db, {
        workspaceId,
        queues: queue?.split(",") ?? null,
        states: (state?.split(",") ?? null) as ScheduleState[] | null,
        before: page.after,
        limit: page.limit + 1,
      });
      const { records, next } = cutPage(found, page.limit, ({ id }) => id);
      return reply.type(JSON_TYPE).send(
        pageOf(
          records.map((schedule) => [showSchedule(schedule)]),
          next && sealNumber(cursorKey, "schedules", next),
        ),
      );
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
        description:
          "Creates a schedule, which creates exactly one job at each tick of its cron expression. `NOT_FOUND` means that its queue does " +
          "not exist, `CONFLICT` that its name is taken.",
        operationId: "createSchedule",
        body: CreateSchedule,
        response: replies({ 201: ScheduleRecord }, "NOT_FOUND", "CONFLICT", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      const schedule = await createSchedule(tenants.of(actor.workspaceId), context, actor, request.body);
      return sendSchedule(reply.code(201), routes, schedule);
    },
  );

  api.get(
    "/v1/schedules/:name",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Get a schedule",
        description: "Returns a schedule with its next run and its newest job.",
        operationId: "getSchedule",
        params: SchedulePath,
        response: replies({ 200: ScheduleRecord }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const { name } = request.params;
      const db = tenants.of(workspaceId);
      const schedule = await findSchedule(db, workspaceId, name);
      if (!schedule) throw await scheduleNotFound(db, workspaceId, name);
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
        description:
          "Changes the given settings and leaves the others as they are. Ticks that were due before still run with the old settings. " +
          "Only a new cron expression or time zone moves the next run.",
        operationId: "patchSchedule",
        params: SchedulePath,
        body: PatchSchedule,
        response: replies({ 200: ScheduleRecord }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      const schedule = await patchSchedule(tenants.of(actor.workspaceId), context, actor, request.params.name, request.body);
      return sendSchedule(reply, routes, schedule);
    },
  );

  api.delete(
    "/v1/schedules/:name",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Delete a schedule",
        description: "Deletes a schedule. Jobs that it has created stay.",
        operationId: "deleteSchedule",
        params: SchedulePath,
        response: replies({ 204: noContent("The schedule is gone.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      await deleteSchedule(tenants.of(actor.workspaceId), context.audit, actor, request.params.name);
      return reply.code(204).send();
    },
  );
}
