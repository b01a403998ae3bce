import type { WorkerLease } from "#engine";
import type { WorkspaceId } from "#kernel";

/** A worker that this node knows. */
export interface KnownWorker {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly leaseId: number;
  /** The secret that its tokens contain. */
  readonly secret: string;
  /** What it has asked for since its calls were last written. */
  asked: AskedFor;
  /** Whether something that it began to ask for is being written. */
  isBeingWritten: boolean;
  /** Ids of jobs and runs that were cancelled while it held them, as the API shows them. No response has named them yet. */
  readonly cancelled: Set<string>;
  /** Called when a job is cancelled. */
  readonly onCancelled: Set<() => void>;
}

/** The names of queues and workflows that a worker asked for. */
export interface AskedFor {
  /** Calls are written once in each period. */
  readonly period: number;
  readonly queues: ReadonlySet<string>;
  readonly workflows: ReadonlySet<string>;
}

export const workerOf = ({ workspaceId, name, leaseId, secret }: WorkerLease): KnownWorker => ({
  workspaceId,
  name,
  leaseId,
  secret: secret.toString("base64url"),
  asked: { period: 0, queues: new Set(), workflows: new Set() },
  isBeingWritten: false,
  cancelled: new Set(),
  onCancelled: new Set(),
});
