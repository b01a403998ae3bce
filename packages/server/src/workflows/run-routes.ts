import { LIMITS, ListedRun, ListRuns, Page, ReportedSteps, Run, RunPath, type RunStatus, StepsStored } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type AuditLog, requestActor } from "#audit";
import { type Api, PAGE_END, readPage, replies, routeDefaults, runForRequest, workspaceOf } from "#http";
import { cutPage, type Db, invalid, problem, type RunId, type Shares, type Tenants, type UuidSource } from "#kernel";
import { type Aborter, findLane, type PulledWaker, type Waker } from "#lanes";
import type { TextRedactor } from "#redaction";
import { cancelRun } from "./cancel.ts";
import { listRuns } from "./list-runs.ts";
import { keepProgress, readProgress, storeProgress } from "./progress.ts";
import { redactSteps } from "./redact-steps.ts";
import { type ProvenReport, type ProveReport, readSteps, reportSteps } from "./report-steps.ts";
import { retryRun } from "./retry.ts";
import { type RunKey, type RunWithData, readRunId, runNotFound, showListedRun, showRun, showRunId } from "./run.ts";
import { findDetails } from "./run-details.ts";
import { findRun, readJournal } from "./run-store.ts";
import type { StepToInsert } from "./step-store.ts";
import type { StepWriter } from "./step-writer.ts";

export interface RunRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
  readonly waker: Pick<Waker, "wake"> & PulledWaker;
  readonly aborter: Pick<Aborter, "abortRun" | "abortJob">;
  readonly proveReport: ProveReport;
  readonly steps: StepWriter;
  readonly shares: Pick<Shares, "loopTime">;
}

const { tags, security } = routeDefaults("Runs");
/** The id of no lease. */
const NO_LEASE = 0;
const JSON_TYPE = "application/json; charset=utf-8";

/** The endpoints of runs. Source: specification, Signals and runs; contract §11. */
export function mountRuns(api: Api, { tenants, audit, ids, waker, aborter, proveReport, steps, shares }: RunRoutes): void {
  const keyOf = (workspaceId: RunKey["workspaceId"], id: string): RunKey => ({ workspaceId, id: readRunId(id) as RunId });

  /** Searching for secrets takes long, however short an output is. */
  const redacted = (request: FastifyRequest, steps: readonly StepToInsert[], redactor: TextRedactor | null) =>
    redactor
      ? runForRequest(shares.loopTime, request, workspaceOf(request), Number.POSITIVE_INFINITY, redactSteps(steps, redactor))
      : steps;

  /** Stores what a run says of its progress. Returns the number of its steps, or null if the claim no longer holds. */
  const say = async (request: FastifyRequest, key: RunKey, { claim, redactor }: ProvenReport, progress: string): Promise<number | null> => {
    const kept = redactor
      ? await runForRequest(shares.loopTime, request, key.workspaceId, Number.POSITIVE_INFINITY, keepProgress(progress, redactor))
      : progress;
    return storeProgress(tenants.of(key.workspaceId), key, claim, kept);
  };

  const show = async (db: Db, key: RunKey, run: RunWithData): Promise<string> =>
    showRun(run, { steps: await readJournal(db, key), ...(await findDetails(db, key, run)) });

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
      const { run, leaseId, enqueued, withdrawn } = await cancelRun(db, { audit, ids }, requestActor(request), key);
      if (leaseId !== null) aborter.abortRun(key.id, leaseId);
      // One whose lease is not known may be claimed at this moment, by any node.
      for (const call of withdrawn) aborter.abortJob(call.id, call.leaseId ?? NO_LEASE);
      if (enqueued.length > 0) waker.wakeWorkflows(enqueued);
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
      const { run, lane } = await retryRun(db, audit, requestActor(request), key);
      waker.wakeWorkflows([lane]);
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
      const { lease_token, steps: reported = [], progress } = request.body;
      const stored = readSteps(reported, "steps");
      const said = progress === undefined ? null : readProgress(progress);
      if (stored.length === 0 && said === null) throw invalid("steps", "is required, or progress in its place");
      const db = tenants.of(workspaceId);
      const key = keyOf(workspaceId, request.params.id);
      const proven = await proveReport(db, workspaceId, { id: request.params.id, lease_token });
      const journal =
        proven && stored.length > 0
          ? await reportSteps(steps, db, ids, key, proven.claim, await redacted(request, stored, proven.redactor))
          : null;
      if (journal?.lane) waker.wake([journal.lane]);
      const isHeld = proven !== null && (stored.length === 0 || journal !== null);
      // After the steps, so that readers of the run's events see it in this order.
      const progressed = isHeld && said !== null ? await say(request, key, proven, said) : null;
      const count = journal?.steps ?? progressed;
      if (count !== null) return { steps: count };
      throw (await findRun(db, key)) ? problem("LEASE_LOST") : runNotFound(request.params.id);
    },
  );
}
