import {
  Job,
  ListSkippedTicks,
  PreviewSchedule,
  SchedulePath,
  SchedulePreview,
  Schedule as ScheduleRecord,
  SkippedTicks,
} from "@tidemill/contract";
import { requestActor } from "#audit";
import { type Api, JSON_TYPE, jsonText, replies, routeDefaults, workspaceOf } from "#http";
import { showJob } from "#jobs";
import { momentMs } from "#kernel";
import { scheduleNotFound } from "./not-found.ts";
import { pauseSchedule } from "./pause.ts";
import { previewSchedule } from "./preview.ts";
import { resumeSchedule } from "./resume.ts";
import { type ScheduleRoutes, sendSchedule } from "./send-schedule.ts";
import { listSkips, MAX_SKIPS } from "./skip-store.ts";
import { findSchedule } from "./store.ts";
import { triggerSchedule } from "./trigger.ts";

const { tags, security } = routeDefaults("Schedules");

/** The number of ticks in a preview when the request does not give one. */
const DEFAULT_COUNT = 5;
const DEFAULT_SKIPS = 50;

/** The endpoints that control when schedules run: preview, pause, resume and trigger. */
export function mountRuns(api: Api, routes: ScheduleRoutes): void {
  const { tenants, clock, context } = routes;

  api.get(
    "/v1/schedules/preview",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Preview the ticks of a cron expression",
        description:
          "Returns the next ticks of a cron expression in a time zone, from now or from a given moment; with `days`, also how many " +
          "ticks each of the following days has. It stores nothing and needs no schedule.",
        operationId: "previewSchedule",
        querystring: PreviewSchedule,
        response: replies({ 200: SchedulePreview }),
      },
    },
    (request) => {
      const { cron, timezone, from, count = DEFAULT_COUNT, days = null } = request.query;
      return previewSchedule(context.calendars, { cron, timezone, count, days }, from === undefined ? clock.nowMs() : momentMs(from));
    },
  );

  api.get(
    "/v1/schedules/:name/skips",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List the skipped ticks of a schedule",
        description:
          `Returns the ticks that created no job, and why, newest first: one entry for consecutive ticks that had the same ` +
          `reason. About ${MAX_SKIPS} entries are kept. Ticks during a pause are not among them.`,
        operationId: "listSkippedTicks",
        params: SchedulePath,
        querystring: ListSkippedTicks,
        response: replies({ 200: SkippedTicks }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const { name } = request.params;
      const db = tenants.of(workspaceId);
      const schedule = await findSchedule(db, workspaceId, name);
      if (!schedule) throw await scheduleNotFound(db, workspaceId, name);
      return { data: await listSkips(db, workspaceId, schedule.id, request.query.limit ?? DEFAULT_SKIPS) };
    },
  );

  for (const [verb, change, summary, description, errors] of [
    [
      "pause",
      pauseSchedule,
      "Pause a schedule",
      "Stops a schedule from creating jobs. Ticks during the pause are skipped for good. Pausing a paused schedule changes nothing.",
      ["NOT_FOUND"],
    ],
    [
      "resume",
      resumeSchedule,
      "Resume a paused schedule",
      "Lets a schedule create jobs again, from the next tick on. Resuming an active schedule changes nothing. `INVALID_STATE` means that " +
        "the node no longer knows the schedule's time zone.",
      ["NOT_FOUND", "INVALID_STATE"],
    ],
  ] as const) {
    api.patch(
      `/v1/schedules/:name/${verb}`,
      {
        config: { access: "write" },
        schema: {
          tags,
          security,
          summary,
          description,
          operationId: `${verb}Schedule`,
          params: SchedulePath,
          response: replies({ 200: ScheduleRecord }, ...errors),
        },
      },
      async (request, reply) => {
        const actor = requestActor(request);
        const schedule = await change(tenants.of(actor.workspaceId), context, actor, request.params.name);
        return sendSchedule(reply, routes, schedule);
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
        summary: "Run a schedule now",
        description:
          "Creates a job with the settings of the schedule, even if it is paused or an earlier job has not finished. Its ticks are not " +
          "affected. `QUOTA_EXCEEDED` means that the month's executions are used up.",
        operationId: "triggerSchedule",
        params: SchedulePath,
        response: replies({ 201: Job }, "QUOTA_EXCEEDED", "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      const { job, queue } = await triggerSchedule(tenants.of(actor.workspaceId), context, actor, request.params.name);
      return reply
        .code(201)
        .type(JSON_TYPE)
        .send(jsonText(showJob(job, queue)));
    },
  );
}
