import { ListWorkflows, Page, PutWorkflow, WorkflowPath, Workflow as WorkflowRecord, WorkflowWithSecret } from "@tidemill/contract";
import { requestActor } from "#audit";
import {
  type Api,
  checkMayServe,
  noContent,
  openNumber,
  PAGE_END,
  principalOf,
  readPage,
  replies,
  requireConfirmedPerson,
  routeDefaults,
  sealNumber,
} from "#http";
import { cutPage, type EmitEvent, type Tenants, tolerate } from "#kernel";
import { type Aborter, type LaneId, laneNotFound, type PulledWaker, type Waker } from "#lanes";
import type { Schedules } from "#schedules";
import { readCursorKey } from "#workspaces";
import { deleteWorkflow } from "./delete.ts";
import { releaseParked } from "./executions/unfit.ts";
import { putWorkflow } from "./put.ts";
import { findWorkflow, listWorkflows } from "./store.ts";
import { showWorkflow, type WorkflowContext } from "./workflow.ts";

export interface WorkflowRoutes extends WorkflowContext {
  readonly tenants: Tenants;
  readonly waker: Waker & PulledWaker;
  readonly aborter: Aborter;
  readonly emit: EmitEvent;
  readonly schedules: Pick<Schedules, "expect" | "putForWorkflow">;
}

const { tags, security } = routeDefaults("Workflows");

/** The endpoints of workflows. Source: contract §11. */
export function mountWorkflows(api: Api, { tenants, waker, aborter, emit, ...context }: WorkflowRoutes): void {
  api.put(
    "/v1/workflows/:name",
    {
      config: { access: "worker" },
      schema: {
        tags,
        security,
        summary: "Register a workflow",
        description:
          "Registers a workflow, or replaces its settings: those that are left out get their defaults. Workers execute its runs, or the " +
          "program at its `endpoint_url`. If the request generates a signing secret, only this response contains it. `PLAN_REQUIRED` means " +
          "that the plan has no callbacks.",
        operationId: "putWorkflow",
        params: WorkflowPath,
        body: PutWorkflow,
        response: replies({ 200: WorkflowWithSecret, 201: WorkflowWithSecret }, "PAYLOAD_TOO_LARGE", "PLAN_REQUIRED"),
      },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { plan } = principal;
      const { name } = request.params;
      checkMayServe(principal, "workflow", name);
      // The response has a secret.
      if (request.body.rotate_endpoint_secret || request.body.endpoint_secret !== undefined) requireConfirmedPerson(request);
      const actor = { ...requestActor(request), plan };
      const { workflow, changed, nextMs, secret } = await putWorkflow(tenants.of(actor.workspaceId), context, actor, name, request.body);
      const lane = { workspaceId: workflow.workspace_id, laneId: workflow.id };
      if (nextMs !== null) context.schedules.expect(nextMs);
      const release = async () => {
        // Programs register at their start: it may be other code now, though it has no version.
        for (const version of new Set(["", workflow.endpoint_url === null ? "" : (workflow.version ?? "")]))
          await releaseParked(tenants.of(actor.workspaceId), lane, version);
      };
      // A repeated request would release them, and not return the secret again. The lane may also have runs of ticks that were due.
      await tolerate(release, (error) => {
        if (secret === null) throw error;
        emit("run_release_failed", { workflow: name, error });
      }).finally(() => waker.wake([lane]));
      return reply
        .code(changed ? 200 : 201)
        .send({ ...showWorkflow(workflow, plan), changed: changed ?? [], ...(secret !== null && { endpoint_secret: secret }) });
    },
  );

  api.get(
    "/v1/workflows",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List workflows",
        description: `Returns the workflows of the workspace, newest first. ${PAGE_END}`,
        operationId: "listWorkflows",
        querystring: ListWorkflows,
        response: replies({ 200: Page(WorkflowRecord) }),
      },
    },
    async (request) => {
      const { workspaceId, plan } = principalOf(request);
      const db = tenants.of(workspaceId);
      const cursorKey = await readCursorKey(db, workspaceId);
      const page = readPage(request.query, (cursor) => openNumber(cursorKey, "workflows", cursor));
      const found = await listWorkflows(db, workspaceId, page.after as LaneId | null, page.limit + 1);
      const { records, next } = cutPage(found, page.limit, ({ id }) => id);
      return {
        data: records.map((workflow) => showWorkflow(workflow, plan)),
        next_cursor: next && sealNumber(cursorKey, "workflows", next),
      };
    },
  );

  api.get(
    "/v1/workflows/:name",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Get a workflow",
        description: "Returns the settings of a workflow.",
        operationId: "getWorkflow",
        params: WorkflowPath,
        response: replies({ 200: WorkflowRecord }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const { workspaceId, plan } = principalOf(request);
      const db = tenants.of(workspaceId);
      const workflow = await findWorkflow(db, workspaceId, request.params.name);
      if (!workflow) throw await laneNotFound(db, workspaceId, "workflow", request.params.name);
      return showWorkflow(workflow, plan);
    },
  );

  api.delete(
    "/v1/workflows/:name",
    {
      config: { access: "write", confirm: true },
      schema: {
        tags,
        security,
        summary: "Delete a workflow",
        description: "Deletes a workflow with its runs. Runs that have not ended are cancelled. This cannot be undone.",
        operationId: "deleteWorkflow",
        params: WorkflowPath,
        response: replies({ 204: noContent("The workflow is gone.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      const lanes = await deleteWorkflow(tenants.of(actor.workspaceId), context, actor, request.params.name);
      for (const lane of lanes) aborter.abortLane(lane);
      return reply.code(204).send();
    },
  );
}
