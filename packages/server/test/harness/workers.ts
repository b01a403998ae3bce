import type { Settled, WorkerRecord, WorkResponse } from "@tidemill/contract";
import { type Service, until } from "./service.ts";

/** A job as a worker got it. */
export type Taken = WorkResponse["jobs"][number];

/** Calls as the worker `w1`, with the service's own key. */
export const work = (service: Service, body: object = {}): Promise<WorkResponse> =>
  service.ok("POST", "/v1/work", { worker: "w1", queues: [], ...body });

/** Waits until a worker waits for jobs of a queue that has none, and until no claim for it is under way. */
export async function untilWaiting(service: Service, queue: string): Promise<void> {
  const called = async () => (await service.ok("GET", "/v1/workers")).data.some((one: WorkerRecord) => one.queues.includes(queue));
  await until(called, "the worker to call");
  // This claim comes after the worker's.
  await work(service, { worker: "last", queues: [queue] });
}

export const take = async (service: Service, queue: string, more: object = {}): Promise<Taken[]> =>
  (await work(service, { queues: [queue], ...more })).jobs;

/** Takes one job, which must be there. */
export async function takeOne(service: Service, queue: string, more: object = {}): Promise<Taken> {
  const [job] = await take(service, queue, more);
  if (!job) throw new Error("There was no job to take.");
  return job;
}

export const proofOf = ({ id, lease_token }: Taken) => ({ id, lease_token });

export const settle = async (service: Service, job: Taken, outcome: object): Promise<Settled> =>
  (await work(service, { settle: [{ ...proofOf(job), ...outcome }] })).settled[0] as Settled;
