import type { KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Claim } from "#jobs";
import type { Batcher, Db } from "#kernel";
import { type LaneId, type LaneKey, readTogether } from "#lanes";
import { type AddressGuard, signingKey } from "#outbound";
import { findWorkflowsAcrossWorkspaces, type Workflow } from "#workflows";

/** Where and how executions of a workflow are sent. */
export interface Endpoint {
  readonly revision: number;
  readonly workflow: string;
  /** Version of the code that is current. */
  readonly version: string | null;
  readonly host: string;
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly timeoutMs: number;
  readonly key: KeyObject;
  /** Whether nothing may be sent to the host. */
  readonly isBlocked: boolean;
}

const MAX_ENDPOINTS = 10_000;

/** Caches the endpoints of workflows. A claim has the revision of its workflow, so that it never uses older settings. */
export class Endpoints {
  readonly #workflows: Batcher<LaneKey, Workflow | null>;
  readonly #guard: Pick<AddressGuard, "refusesHost">;
  readonly #known = new LRUCache<LaneId, Endpoint>({ max: MAX_ENDPOINTS });

  constructor(db: Db, guard: Pick<AddressGuard, "refusesHost">) {
    this.#workflows = readTogether((lanes) => findWorkflowsAcrossWorkspaces(db, lanes));
    this.#guard = guard;
  }

  /** Null when the workflow no longer has an `endpoint_url`. */
  async of({ workspaceId, laneId, revision }: Claim): Promise<Endpoint | null> {
    const known = this.#known.get(laneId);
    if (known && known.revision >= revision) return known;
    const workflow = await this.#workflows.add({ workspaceId, laneId });
    if (!workflow || workflow.endpoint_url === null || workflow.endpoint_secret === null) {
      this.#known.delete(laneId);
      return null;
    }
    const { origin, hostname, pathname, search } = new URL(workflow.endpoint_url);
    const endpoint = {
      revision: workflow.revision,
      workflow: workflow.name,
      version: workflow.version,
      host: hostname,
      origin,
      path: pathname + search,
      timeoutMs: workflow.endpoint_timeout * 1_000,
      key: signingKey(workflow.endpoint_secret),
      isBlocked: this.#guard.refusesHost(hostname),
    };
    this.#known.set(laneId, endpoint);
    return endpoint;
  }
}
