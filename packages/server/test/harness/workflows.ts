import { randomUUID } from "node:crypto";
import type { Run, Settled, TakenRun, WorkResponse } from "@tidemill/contract";
import type { Service } from "./service.ts";

/** A workflow of a test, with the calls of its worker. */
export interface TestWorkflow {
  readonly id: string;
  /** Starts a run. Returns its id. */
  trigger(body?: object): Promise<string>;
  work(body: object): Promise<WorkResponse>;
  /** Takes one run, which must come. */
  take(more?: object): Promise<TakenRun>;
  end(run: TakenRun, outcome: object): Promise<Settled>;
  get(runId: string): Promise<Run>;
}

/** Registers a workflow. */
export async function putWorkflow(service: Service, settings: object = {}): Promise<TestWorkflow> {
  const id = `wf-${randomUUID().slice(0, 8)}`;
  await service.ok("PUT", `/v1/workflows/${id}`, settings);
  const work = (body: object): Promise<WorkResponse> => service.ok("POST", "/v1/work", { worker: "w1", queues: [], ...body });
  return {
    id,
    work,
    trigger: async (body = {}) => (await service.ok("POST", `/v1/workflows/${id}/trigger`, body)).runIds[0],
    async take(more = {}) {
      const [run] = (await work({ workflows: [id], wait: 10, ...more })).runs;
      if (!run) throw new Error("There was no run to take.");
      return run;
    },
    end: async (run, outcome) =>
      (await work({ settle: [{ id: run.runId, lease_token: run.lease_token, ...outcome }] })).settled[0] as Settled,
    get: (runId) => service.ok("GET", `/v1/runs/${runId}`),
  };
}
