import { FEW, LIST, type Order, PAYLOAD, TAKEN } from "./client-orders.ts";
import type { BenchNode } from "./environment.ts";

/** A request and its response, as they are between a client and a node, and how many jobs they are about. */
export interface Bodies {
  readonly jobs: number;
  readonly request: object;
  readonly response: object;
}

interface TakenJobs {
  readonly jobs: readonly { readonly id: string; readonly lease_token: string }[];
}

/** Has a node respond to each kind of request once. */
export async function sampleBodies(node: BenchNode): Promise<Record<Order["kind"], Bodies>> {
  const queue = "bare-bodies";
  await node.api("POST", "/v1/queues", { name: queue });
  const enqueue = async (jobs: number): Promise<Bodies> => {
    const request = { jobs: Array.from({ length: jobs }, () => ({ payload: PAYLOAD })) };
    return { jobs, request, response: await node.api("POST", `/v1/queues/${queue}/jobs/batch`, request) };
  };
  const [few, many] = [await enqueue(FEW), await enqueue(LIST)];
  await enqueue(2 * TAKEN);
  const work = async (settle: TakenJobs) => {
    const outcomes = settle.jobs.map(({ id, lease_token }) => ({ id, lease_token, outcome: "completed" }));
    const request = { worker: "bare", lease: 30, queues: [queue], limit: TAKEN, settle: outcomes };
    return { jobs: TAKEN, request, response: await node.api<TakenJobs>("POST", "/v1/work", request) };
  };
  const first = await work({ jobs: [] });
  const sample = await work(first.response);
  // Nothing is left to expire.
  for (let left = sample.response; left.jobs.length > 0; ) left = (await work(left)).response;
  return { enqueue: few, enqueueMany: many, work: sample };
}
