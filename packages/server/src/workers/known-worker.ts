import type { WorkerCall, WorkerLease } from "#engine";
import type { WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";

/** A worker that this node knows. */
export interface KnownWorker {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly leaseId: number;
  /** The secret that its tokens contain. */
  readonly secret: string;
  /** The version of its code, as it last said. */
  version: string | null;
  /** The lanes that it asked for lately, with the period in which it last did (`RecentLanes`). */
  readonly asked: Map<LaneId, number>;
  /** Its last call that asked for something new, unless that has been written or is being written. */
  unwritten: SeenCall | null;
  /** Whether something that it began to ask for is being written. */
  isBeingWritten: boolean;
  /** Ids of jobs and runs that were cancelled while it held them, as the API shows them. No response has named them yet. */
  readonly cancelled: Set<string>;
  /** Called when a job is cancelled. */
  readonly onCancelled: Set<() => void>;
}

/** What is recorded of a call beside its lanes. */
export type SeenCall = Pick<WorkerCall, "version" | "seenAt">;

export const workerOf = ({ workspaceId, name, leaseId, secret, version }: WorkerLease): KnownWorker => ({
  workspaceId,
  name,
  leaseId,
  secret: secret.toString("base64url"),
  version,
  asked: new Map(),
  unwritten: null,
  isBeingWritten: false,
  cancelled: new Set(),
  onCancelled: new Set(),
});
