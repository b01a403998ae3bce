import type { WorkerLease } from "#engine";
import type { WorkspaceId } from "#kernel";

/** A worker that this node knows. */
export interface KnownWorker {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly leaseId: number;
  /** The secret that its tokens contain. */
  readonly secret: string;
  /** Digest of the queues and workflows that it asked for when this was last written. Empty: not known. */
  asks: string;
  /** Whether these are being written. */
  isBeingWritten: boolean;
  /** Ids of jobs and runs that were cancelled while it held them, as the API shows them. No response has named them yet. */
  readonly cancelled: Set<string>;
  /** Called when a job is cancelled. */
  readonly onCancelled: Set<() => void>;
}

export const workerOf = ({ workspaceId, name, leaseId, secret }: WorkerLease): KnownWorker => ({
  workspaceId,
  name,
  leaseId,
  secret: secret.toString("base64url"),
  asks: "",
  isBeingWritten: false,
  cancelled: new Set(),
  onCancelled: new Set(),
});
