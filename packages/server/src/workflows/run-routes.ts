import { LIMITS, ListedRun, ListRuns, Page, ReportedSteps, Run, RunPath, type RunStatus, StepsStored } from "@tidemill/contract";
import { type AuditLog, requestActor } from "#audit";
import { type Api, PAGE_END, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { cutPage, type Db, invalid, problem, type RunId, type Tenants, type UuidSource } from "#kernel";
import { type Aborter, findLane, type PulledWaker } from "#lanes";
import { cancelRun } from "./cancel.ts";
import { findHookErrors } from "./hook-store.ts";
import { listRuns } from "./list-runs.ts";
import { readProgress, storeProgress } from "./progress.ts";
import { type ProveExecution, readSteps, reportSteps } from "./report-steps.ts";
import { retryRun } from "./retry.ts";
import { type RunKey, type RunWithData, readRunId, runNotFound, showListedRun, showRun, showRunId } from "./run.ts";
import { findRun, readJournal } from "./run-store.ts";
import { isUndos, reportUndos } from "./undo/report-undos.ts";

export interface RunRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
  readonly waker: PulledWaker;
  readonly aborter: Pick<Aborter, "abortRun">;
  readonly prove: ProveExecution;
}

const { tags, security } = routeDefaults("Runs");
const JSON_TYPE = "application/json; charset=utf-8";

/** The endpoints of runs. Source: specification, Signals and runs; contract §11. */
export function mountRuns(api: Api, { tenants, audit, ids, waker, aborter, prove }: RunRoutes): void {
  const keyOf = (workspaceId: RunKey["workspaceId"], id: string): RunKey => ({ workspaceId, id: readRunId(id) as RunId });

  const show = async (db: Db, key: RunKey, run: RunWithData): Promise<string> =>
    showRun(run, await readJournal(db, key), await findHookErrors(db, key));

  api.get(
    "/v1/runs",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List runs",
        description: `Returns runs of the workspace's workflows, newest first, without their data. ${PAGE_END}`,
        operationId: "listRuns",
        querystring: ListRuns,
        response: replies({ 200: Page(ListedRun) }),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const { workflowId, status } = request.query;
      const page = readPage(request.query, readRunId);
      const lane = workflowId === undefined ? null : await findLane(db, workspaceId, "workflow", workflowId);
      if (workflowId !== undefined && !lane) return { data: [], next_cursor: null };
      const found = await listRuns(db, {
        workspaceId,
        statuses: (status?.split(",") ?? null) as RunStatus[] | null,
        laneId: lane?.id ?? null,
        before: page.after,
        limit: page.limit + 1,
      });
      const { records, next } = cutPage(found, page.limit, ({ id }) => id);
      return { data: records.map(showListedRun), next_cursor: next && showRunId(next) };
    },
  );

  api.get(
    "/v1/runs/:id",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Get a run",
        description: "Returns a run with its data and its journal.",
        operationId: "getRun",
        params: RunPath,
        response: replies({ 200: Run }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const key = keyOf(workspaceId, request.params.id);
      const run = await findRun(db, key);
      if (!run) throw runNotFound(request.params.id);
      return reply.type(JSON_TYPE).send(await show(db, key, run));
    },
  );

  api.post(
    "/v1/runs/:id/cancel",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Cancel a run",
        description: "Cancels a run that has not ended. A worker that is executing it is told so.",
        operationId: "cancelRun",
        params: RunPath,
        response: replies({ 200: Run }, "NOT_FOUND", "INVALID_STATE"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const key = keyOf(workspaceId, request.params.id);
      const { run, leaseId, enqueued } = await cancelRun(db, { audit, ids }, requestActor(request), key);
      if (leaseId !== null) aborter.abortRun(key.id, leaseId);
      if (enqueued) waker.wakePulled([enqueued]);
      return reply.type(JSON_TYPE).send(await show(db, key, run));
    },
  );

  api.post(
    "/v1/runs/:id/retry",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Retry a run",
        description:
          "Lets a failed or cancelled run go on from its journal, with fresh attempts. Completed steps are kept, and the failures that ended " +
          "the run are forgotten, so that these steps are executed again. It does not count as another execution.",
        operationId: "retryRun",
        params: RunPath,
        response: replies({ 200: Run }, "NOT_FOUND", "INVALID_STATE"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const key = keyOf(workspaceId, request.params.id);
      const { run, lane } = await retryRun(db, audit, requestActor(request), key);
      waker.wakePulled([lane]);
      return reply.type(JSON_TYPE).send(await show(db, key, run));
    },
  );

  api.post(
    "/v1/runs/:id/steps",
    {
      bodyLimit: LIMITS.batchBodyBytes,
      config: { access: "worker", rawMember: "output", rawList: "steps", overLimit: "reports" },
      schema: {
        tags,
        security,
        summary: "Report steps of a run",
        description:
          "Stores steps of a run that the worker executes, and what its code says of its progress. A step that the journal has is left as it " +
          "is, so the call may be repeated. `LEASE_LOST` means that the worker no longer executes the run (docs/run-protocol.md).",
        operationId: "reportSteps",
        params: RunPath,
        body: ReportedSteps,
        response: replies({ 200: StepsStored }, "NOT_FOUND", "LEASE_LOST", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const { lease_token, steps = [], progress } = request.body;
      const stored = readSteps(steps, "steps");
      const said = progress === undefined ? null : readProgress(progress);
      if (steps.length === 0 && said === null) throw invalid("steps", "is required, or progress in its place");
      const db = tenants.of(workspaceId);
      const key = keyOf(workspaceId, request.params.id);
      const claim = await prove(db, workspaceId, { id: request.params.id, lease_token });
      const reported = claim && stored.length > 0 ? await (isUndos(stored) ? reportUndos : reportSteps)(db, key, claim, stored) : null;
      const isHeld = claim !== null && (stored.length === 0 || reported !== null);
      // After the steps, so that readers of the run's events see it in this order.
      const progressed = isHeld && said !== null ? await storeProgress(db, key, claim, said) : null;
      const journal = reported ?? progressed;
      if (journal !== null) return { steps: journal };
      throw (await findRun(db, key)) ? problem("LEASE_LOST") : runNotFound(request.params.id);
    },
  );
}
