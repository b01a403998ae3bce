import { type Clock, type Db, type EmitEvent, type JobId, type Random } from "#kernel";
import type { Outlet, StartedJob } from "#jobs";
import type { LaneId } from "#queues";
import type { Claim, LaneKey } from "./claim.ts";
import { Lanes } from "./lanes.ts";
import type { NodeLease } from "./node-lease.ts";
import { type Answer, judge } from "./retry.ts";
import type { Settler } from "./settle.ts";
import { claimAcrossWorkspaces } from "./store.ts";

/** An attempt under way. Answers null when it was aborted. */
export interface Attempt {
  readonly answer: Promise<Answer | null>;
  abort(): void;
}

/** Starts attempts. The dispatcher knows when; this knows how. */
export interface Carrier {
  start(claim: Claim): Attempt;
  /** Ends attempts that take too long. Called every tenth of a second while there are any. */
  sweep(): void;
}

export interface DispatcherOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly lease: Pick<NodeLease, "heldBy">;
  readonly settler: Settler;
  readonly carrier: Carrier;
  readonly capacity: number;
  /** Jobs wait in these lanes: other nodes should know. */
  readonly onWaiting: (lanes: readonly LaneKey[]) => void;
  readonly onDueAt: (ms: number) => void;
}

interface Flight {
  readonly claim: Claim;
  readonly attempt: Attempt;
}

const TICK_MS = 100;
const PAUSE_AFTER_FAILURE_MS = 250;

/** Claims jobs for this node and sees each through one attempt: claim, carry, judge, settle. */
export class Dispatcher implements Outlet {
  readonly #options: DispatcherOptions;
  readonly #lanes: Lanes;
  readonly #flights = new Map<JobId, Flight>();
  #claiming = false;
  #again = false;
  #draining = false;
  #ticker: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #landed: (() => void)[] = [];

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#lanes = new Lanes(options.capacity);
  }

  get inFlight(): number {
    return this.#flights.size;
  }

  get nodeId(): number | null {
    return this.#draining ? null : this.#options.lease.heldBy;
  }

  hasRoom(): boolean {
    // Straight through pays while the node is far from full; past that, the order of claims decides.
    return this.#lanes.inFlight < this.#options.capacity / 8;
  }

  take(jobs: StartedJob[]): void {
    for (const { workspaceId, nodeId, inserted, input } of jobs) {
      this.#start({
        workspaceId,
        laneId: inserted.laneId,
        id: input.id,
        nodeId,
        attempt: 1,
        attempts: inserted.attempts,
        spared: 0,
        backoffDelayMs: inserted.backoffDelayMs,
        payload: input.payload,
        tag: input.tag,
        createdAt: inserted.createdAt,
        startedAt: inserted.createdAt,
        revision: inserted.revision,
      });
    }
  }

  wake(lanes: Iterable<LaneKey>): void {
    const woken = [...lanes];
    this.wakeHere(woken);
    this.#options.onWaiting(woken);
  }

  /** As `wake`, for lanes that other nodes know of already. */
  wakeHere(lanes: Iterable<LaneKey>): void {
    for (const lane of lanes) this.#lanes.wake(lane);
    this.#claimSoon();
  }

  dueAt(ms: number): void {
    this.#options.onDueAt(ms);
  }

  /** Ends the attempt of a job that was cancelled, if it is under way here. */
  abort(id: JobId): void {
    this.#flights.get(id)?.attempt.abort();
  }

  /** Ends the attempts of a lane that is no more. */
  abortLane(laneId: LaneId): void {
    for (const { claim, attempt } of this.#flights.values()) if (claim.laneId === laneId) attempt.abort();
  }

  abortAll(): void {
    for (const { attempt } of this.#flights.values()) attempt.abort();
  }

  /** Claims nothing more. */
  stopClaiming(): void {
    this.#draining = true;
    clearTimeout(this.#retryTimer);
  }

  /** Answers true once no attempt is under way, false when `seconds` pass before. */
  async landed(seconds: number): Promise<boolean> {
    if (this.#flights.size === 0 && !this.#claiming) return true;
    let timer: NodeJS.Timeout | undefined;
    const landed = new Promise<boolean>((resolve) => this.#landed.push(() => resolve(true)));
    const tooLate = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), seconds * 1000);
    });
    return Promise.race([landed, tooLate]).finally(() => clearTimeout(timer));
  }

  #claimSoon(): void {
    if (this.#claiming) {
      this.#again = true;
      return;
    }
    if (this.#draining) return;
    this.#claiming = true;
    void this.#claimUntilFull();
  }

  async #claimUntilFull(): Promise<void> {
    try {
      do {
        this.#again = false;
        while (await this.#claimOnce());
      } while (this.#again && !this.#draining);
    } catch (error) {
      this.#options.emit("claim_failed", { error });
      clearTimeout(this.#retryTimer);
      this.#retryTimer = setTimeout(() => this.#claimSoon(), PAUSE_AFTER_FAILURE_MS);
    } finally {
      this.#claiming = false;
      this.#tellLanded();
    }
  }

  /** One claim over all lanes that have room and work. Answers whether another may bring more. */
  async #claimOnce(): Promise<boolean> {
    const nodeId = this.#options.lease.heldBy;
    if (nodeId === null || this.#draining) return false;
    const shares = this.#lanes.shares(this.#options.clock.elapsedMs());
    if (shares.length === 0) return false;
    const claimed = await claimAcrossWorkspaces(this.#options.db, nodeId, shares.map(({ lane, take }) => ({ ...lane, take })));
    const got = new Map<LaneId, number>();
    for (const row of claimed) {
      got.set(row.lane_id, (got.get(row.lane_id) ?? 0) + 1);
      this.#start({
        workspaceId: row.workspace_id,
        laneId: row.lane_id,
        id: row.id,
        nodeId,
        attempt: row.attempt,
        attempts: row.attempts,
        spared: row.spared,
        backoffDelayMs: row.backoff_delay_ms,
        payload: row.payload,
        tag: row.tag,
        createdAt: row.created_at,
        startedAt: row.started_at,
        revision: row.revision,
      });
    }
    for (const share of shares) this.#lanes.claimed(share, got.get(share.lane.laneId) ?? 0);
    return claimed.length > 0;
  }

  #start(claim: Claim): void {
    const { clock, carrier } = this.#options;
    const startedMs = clock.elapsedMs();
    const attempt = carrier.start(claim);
    this.#flights.set(claim.id, { claim, attempt });
    this.#lanes.started(claim, startedMs);
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS);
    attempt.answer.then(
      (answer) => this.#land(claim, answer, startedMs),
      (error) => {
        this.#options.emit("callback_broke", { jobId: claim.id, error });
        this.#land(claim, { kind: "unreachable", code: "CONNECTION", message: "The callback could not be made." }, startedMs);
      },
    );
  }

  #land(claim: Claim, answer: Answer | null, startedMs: number): void {
    const { clock, random, settler, emit } = this.#options;
    const nowMs = clock.elapsedMs();
    this.#flights.delete(claim.id);
    this.#lanes.ended(claim, nowMs);
    if (answer) {
      const verdict = judge(answer, claim, random.fraction());
      const tookMs = nowMs - startedMs;
      emit("attempt_ended", { jobId: claim.id, attempt: claim.attempt, outcome: verdict.kind, tookMs, inFlight: this.#flights.size });
      void settler.add(claim, verdict, tookMs).then(() => {
        if (verdict.kind === "retry") this.dueAt(clock.nowMs() + verdict.waitMs);
        if (verdict.kind === "giveBack") this.wake([claim]);
      });
    }
    this.#claimSoon();
    this.#tellLanded();
  }

  #tick(): void {
    this.#options.carrier.sweep();
    this.#lanes.widen(this.#options.clock.elapsedMs());
    this.#claimSoon();
    if (this.#flights.size > 0) return;
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  #tellLanded(): void {
    if (this.#flights.size > 0 || this.#claiming) return;
    for (const tell of this.#landed.splice(0)) tell();
  }
}
