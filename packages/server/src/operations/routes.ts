import {
  ListOperations,
  OPERATION_ACTIONS,
  Operation,
  type OperationAction,
  OperationPath,
  Page,
  StartOperation,
} from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type AuditLog, requestActor } from "#audit";
import { type Api, nextPage, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { invalidState, notFound, type OperationId, type Tenants, type UuidSource, uuidOf } from "#kernel";
import { auditEnd, showOperationId } from "./audit.ts";
import { startOperation } from "./start.ts";
import { endOperation, findOperation, listOperations, type OperationKey, type OperationRow } from "./store.ts";

export interface OperationRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
  /** There is something to execute. */
  readonly onStarted: () => void;
}

const { tags, security } = routeDefaults("Jobs");

const WHAT: Record<OperationAction, { summary: string; description: string }> = {
  retry: {
    summary: "Retry many jobs",
    description: "Moves failed, cancelled and rejected jobs back to `waiting`, with a fresh set of attempts, as a retry of one job does.",
  },
  cancel: {
    summary: "Cancel many jobs",
    description: "Cancels jobs that have not finished, as a cancel of one job does.",
  },
  remove: {
    summary: "Remove many jobs",
    description: "Removes jobs that have finished, which cannot be undone.",
  },
};

/** Changes of many jobs at once. Source: contract §13. */
export function mountOperations(api: Api, { tenants, audit, ids, onStarted }: OperationRoutes): void {
  for (const action of OPERATION_ACTIONS) {
    const { summary, description } = WHAT[action];
    api.post(
      `/v1/jobs/${action}`,
      {
        // A removal cannot be undone: a person who has not just confirmed is asked again.
        config: { access: "write", confirm: action === "remove" },
        schema: {
          tags,
          security,
          summary,
          description: `${description} It changes the jobs that match the filter or have the ids, in the background: \`GET /v1/operations/:id\` says how far it is. \`INVALID_STATE\` means that 10 operations of the workspace are running.`,
          operationId: `${action}Jobs`,
          body: StartOperation,
          response: replies({ 202: Operation }, "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
        },
      },
      async (request, reply) => {
        const actor = requestActor(request);
        const operation = await startOperation(tenants.of(actor.workspaceId), { audit, ids }, actor, action, request.body);
        onStarted();
        return reply.code(202).send(showOperation(operation));
      },
    );
  }

  api.get(
    "/v1/operations",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List operations",
        description: "Returns changes of many jobs, newest first. Those that have ended are listed for 30 days.",
        operationId: "listOperations",
        querystring: ListOperations,
        response: replies({ 200: Page(Operation) }),
      },
    },
    async (request) => {
      const page = readPage(request.query, readOperationId);
      const workspaceId = workspaceOf(request);
      const found = await listOperations(tenants.of(workspaceId), workspaceId, page.after, page.limit + 1);
      const { rows, nextCursor } = nextPage(found, page.limit, ({ id }) => showOperationId(id));
      return { data: rows.map(showOperation), next_cursor: nextCursor };
    },
  );

  api.get(
    "/v1/operations/:id",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Get an operation",
        description: "Returns a change of many jobs, and how far it is.",
        operationId: "getOperation",
        params: OperationPath,
        response: replies({ 200: Operation }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const key = keyOf(request, request.params);
      const operation = await findOperation(tenants.of(key.workspaceId), key);
      if (!operation) throw operationNotFound(request.params);
      return showOperation(operation);
    },
  );

  api.post(
    "/v1/operations/:id/cancel",
    {
      config: { access: "write", emptyBody: true },
      schema: {
        tags,
        security,
        summary: "Cancel an operation",
        description: "Stops an operation. Jobs that it has changed stay as they are. `INVALID_STATE` means that the operation has ended.",
        operationId: "cancelOperation",
        params: OperationPath,
        response: replies({ 200: Operation }, "NOT_FOUND", "INVALID_STATE"),
      },
    },
    async (request) => {
      const key = keyOf(request, request.params);
      const { actorId } = requestActor(request);
      const db = tenants.of(key.workspaceId);
      const cancelled = await db.transaction(async (tx) => {
        const ended = await endOperation(tx, key, "cancelled");
        if (ended) await auditEnd(tx, audit, ended, actorId);
        return ended;
      });
      if (cancelled) return showOperation(cancelled);
      const operation = await findOperation(db, key);
      if (!operation) throw operationNotFound(request.params);
      throw invalidState(operation.state, ["running"]);
    },
  );
}

const readOperationId = (text: string): OperationId | null => uuidOf("op", text) as OperationId | null;

const operationNotFound = ({ id }: OperationPath) => notFound({ resource: "operation", id });

function keyOf(request: FastifyRequest, { id }: OperationPath): OperationKey {
  const read = readOperationId(id);
  if (read === null) throw operationNotFound({ id });
  return { workspaceId: workspaceOf(request), id: read };
}

function showOperation({ workspace_id: _, id, ...operation }: OperationRow): Operation {
  const { action, state, filter, ids, matched, matched_exact, done, skipped, actor_id, created_at, finished_at } = operation;
  return { id: showOperationId(id), action, state, filter, ids, matched, matched_exact, done, skipped, actor_id, created_at, finished_at };
}
