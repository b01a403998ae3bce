import type { VersionFilter, WorkerClaim } from "#jobs";
import type { Uuid, WorkspaceId } from "#kernel";
import type { LaneKey, LaneKind } from "#lanes";
import type { BegunRun } from "#workflows";
import type { KnownWorker } from "./known-worker.ts";

/** A lane that workers ask this node for. */
export interface PolledLane extends LaneKey {
  readonly kind: LaneKind;
  /** The name of its queue, or the id of its workflow. */
  readonly name: string;
  /** Of a workflow: the version of the code for which its runs are asked. Empty: none. */
  readonly version: string;
  /** Which runs its last claim was for. Null: all. */
  filter: VersionFilter | null;
  /** Polls that wait for its jobs, oldest first. */
  readonly polls: Set<Poll>;
  /** Whether jobs may be claimable. */
  mayHaveJobs: boolean;
  /** Grows with every wake-up, so that one during a claim is not lost when the claim finds nothing. */
  wakes: number;
  /** Whether it had limits when it was last claimed from. */
  limited: boolean;
  /** Whether its last claim brought all that was asked for: there are probably more. */
  hasBacklog: boolean;
  /** Mean length of the payloads that the last claim brought. Null before the first. */
  payloadLength: number | null;
  /** Since when claims have found it, or jobs of it, held by other transactions. Null: the last one has not. Milliseconds of the elapsed clock. */
  busySinceMs: number | null;
  /** When its queue was looked up. Milliseconds of the elapsed clock. */
  foundMs: number;
  timer: NodeJS.Timeout | undefined;
}

/** A worker's request for jobs. */
export interface PollRequest {
  readonly worker: KnownWorker;
  /** The key that it was sent with. Null: none, but by a person. */
  readonly keyId: Uuid | null;
  readonly lanes: readonly PolledLane[];
  readonly limit: number;
  readonly leaseSeconds: number;
  /** The name of the call. */
  readonly request: string | null;
  readonly waitMs: number;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
  /** Counts what its response will hold, by the request's workspace. Bytes. */
  readonly hold: (bytes: number) => void;
}

/** A job for a worker. Of a run, with its execution if that has begun. */
export type TakenJob = WorkerClaim & { readonly begun?: BegunRun };

/** What a request for jobs has led to. */
export interface PollResult {
  readonly claims: readonly TakenJob[];
  /** When the claim of these jobs was sent, or that there are none was known. Milliseconds of the elapsed clock. */
  readonly askedMs: number;
}

/** A request for jobs that waits. */
export class Poll {
  readonly asked: PollRequest;
  readonly workspaceId: WorkspaceId;
  readonly result = Promise.withResolvers<PollResult>();
  /** Whether a claim under way, or a write that starts runs, may bring jobs for it. */
  claiming = false;
  /** It has waited long enough. */
  overdue: boolean;
  ended = false;
  /** Those that end together with it. */
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
