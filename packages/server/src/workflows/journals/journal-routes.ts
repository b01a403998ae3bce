import { JournalPage, ReadJournal, RunPath } from "@tidemill/contract";
import { type Api, JSON_TYPE, jsonText, principalOf, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { PAGE_RESPONSE_BYTES, problem, type RunId, runSynchronously, type Tenants } from "#kernel";
import { lockExecution } from "../executions/execution-store.ts";
import { readRunId, runNotFound, showJournal } from "../runs/run.ts";
import { findRun } from "../runs/run-store.ts";
import type { VerifyExecution } from "../steps/report-steps.ts";
import { type JournalPlace, readJournalPage } from "./journal-store.ts";

export interface JournalRoutes {
  readonly tenants: Tenants;
  readonly verifyExecution: VerifyExecution;
}

const { tags, security } = routeDefaults("Runs");

/** Mounts how programs fetch journals that are too large to be sent. Source: docs/run-protocol.md. */
export function mountJournal(api: Api, { tenants, verifyExecution }: JournalRoutes): void {
  api.get(
    "/v1/runs/:id/journal",
    {
      config: { access: "worker", responseBytes: PAGE_RESPONSE_BYTES },
      schema: {
        tags,
        security,
        summary: "Get the journal of an execution",
        description:
          "Returns the journal of a run to the program that executes it, page by page. A page ends early with 4 MiB of steps. `LEASE_LOST` " +
          "means that the program no longer executes the run (docs/run-protocol.md).",
        operationId: "getJournal",
        params: RunPath,
        querystring: ReadJournal,
        response: replies({ 200: JournalPage }, "NOT_FOUND", "LEASE_LOST"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const { id } = request.params;
      const { lease_token } = request.query;
      const page = readPage(request.query, readPlace);
      const db = tenants.of(workspaceId);
      const run = { workspaceId, id: readRunId(id) as RunId };
      const claim = await verifyExecution(db, principalOf(request), { id, lease_token });
      const found =
        claim &&
        (await db.transaction(async (tx) =>
          (await lockExecution(tx, run, claim)) ? readJournalPage(tx, run, page.after, page.limit) : null,
        ));
      if (!found) throw (await findRun(db, run)) ? problem("LEASE_LOST") : runNotFound(id);
      const next = found.next && showPlace(found.next);
      return reply
        .type(JSON_TYPE)
        .send(jsonText(['{"data":', ...runSynchronously(showJournal(found.steps)), `,"next_cursor":${JSON.stringify(next)}}`]));
    },
  );
}

const showPlace = ({ waits, seq }: JournalPlace): string => `${Number(waits)}-${seq}`;

function readPlace(cursor: string): JournalPlace | null {
  const [, waits, seq] = /^([01])-(\d{1,9})$/.exec(cursor) ?? [];
  return waits === undefined ? null : { waits: waits === "1", seq: Number(seq) };
}
