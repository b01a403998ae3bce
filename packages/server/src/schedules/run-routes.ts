import { Job, PreviewSchedule, SchedulePath, SchedulePreview, Schedule as ScheduleRecord } from "@tidemill/contract";
import { type Api, replies, routeDefaults } from "#http";
import { showJob } from "#jobs";
import { answer, callerOf, JSON_TYPE, type ScheduleRoutes } from "./answer.ts";
import { pauseSchedule } from "./pause.ts";
import { previewSchedule } from "./preview.ts";
import { resumeSchedule } from "./resume.ts";
import { triggerSchedule } from "./trigger.ts";

const { tags, security } = routeDefaults("Schedules");
const PREVIEWED = 5;

/** What has to do with when schedules run: preview, pause, resume, trigger. */
export function mountRuns(api: Api, routes: ScheduleRoutes): void {
  const { tenants, clock, firing, onFired } = routes;
  const changing = { ...firing, onFired };

  api.get(
    "/v1/schedules/preview",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Preview the ticks of a cron expression",
        description: "Returns the next ticks of a cron expression in a time zone. It stores nothing and needs no schedule.",
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

  for (const [verb, change, summary, description, errors] of [
    [
      "pause",
      pauseSchedule,
      "Pause a schedule",
      "Stops a schedule from making jobs: ticks during the pause are skipped for good. Pausing a paused schedule changes nothing.",
      ["NOT_FOUND"],
    ],
    [
      "resume",
      resumeSchedule,
      "Resume a paused schedule",
      "Lets a schedule make jobs again, from the next tick on. Resuming an active schedule changes nothing. `INVALID_STATE` means that " +
        "the node does not know the schedule's time zone any more.",
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
        const caller = callerOf(request);
        const schedule = await change(tenants.of(caller.workspaceId), changing, caller, request.params.name);
        return answer(reply, routes, schedule);
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
        summary: "Make a job of a schedule now",
        description:
          "Makes a job with the settings of the schedule, even if it is paused or an earlier job has not finished. Its ticks are not " +
          "affected. `QUOTA_EXCEEDED` means that the month's executions are used up.",
        operationId: "triggerSchedule",
        params: SchedulePath,
        response: replies({ 201: Job }, "QUOTA_EXCEEDED", "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { job, queue } = await triggerSchedule(tenants.of(caller.workspaceId), changing, caller, request.params.name);
      return reply.code(201).type(JSON_TYPE).send(showJob(job, queue));
    },
  );
}
