import type { Handler } from "../harness/handler.ts";
import { holderOf } from "../harness/pair.ts";
import type { Service } from "../harness/service.ts";

interface Scene {
  readonly service: Service;
  readonly other: Service;
  /** The lease that holds the job's only attempt so far. */
  readonly handler: Handler;
  readonly job: { readonly id: string; readonly queue: string };
}

/** All that can become of a job that is under way. Each answers a node's service that is left to be asked. */
export const ENDINGS: Record<string, (scene: Scene) => Promise<Service>> = {
  "it succeeds": async ({ service, handler }) => {
    handler.release(200);
    return service;
  },
  "it fails and waits for its next attempt": async ({ service, handler }) => {
    handler.release(500);
    return service;
  },
  "it fails for good": async ({ service, handler }) => {
    handler.release(410);
    return service;
  },
  "its handler breaks the connection off": async ({ service, handler }) => {
    handler.reset();
    return service;
  },
  "it is cancelled": async ({ service, job }) => {
    await service.ok("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`);
    return service;
  },
  "it is cancelled at the node that does not run it": async ({ service, other, job }) => {
    const { rest } = await holderOf(service, other);
    await rest.ok("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`);
    return rest;
  },
  "its node is lost": async ({ service, other }) => {
    const { leaseId, rest } = await holderOf(service, other);
    await rest.database.query("update lease set expires_at = now() - interval '1 second' where id = $1", [leaseId]);
    rest.node.wake();
    return rest;
  },
  "its node stops and gives it back": async ({ service, other }) => {
    const { holder, rest } = await holderOf(service, other);
    await holder.node.stop();
    return rest;
  },
};
