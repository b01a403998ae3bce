import { RunEvents, RunPath, WatchHeaders } from "@tidemill/contract";
import { type Api, noContent, replies, routeDefaults, workspaceOf } from "#http";
import type { RunId, Tenants } from "#kernel";
import { readRunId, runNotFound } from "../runs/run.ts";
import { findRun } from "../runs/run-store.ts";
import { readEventCursor } from "./cursor.ts";
import type { FollowedRuns } from "./followed-runs.ts";

export interface RunEventRoutes {
  readonly tenants: Tenants;
  readonly followed: FollowedRuns;
}

const { tags, security } = routeDefaults("Runs");

/** The stream of a run's events. Source: contract §11. */
export function mountRunEvents(api: Api, { tenants, followed }: RunEventRoutes): void {
  api.get(
    "/v1/runs/:id/events",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Follow a run",
        description:
          "Sends events as they happen (server-sent events): first the run, then each change of its journal, progress and status, until it " +
          "has ended. Intermediate changes may be left out. With `Last-Event-ID` the stream continues after that event. The response is 204 " +
          "when the run has ended and the reader has all events.",
        operationId: "watchRun",
        params: RunPath,
        headers: WatchHeaders,
        response: replies({ 200: RunEvents, 204: noContent("The run has ended, and the reader has all events.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const key = { workspaceId, id: readRunId(request.params.id) as RunId };
      void reply.type("text/event-stream; charset=utf-8").header("x-accel-buffering", "no");
      if (request.method === "HEAD") {
        if (!(await findRun(tenants.of(workspaceId), key))) throw runNotFound(request.params.id);
        return reply.send("");
      }
      const events = followed.open(key, readEventCursor(lastEventIdOf(request)), api.readerOf(request));
      reply.raw.once("close", () => events.destroy());
      await events.opened;
      if (!events.isNeedless) return reply.send(events);
      events.destroy();
      return reply.code(204).removeHeader("content-type").send();
    },
  );
}

const lastEventIdOf = ({ headers }: { headers: Record<string, unknown> }): string | undefined =>
  headers["last-event-id"] as string | undefined;
