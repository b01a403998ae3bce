import type { KeyObject } from "node:crypto";
import type { Db } from "#kernel";
import { createLaneCache, type LaneCache } from "#lanes";
import { type AddressGuard, signingKey } from "#outbound";
import { findWorkflowsAcrossWorkspaces, type Workflow } from "#workflows";

/** Where and how executions of a workflow are sent. */
export interface WorkflowEndpoint {
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
export type WorkflowEndpoints = LaneCache<WorkflowEndpoint>;

export const workflowEndpoints = (db: Db, guard: Pick<AddressGuard, "refusesHost">): WorkflowEndpoints =>
  createLaneCache({
    find: (lanes) => findWorkflowsAcrossWorkspaces(db, lanes),
    make: (workflow) => endpointOf(workflow, guard),
  });

function endpointOf(workflow: Workflow, guard: Pick<AddressGuard, "refusesHost">): WorkflowEndpoint | null {
  if (workflow.endpoint_url === null || workflow.endpoint_secret === null) return null;
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
}
