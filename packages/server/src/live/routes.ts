import { LiveEvents, LiveQuery } from "@tidemill/contract";
import { type Api, replies, routeDefaults, workspaceOf } from "#http";
import type { FollowedWorkspaces } from "./followed-workspaces.ts";

const { tags, security } = routeDefaults("Status");

/** The stream of what changes in a workspace. Source: contract §13. */
export function mountLive(api: Api, followed: FollowedWorkspaces): void {
  api.get(
    "/v1/live",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Follow changes",
        description:
          "Sends the kinds of records that change in the workspace (server-sent events), at most once a second. It does not send records: " +
          "a reader reads again what it shows. Changes that happen while a reader is not connected are not sent later, so a reader also reads " +
          "again after it has connected. The reader is authenticated again every 15 seconds.",
        operationId: "watchWorkspace",
        querystring: LiveQuery,
        response: replies({ 200: LiveEvents }),
      },
    },
    async (request, reply) => {
      void reply.type("text/event-stream; charset=utf-8").header("x-accel-buffering", "no");
      if (request.method === "HEAD") return reply.send("");
      const stream = followed.open(workspaceOf(request), api.readerOf(request));
      reply.raw.once("close", () => stream.destroy());
      return reply.send(stream);
    },
  );
}
