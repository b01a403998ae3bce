import {
  CreateQueue,
  ListedQueue,
  ListQueues,
  Page,
  PatchQueue,
  type QueueMetrics,
  QueuePath,
  QueueWithMetrics,
  QueueWithSecret,
} from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import type { Static } from "typebox";
import {
  type Api,
  actorOf,
  noContent,
  openNumber,
  PAGE_END,
  type Principal,
  principalOf,
  readPage,
  replies,
  requireConfirmedPerson,
  routeDefaults,
  sealNumber,
} from "#http";
import { readLaneMetrics } from "#jobs";
import { cutPage, PAGE_RESPONSE_BYTES, SharedReads, type Tenants } from "#kernel";
import { type Aborter, type LaneId, queueNotFound, type Waker } from "#lanes";
import { readCursorKey } from "#workspaces";
import { createQueue } from "./create.ts";
import { deleteQueue } from "./delete.ts";
import { patchQueue } from "./patch.ts";
import { type Queue, type QueueActor, type QueueContext, showQueue } from "./queue.ts";
import { readIncluded } from "./read-included.ts";
import { readCircuit } from "./show-circuit.ts";
import { findQueue, listQueues } from "./store.ts";

export interface QueueRoutes extends QueueContext {
  readonly tenants: Tenants;
  readonly waker: Waker;
  readonly aborter: Aborter;
  /** Called after a change of a queue's `concurrency_per_key`: slots of its keys must be reassigned. */
  readonly onKeyLimitChanged: () => void;
}

const { tags, security } = routeDefaults("Queues");

/** The queue endpoints of the specification. */
export function mountQueues(api: Api, { tenants, waker, aborter, onKeyLimitChanged, ...context }: QueueRoutes): void {
  /** Counting a million jobs is slow, so requests that come at the same time share one count. */
  const metrics = new SharedReads<Static<typeof QueueMetrics>>();
  const withSecret = ({ queue, secret }: { queue: Queue; secret: string | null }, principal: Principal) => ({
    ...showQueue(queue, principal),
    ...(secret !== null && { callback_secret: secret }),
  });

  api.get(
    "/v1/queues",
    {
      config: { access: "read", responseBytes: PAGE_RESPONSE_BYTES },
      schema: {
        tags,
        security,
        summary: "List queues",
        description: `Returns the queues of the workspace, newest first. With \`include=metrics\`, with their circuits and metrics. ${PAGE_END}`,
        operationId: "listQueues",
        querystring: ListQueues,
        response: replies({ 200: Page(ListedQueue) }),
      },
    },
    async (request) => {
      const principal = principalOf(request);
      const { workspaceId } = principal;
      const db = tenants.of(workspaceId);
      const cursorKey = await readCursorKey(db, workspaceId);
      const page = readPage(request.query, (cursor) => openNumber(cursorKey, "queues", cursor));
      const found = await listQueues(db, { workspaceId, before: page.after as LaneId | null, limit: page.limit + 1 });
      const { records, next } = cutPage(found, page.limit, ({ id }) => id);
      const included = request.query.include === "metrics" ? await readIncluded(db, workspaceId, records) : null;
      return {
        data: records.map((queue) => ({ ...showQueue(queue, principal), ...included?.(queue) })),
        next_cursor: next && sealNumber(cursorKey, "queues", next),
      };
    },
  );

  api.post(
    "/v1/queues",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Create a queue",
        description:
          "Creates a queue. When the request sets `callback_url`, a callback secret is generated, and only this response contains it. " +
          "`CONFLICT` means that the name is taken, `PLAN_REQUIRED` that the plan has no callbacks.",
        operationId: "createQueue",
        body: CreateQueue,
        response: replies({ 201: QueueWithSecret }, "CONFLICT", "PAYLOAD_TOO_LARGE", "PLAN_REQUIRED"),
      },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const created = await createQueue(tenants.of(principal.workspaceId), context, queueActor(request), request.body);
      return reply.code(201).send(withSecret(created, principal));
    },
  );

  api.get(
    "/v1/queues/:name",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Get a queue with its circuit and metrics",
        description: "Returns the settings of a queue, the state of its circuit breaker, and how many jobs it has in each state.",
        operationId: "getQueue",
        params: QueuePath,
        response: replies({ 200: QueueWithMetrics }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const principal = principalOf(request);
      const { workspaceId } = principal;
      const db = tenants.of(workspaceId);
      const queue = await findQueue(db, workspaceId, request.params.name);
      if (!queue) throw await queueNotFound(db, workspaceId, request.params.name);
      const circuit = await readCircuit(db, queue);
      return {
        ...showQueue(queue, principal),
        circuit,
        metrics: await metrics.read(String(queue.id), () => readLaneMetrics(db, { workspaceId, laneId: queue.id })),
      };
    },
  );

  api.patch(
    "/v1/queues/:name",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Change a queue",
        description:
          "Changes the given settings and leaves the others as they are. Delivery, limits and `paused` change immediately, for waiting jobs " +
          "too. When the request generates a callback secret, the first or a rotated one, only this response contains it.",
        operationId: "patchQueue",
        params: QueuePath,
        body: PatchQueue,
        response: replies({ 200: QueueWithSecret }, "NOT_FOUND", "PAYLOAD_TOO_LARGE", "PLAN_REQUIRED"),
      },
    },
    async (request) => {
      const principal = principalOf(request);
      const db = tenants.of(principal.workspaceId);
      // The response has a secret.
      if (request.body.rotate_callback_secret) requireConfirmedPerson(request);
      const patched = await patchQueue(db, context, queueActor(request), request.params.name, request.body);
      const { workspace_id, id, reassign_after_key } = patched.queue;
      waker.wake([{ workspaceId: workspace_id, laneId: id }]);
      if (reassign_after_key !== null) onKeyLimitChanged();
      return withSecret(patched, principal);
    },
  );

  api.delete(
    "/v1/queues/:name",
    {
      config: { access: "write", confirm: true },
      schema: {
        tags,
        security,
        summary: "Delete a queue",
        description: "Deletes a queue with its jobs and its schedules. Jobs that have not finished are cancelled. This cannot be undone.",
        operationId: "deleteQueue",
        params: QueuePath,
        response: replies({ 204: noContent("The queue is gone.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const actor = queueActor(request);
      aborter.abortLane(await deleteQueue(tenants.of(actor.workspaceId), context, actor, request.params.name));
      return reply.code(204).send();
    },
  );
}

function queueActor(request: FastifyRequest): QueueActor {
  const { workspaceId, plan } = principalOf(request);
  return { workspaceId, plan, actorId: actorOf(request) };
}
