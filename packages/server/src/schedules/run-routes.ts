import { Job, PreviewSchedule, SchedulePath, SchedulePreview, Schedule as ScheduleRecord } from "@tidemill/contract";
import { type Api, replies } from "#http";
import { showJob } from "#jobs";
import { answer, callerOf, JSON_TYPE, type ScheduleRoutes } from "./answer.ts";
import { pauseSchedule } from "./pause.ts";
import { previewSchedule } from "./preview.ts";
import { resumeSchedule } from "./resume.ts";
import { triggerSchedule } from "./trigger.ts";

const tags = ["Schedules"];
const security = [{ workspaceKey: [] }];
const PREVIEWED = 5;

/** What has to do with when schedules run: preview, pause, resume, trigger. */
export function mountRuns(api: Api, routes: ScheduleRoutes): void {
  const { tenants, clock, firing, onFired } = routes;

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
        return answer(reply, routes, changed.schedule);
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
}
