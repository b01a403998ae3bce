import type * as contract from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";
import { NOTHING } from "../response-shapes.ts";

/** Workers, and the calls that they make. The class `Worker` makes these calls for you. */
export class Workers {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** The workers that called in the last 15 minutes. */
  list(filter: contract.ListWorkers = {}, call?: CallOptions): List<contract.WorkerRecord, contract.ListWorkers> {
    return this.#api.list("/v1/workers", filter, call);
  }

  /** Settles jobs and takes more. With `wait`, pass a `timeoutMs` that is longer than the wait. */
  work(request: contract.WorkRequest, call?: CallOptions): Promise<contract.WorkResponse> {
    return this.#api.post("/v1/work", request, call);
  }

  /** Extends leases. */
  extend(request: contract.ExtendRequest, call?: CallOptions): Promise<contract.ExtendResponse> {
    return this.#api.post("/v1/work/extend", request, call);
  }

  /** Takes jobs of one queue. */
  claim(queue: string, request: contract.ClaimJobs, call?: CallOptions): Promise<contract.WorkResponse> {
    return this.#api.post(pathOf("queues", queue, "jobs", "claim"), request, call);
  }

  complete({ queue, id, lease_token }: HeldJob, result?: unknown, call?: CallOptions): Promise<void> {
    return this.#api.post(
      pathOf("queues", queue, "jobs", id, "complete"),
      { lease_token, ...(result !== undefined && { result }) },
      call,
      NOTHING,
    );
  }

  fail({ queue, id, lease_token }: HeldJob, failure: Omit<contract.FailJob, "lease_token"> = {}, call?: CallOptions): Promise<void> {
    return this.#api.post(pathOf("queues", queue, "jobs", id, "fail"), { lease_token, ...failure }, call, NOTHING);
  }

  /** Extends the lease of one job. */
  heartbeat(
    { queue, id, lease_token }: HeldJob,
    { lease }: Pick<contract.HeartbeatJob, "lease"> = {},
    call?: CallOptions,
  ): Promise<contract.ExtendResponse> {
    return this.#api.post(pathOf("queues", queue, "jobs", id, "heartbeat"), { lease_token, ...(lease !== undefined && { lease }) }, call);
  }
}

/** The fields of a taken job that settling it needs. */
type HeldJob = Pick<contract.TakenJob, "queue" | "id" | "lease_token">;
