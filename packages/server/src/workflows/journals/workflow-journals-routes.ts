import { ListJournals, Page, RunJournal, WorkflowPath } from "@tidemill/contract";
import { type Api, JSON_TYPE, PAGE_END, pageOf, readPage, replies, routeDefaults, runForRequest, workspaceOf } from "#http";
import type { RunId, Shares, Tenants } from "#kernel";
import { findLane, laneNotFound } from "#lanes";
import { readRunId, showRunId } from "../runs/run.ts";
import type { InSlices } from "./journal-text.ts";
import { listJournals } from "./list-journals.ts";

const { tags, security } = routeDefaults("Workflows");

/** The endpoint of journals, for checks of new code before it is deployed. */
export function mountJournals(
  api: Api,
  { tenants, shares }: { readonly tenants: Tenants; readonly shares: Pick<Shares, "loopTime"> },
): void {
  api.get(
    "/v1/workflows/:name/journals",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List journals of runs in flight",
        description:
          "Returns the runs of a workflow that have begun and have not ended, newest first, with their inputs and journals. A page has at most " +
          `8 MiB of these, unless its first run has more. ${PAGE_END}`,
        operationId: "listJournals",
        params: WorkflowPath,
        querystring: ListJournals,
        response: replies({ 200: Page(RunJournal) }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const { after, limit } = readPage(request.query, readRunId);
      const lane = await findLane(db, workspaceId, "workflow", request.params.name);
      if (!lane) throw await laneNotFound(db, workspaceId, "workflow", request.params.name);
      const hold = async (bytes: number) => reply.holdBytesInTurn?.(bytes);
      const inSlices: InSlices = (characters, work) => runForRequest(shares.loopTime, request, workspaceId, characters, work);
      const page = { after: after as RunId | null, limit };
      const { texts, next } = await listJournals(db, workspaceId, lane.id, page, hold, inSlices);
      return reply.type(JSON_TYPE).send(pageOf(texts, next && showRunId(next)));
    },
  );
}
