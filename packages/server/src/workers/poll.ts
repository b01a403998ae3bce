import type { VersionFilter, WorkerClaim } from "#jobs";
import type { Uuid, WorkspaceId } from "#kernel";
import type { LaneKey, LaneKind } from "#lanes";
import type { BegunRun } from "#workflows";
import type { KnownWorker } from "./known-worker.ts";

/** A lane that workers poll on this node. */
export interface PolledLane extends LaneKey {
  readonly kind: LaneKind;
  /** The name of its queue, or the id of its workflow. */
  readonly name: string;
  /** The version of the code with which workers poll for a workflow's runs. Empty: none. */
  readonly version: string;
  /** Which runs its last claim was for. Null: all. */
  filter: VersionFilter | null;
  /** Polls that wait for its jobs, oldest first. */
  readonly polls: Set<Poll>;
  /** Whether jobs may be claimable. */
  mayHaveJobs: boolean;
  /** Number of wake-ups, so that a wake-up during a claim is not lost when the claim finds nothing. */
  wakes: number;
  /** Whether it had limits when it was last claimed from. */
  limited: boolean;
  /** Whether its last claim brought as many jobs as requested: there are probably more. */
  hasBacklog: boolean;
  /** Mean length of the payloads that the last claim brought. Null before the first. */
  payloadLength: number | null;
  /**
   * Since when claims have found the lane, or jobs of it, locked by other transactions. Null: the last claim has not. Milliseconds of the
   * elapsed clock.
   */
  busySinceMs: number | null;
  /** When its queue was looked up. Milliseconds of the elapsed clock. */
  foundMs: number;
  timer: NodeJS.Timeout | undefined;
}

/** A worker's request for jobs. */
export interface PollRequest {
  readonly worker: KnownWorker;
  /** The key that the request was sent with. Null: a person sent it, without a key. */
  readonly keyId: Uuid | null;
  readonly lanes: readonly PolledLane[];
  readonly limit: number;
  readonly leaseSeconds: number;
  /** The name of the call. */
  readonly request: string | null;
  readonly waitMs: number;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
  /** Counts the memory that its response will hold for the request's workspace. Bytes. */
  readonly hold: (bytes: number) => void;
}

/** A job for a worker. A run has its execution, if that has begun. */
export type TakenJob = WorkerClaim & { readonly begun?: BegunRun };

/** What a request for jobs has led to. */
export interface PollResult {
  readonly claims: readonly TakenJob[];
  /** When the claim of these jobs was sent, or when it was known that there are none. Milliseconds of the elapsed clock. */
  readonly askedMs: number;
}

/** A waiting request for jobs. */
export class Poll {
  readonly asked: PollRequest;
  readonly workspaceId: WorkspaceId;
  readonly result = Promise.withResolvers<PollResult>();
  /** Whether a claim under way, or a write that starts runs, may bring jobs for it. */
  claiming = false;
  /** Whether it has waited long enough. */
  overdue: boolean;
  ended = false;
  /** The polls that end together with this one. */
  group: Set<Poll> | undefined;

  constructor(asked: PollRequest) {
    this.asked = asked;
    this.workspaceId = asked.worker.workspaceId;
    this.overdue = asked.waitMs === 0;
  }

  /** Whether one of its lanes may have jobs. */
  get hasProspects(): boolean {
    return this.asked.lanes.some((lane) => lane.mayHaveJobs);
  }
}
