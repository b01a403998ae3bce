import { ListedRun, ListRuns, Page, Run, RunPath, type RunStatus } from "@tidemill/contract";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type AuditLog, requestActor } from "#audit";
import { type Api, JSON_TYPE, jsonText, PAGE_END, readPage, replies, routeDefaults, runForRequest, workspaceOf } from "#http";
import { cutPage, type Db, type JsonParts, PAGE_RESPONSE_BYTES, type RunId, type Shares, type Tenants, type UuidSource } from "#kernel";
import { type Aborter, findLane, type PulledWaker, type Waker } from "#lanes";
import { cancelRun } from "./cancel.ts";
import { listRuns } from "./list-runs.ts";
import { retryRun } from "./retry.ts";
import { type RunKey, type RunWithData, readRunId, runNotFound, STEP_BYTES, showListedRun, showRun, showRunId } from "./run.ts";
import { findDetails } from "./run-details.ts";
import { findRun, readJournal, weighRun } from "./run-store.ts";

export interface RunRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
  readonly shares: Pick<Shares, "loopTime">;
  readonly waker: Pick<Waker, "wake"> & PulledWaker;
  readonly aborter: Pick<Aborter, "abortRun" | "abortJob">;
}

const { tags, security } = routeDefaults("Runs");
/** An id that no lease has. */
const NO_LEASE = 0;

/** The endpoints of runs. Source: specification, Signals and runs; contract §11. */
export function mountRuns(api: Api, { tenants, audit, ids, shares, waker, aborter }: RunRoutes): void {
  const keyOf = (workspaceId: RunKey["workspaceId"], id: string): RunKey => ({ workspaceId, id: readRunId(id) as RunId });

  const show = async (request: FastifyRequest, db: Db, key: RunKey, run: RunWithData): Promise<JsonParts> => {
    const steps = await readJournal(db, key);
    const details = await findDetails(db, key, run);
    const work = showRun(run, { ...details, steps });
    return runForRequest(shares.loopTime, request, key.workspaceId, steps.length * STEP_BYTES, work);
  };
  /**
   * Waits for the memory of a response with the run, before the run is changed: a request that has changed something must not be refused.
   */
  const hold = async (reply: FastifyReply, db: Db, key: RunKey, id: string): Promise<void> => {
    const bytes = await weighRun(db, key);
    if (bytes === null) throw runNotFound(id);
    await reply.holdBytesInTurn?.(bytes);
  };

  api.get(
    "/v1/runs",
    {
      config: { access: "read", responseBytes: PAGE_RESPONSE_BYTES },
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
      await hold(reply, db, key, request.params.id);
      const run = await findRun(db, key);
      if (!run) throw runNotFound(request.params.id);
      return reply.type(JSON_TYPE).send(jsonText(await show(request, db, key, run)));
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
        description: "Cancels a run that has not ended. A worker that is executing it is notified.",
        operationId: "cancelRun",
        params: RunPath,
        response: replies({ 200: Run }, "NOT_FOUND", "INVALID_STATE"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const key = keyOf(workspaceId, request.params.id);
      await hold(reply, db, key, request.params.id);
      const { run, leaseId, enqueued, withdrawn } = await cancelRun(db, { audit, ids }, requestActor(request), key);
      if (leaseId !== null) aborter.abortRun(key.id, leaseId);
      // The next run of a workflow with a limit may begin.
      const freed = leaseId === null ? [] : [{ workspaceId, laneId: run.lane_id }];
      // Any node may be claiming a call whose lease is not known.
      for (const call of withdrawn) aborter.abortJob(call.id, call.leaseId ?? NO_LEASE);
      if (enqueued.length + freed.length > 0) waker.wakeWorkflows([...enqueued, ...freed]);
      return reply.type(JSON_TYPE).send(jsonText(await show(request, db, key, run)));
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
          "Resumes a failed or cancelled run from its journal, with fresh attempts. Completed steps are kept, and the failures that ended " +
          "the run are forgotten, so that these steps are executed again. A run that waits for other code is tried again, with any version. " +
          "It does not count as another execution.",
        operationId: "retryRun",
        params: RunPath,
        response: replies({ 200: Run }, "NOT_FOUND", "INVALID_STATE"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const key = keyOf(workspaceId, request.params.id);
      await hold(reply, db, key, request.params.id);
      const { run, lane } = await retryRun(db, audit, requestActor(request), key);
      waker.wakeWorkflows([lane]);
      return reply.type(JSON_TYPE).send(jsonText(await show(request, db, key, run)));
    },
  );
}
