import type { KeyObject } from "node:crypto";
import type { Db } from "#kernel";
import { LaneCache, readTogether } from "#lanes";
import { type AddressGuard, signingKey } from "#outbound";
import { findWorkflowsAcrossWorkspaces } from "#workflows";

/** Where and how executions of a workflow are sent. */
export interface Endpoint {
  readonly revision: number;
  readonly workflow: string;
  /** The current version of the code. */
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

/** The endpoints of workflows. Null for a workflow without an `endpoint_url`. */
export type Endpoints = LaneCache<Endpoint>;

export function endpointsOf(db: Db, guard: Pick<AddressGuard, "refusesHost">): Endpoints {
  const workflows = readTogether((lanes) => findWorkflowsAcrossWorkspaces(db, lanes));
  return new LaneCache(async (lane) => {
    const workflow = await workflows.add(lane);
    if (!workflow || workflow.endpoint_url === null || workflow.endpoint_secret === null) return null;
    const { origin, hostname, pathname, search } = new URL(workflow.endpoint_url);
    return {
      revision: workflow.revision,
      workflow: workflow.name,
      version: workflow.version,
      host: hostname,
      origin,
      path: pathname + search,
      timeoutMs: workflow.endpoint_timeout * 1_000,
      key: signingKey(workflow.endpoint_secret),
      isBlocked: guard.refusesHost(hostname),
    };
  });
}
