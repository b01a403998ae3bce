import { setImmediate } from "node:timers/promises";
import { type Claim, claimAcrossWorkspaces, type EnqueueEngine, findHeldAcrossWorkspaces, type StartedJob } from "#jobs";
import {
  type Db,
  isAway,
  type JobId,
  RoundRobinQueue,
  type StallTolerantTimeout,
  setStallTolerantTimeout,
  type WorkspaceId,
} from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { AttemptTicker } from "./attempt-ticker.ts";
import { CancelTombstones } from "./cancel-tombstones.ts";
import { ClaimReconciler } from "./claim-reconciler.ts";
import { ClaimsUnderWay } from "./claims-under-way.ts";
import { deliver } from "./deliver.ts";
import { AttemptFinisher, type FinisherOptions } from "./finish.ts";
import { HeldMemory } from "./held-memory.ts";
import type { AttemptResult } from "./judge.ts";
import type { Attempt, JobKinds } from "./kinds.ts";
import { type AttemptShares, type LaneShare, LaneShares } from "./lane-shares.ts";
import { LaneTimers } from "./lane-timers.ts";
import type { NodeLease } from "./leases/node-lease.ts";
import { PulledLanes } from "./pulled-lanes.ts";
import { recordsOf } from "./report-changes.ts";

export interface DispatcherOptions extends FinisherOptions {
  readonly claims: Db;
  readonly lease: Pick<NodeLease, "heldBy">;
  readonly kinds: JobKinds;
  readonly shares: AttemptShares;
  /** Jobs wait in these lanes: other nodes should look for them. With `served` "pull", they look only for the workers that poll them. */
  readonly onWaiting: (lanes: Iterable<LaneKey>, served?: "pull") => void;
  /** The same for workers that poll this node. */
  readonly onPulled?: (lanes: readonly LaneKey[]) => void;
}

interface AttemptUnderWay {
  readonly claim: Claim;
  readonly attempt: Attempt;
}

/**
 * How many attempts of a claim start in one turn of the event loop. Its workspaces take turns. Each takes 0.1 to 0.2 ms, and may open a
 * connection.
 */
const STARTS_IN_A_TURN = 16;
const PAUSE_AFTER_FAILURE_MS = 250;
/**
 * How long a workspace waits while a claim that does not include it is under way. After that it gets a claim of its own beside it. Most
 * claims take 1 to 3 ms, and one claim for all workspaces is cheaper. Milliseconds.
 */
const BESIDE_AFTER_MS = 5;

/**
 * Claims jobs for this node and takes each through one attempt: claim, deliver, judge, settle. An aborted attempt releases its job,
 * which changes nothing if the job is gone or under another lease by then.
 */
export class Dispatcher implements EnqueueEngine {
  readonly #options: DispatcherOptions;
  readonly #lanes: LaneShares;
  readonly #finisher: AttemptFinisher;
  readonly #attempts = new Map<JobId, AttemptUnderWay>();
  readonly #cancelled = new CancelTombstones();
  readonly #pulled = new PulledLanes();
  readonly #laneTimers = new LaneTimers((lane) => this.wake([lane], "node"));
  readonly #ticker = new AttemptTicker({
    enforceDeadlines: (stalledMs) => {
      for (const { deliverer } of this.#options.kinds) deliverer.enforceDeadlines(stalledMs);
    },
    onTick: () => {
      this.#lanes.widen(this.#nowMs);
      this.#claimSoon();
      return this.#attempts.size > 0;
    },
  });
  #claiming = false;
  readonly #underWay = new ClaimsUnderWay();
  /** A claim beside the one under way, for workspaces that the other does not include. */
  #beside: Promise<void> | undefined;
  #besideTimer: NodeJS.Timeout | undefined;
  /** Jobs of unknown claims are being released. No claim begins in the meantime. */
  #reconciling = false;
  /** Jobs whose write may start them eagerly, with the value of `CancelTombstones.now` when it was sent. */
  readonly #expected = new Map<JobId, number>();
  readonly #reconciler = new ClaimReconciler(() => this.#claimSoon());
  #again = false;
  #draining = false;
  #ended = false;
  #retryTimer: NodeJS.Timeout | undefined;
  /** While this is set, the node lacks what attempts need. It claims nothing, and leaves the jobs to other nodes. */
  #shortage: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#lanes = new LaneShares(options.shares);
    this.#finisher = new AttemptFinisher(
      options,
      (lanes) => this.wake(lanes),
      (claim) => this.#settled(claim),
    );
  }

  get inFlight(): number {
    return this.#attempts.size;
  }

  get leaseId(): number | null {
    return this.#draining || this.#shortage ? null : this.#options.lease.heldBy;
  }

  roomFor(workspaceId: WorkspaceId): number {
    return Math.min(this.room(), this.#lanes.eagerRoomFor(workspaceId));
  }

  room(): number {
    // The second half of the capacity is left to claims, which share it out. Until then no job is overtaken, since none waits in the job's
    // lane.
    return this.leaseId === null ? 0 : Math.floor(this.#options.shares.deliverySlots.capacity / 2) - this.#lanes.inFlight;
  }

  take(jobs: StartedJob[]): void {
    for (const { workspaceId, leaseId, inserted, input } of jobs) {
      this.#startIfStillHeld(this.#expected.get(input.id) ?? this.#cancelled.now, {
        workspaceId,
        laneId: inserted.laneId,
        id: input.id,
        kind: "queue",
        leaseId,
        attempt: 1,
        attempts: inserted.attempts,
        spared: 0,
        backoffDelayMs: inserted.backoffDelayMs,
        payload: input.payload,
        tag: input.tag,
        concurrencyKey: null,
        createdAt: inserted.createdAt,
        startedAt: inserted.createdAt,
        schedule: null,
        scheduledFor: null,
        traceparent: input.trace?.traceparent ?? null,
        tracestate: input.trace?.tracestate ?? null,
        revision: inserted.revision,
        probe: null,
        limited: false,
      });
    }
  }

  async expecting<Outcome>(ids: readonly JobId[], write: () => Promise<Outcome[]>): Promise<Outcome[]> {
    for (const id of ids) this.#expected.set(id, this.#cancelled.now);
    try {
      const outcomes = await write();
      // If a write has several steps, the response to one of them may be lost.
      if (ids.length > 0 && outcomes.some((outcome) => outcome instanceof Error && isAway(outcome))) this.#reconciler.raise();
      return outcomes;
    } catch (error) {
      if (ids.length > 0) this.#reconciler.raise();
      throw error;
    } finally {
      for (const id of ids) this.#expected.delete(id);
    }
  }

  wake(lanes: Iterable<LaneKey>, within?: "node" | undefined): void {
    const woken = [...lanes];
    for (const lane of woken) this.#lanes.wake(lane);
    this.#claimSoonFor(woken);
    this.#options.onPulled?.(woken);
    if (within !== "node") this.#options.onWaiting(woken);
  }

  wakePulled(lanes: readonly LaneKey[]): void {
    this.#options.onPulled?.(lanes);
    this.#options.onWaiting(lanes, "pull");
  }

  wakeWorkflows(lanes: readonly LaneKey[]): void {
    const { pulled = [], others = [] } = Object.groupBy(lanes, (lane) => (this.#pulled.hasRecent(lane, this.#nowMs) ? "pulled" : "others"));
    if (pulled.length > 0) this.wakePulled(pulled);
    if (others.length > 0) this.wake(others);
  }

  get #nowMs(): number {
    return this.#options.clock.elapsedMs();
  }

  /** Whether the next claims try this lane already. */
  expects(lane: LaneKey): boolean {
    return this.#lanes.isReady(lane);
  }

  /**
   * An attempt is settled. Another job of a lane with limits or keys may start: here, or elsewhere if this node has no room, or if workers serve
   * the lane by now.
   */
  #settled(claim: Claim): void {
    const frees = this.#lanes.settled(claim) || claim.limited || claim.concurrencyKey !== null;
    if (!frees) return;
    const staysHere = this.leaseId !== null && this.#lanes.hasRoom(claim) && !this.#pulled.has(claim);
    this.wake([claim], staysHere ? "node" : undefined);
  }

  /** Whether the latest claim of this node from a lane that workers serve has found limits. All nodes claim from a lane whose settings change. */
  isLimited(lane: LaneKey): boolean {
    return this.#pulled.isLimited(lane);
  }

  wakeAt(ms: number): void {
    this.#options.onDueAt(ms);
  }

  /** Aborts the attempt of a cancelled job, if it is under way here. */
  abort(id: JobId): void {
    this.#cancelled.add(id, this.#options.clock.elapsedMs());
    this.#attempts.get(id)?.attempt.abort();
  }

  /** Aborts the attempts of a deleted lane. */
  abortLane(laneId: LaneId): void {
    this.#cancelled.add(laneId, this.#options.clock.elapsedMs());
    for (const { claim, attempt } of this.#attempts.values()) if (claim.laneId === laneId) attempt.abort();
  }

  /** Aborts the attempts of a deleted workspace. */
  abortWorkspace(workspaceId: WorkspaceId): void {
    this.#cancelled.add(workspaceId, this.#options.clock.elapsedMs());
    for (const { claim, attempt } of this.#attempts.values()) if (claim.workspaceId === workspaceId) attempt.abort();
  }

  abortAll(): void {
    for (const { attempt } of this.#attempts.values()) attempt.abort();
  }

  /** Aborts all attempts and starts no more: jobs that a claim under way brings are released. */
  endAttempts(): void {
    this.#ended = true;
    this.abortAll();
  }

  /** Stops claiming, for good. */
  stopClaiming(): void {
    this.#draining = true;
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#besideTimer);
    clearTimeout(this.#shortage);
    this.#reconciler.stop();
    this.#laneTimers.clear();
  }

  /** Waits until no attempt is under way, for at most `seconds`. */
  async idle(seconds: number): Promise<void> {
    if (this.#isIdle) return;
    let timer: StallTolerantTimeout | undefined;
    await new Promise<void>((resolve) => {
      this.#onIdle.push(resolve);
      timer = setStallTolerantTimeout(resolve, seconds * 1000);
    });
    timer?.clear();
  }

  /** These lanes may have jobs, or room for more. */
  #claimSoonFor(lanes: readonly LaneKey[]): void {
    this.#claimSoon();
    if (lanes.some(({ workspaceId }) => !this.#underWay.has(workspaceId))) this.#claimBesideSoon();
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
      this.#claimFailed(error);
    } finally {
      this.#claiming = false;
      this.#reportIdle();
    }
  }

  #claimFailed(error: unknown): void {
    this.#options.emit("claim_failed", { error });
    this.#reconciler.raise();
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => this.#claimSoon(), PAUSE_AFTER_FAILURE_MS);
  }

  #claimBesideSoon(): void {
    if (this.#underWay.size === 0 || this.#beside || this.#draining) return;
    this.#besideTimer ??= setTimeout(() => {
      this.#besideTimer = undefined;
      this.#beside ??= this.#claimBeside().finally(() => {
        this.#beside = undefined;
        this.#claimSoon();
        this.#reportIdle();
      });
    }, BESIDE_AFTER_MS);
  }

  /** Claims for workspaces that the claim under way does not include, until that claim has ended or they have no more jobs. */
  async #claimBeside(): Promise<void> {
    try {
      while (this.#claiming && this.#underWay.size > 0 && !this.#reconciling) {
        const { leaseId } = this;
        const shares = leaseId === null ? [] : this.#nextShares();
        if (leaseId === null || shares.length === 0) return;
        await this.#claimShares(leaseId, shares);
      }
    } catch (error) {
      this.#claimFailed(error);
    }
  }

  /** Makes one claim from lanes that have room and work. Returns whether there were any: if so, other lanes may not have had their turn. */
  async #claimOnce(): Promise<boolean> {
    const { leaseId } = this;
    if (leaseId === null) return false;
    if (this.#reconciler.takeDue()) await this.#releaseUnknown(leaseId);
    const shares = this.#nextShares();
    if (shares.length === 0) return false;
    await this.#claimShares(leaseId, shares);
    return true;
  }

  #nextShares(): LaneShare[] {
    return this.#lanes.shares(this.#options.clock.elapsedMs(), this.#underWay);
  }

  async #claimShares(leaseId: number, shares: readonly LaneShare[]): Promise<void> {
    this.#underWay.begin(shares);
    try {
      for (const limited of [false, true]) {
        const group = shares.filter(({ lane }) => lane.limited === limited);
        if (group.length > 0) await this.#claimFrom(leaseId, group, limited);
      }
    } catch (error) {
      this.#lanes.claimFailed(shares);
      throw error;
    } finally {
      this.#underWay.end(shares);
    }
  }

  /** Claims from lanes that all have limits, or all have none. */
  async #claimFrom(leaseId: number, shares: readonly LaneShare[], limited: boolean): Promise<void> {
    const sent = this.#cancelled.now;
    const lanes = shares.map(({ lane: { workspaceId, laneId }, take }) => ({ workspaceId, laneId, take }));
    const { claims, found } = await claimAcrossWorkspaces(this.#options.claims, { leaseId, served: "push" }, lanes, limited);
    const brought = new Map<LaneId, { jobs: number; payloadLength: number }>();
    const held = new Set<LaneId>();
    const line = new RoundRobinQueue<Claim>();
    for (const claim of claims) line.add(claim);
    let starts = 0;
    for (const claim of line.inTurns()) {
      if (starts > 0 && starts % STARTS_IN_A_TURN === 0) await setImmediate();
      starts += 1;
      if (claim.limited || claim.concurrencyKey !== null) held.add(claim.laneId);
      const { jobs, payloadLength } = brought.get(claim.laneId) ?? { jobs: 0, payloadLength: 0 };
      brought.set(claim.laneId, { jobs: jobs + 1, payloadLength: payloadLength + claim.payload.length });
      this.#startIfStillHeld(sent, claim);
    }
    const foundOf = new Map(found.map((one) => [one.laneId, one]));
    for (const share of shares) {
      const { lane } = share;
      const { limited: isLimited, opensInMs, isPulled } = foundOf.get(lane.laneId) ?? { limited, opensInMs: null, isPulled: false };
      if (isPulled) this.#pulled.add(lane.laneId, { foundMs: this.#nowMs, limited: isLimited });
      else this.#pulled.delete(lane.laneId);
      if (isLimited !== limited) this.#lanes.passedOver(lane);
      if (opensInMs !== null && !this.#draining) this.#laneTimers.expect(lane, opensInMs);
      const { jobs, payloadLength } = brought.get(lane.laneId) ?? { jobs: 0, payloadLength: 0 };
      this.#lanes.claimed(share, jobs, payloadLength);
      // There may be more jobs, and other nodes that found nothing before do not know about them.
      if (jobs === share.take && held.has(lane.laneId) && !this.#lanes.hasRoom(lane)) this.#options.onWaiting([lane]);
    }
  }

  /**
   * Releases jobs that this node holds without knowing it. No claim is under way in the meantime. The known jobs are read after the
   * response, so that none of them is released.
   */
  async #releaseUnknown(leaseId: number): Promise<void> {
    const { db, settler } = this.#options;
    this.#reconciling = true;
    try {
      await this.#beside;
      const held = await findHeldAcrossWorkspaces(db, leaseId);
      const unknown = held.filter((claim) => !this.#attempts.has(claim.id) && !settler.isSettling(claim) && !this.#expected.has(claim.id));
      for (const claim of unknown) this.#finisher.release(claim);
    } finally {
      this.#reconciling = false;
    }
  }

  /** During a claim its job can be cancelled (I4), its lease lost (I3), and all attempts ended. Then the job is released without an attempt. */
  #startIfStillHeld(sent: number, claim: Claim): void {
    const held = !this.#ended && this.#options.lease.heldBy === claim.leaseId;
    if (held && !this.#cancelled.holds(claim, sent)) this.#start(claim);
    else this.#finisher.release(claim);
  }

  #start(claim: Claim): void {
    const { clock, kinds, emit } = this.#options;
    const startedMs = clock.elapsedMs();
    const memory = new HeldMemory(claim, this.#lanes);
    const attempt = deliver(kinds, claim, memory, emit);
    this.#attempts.set(claim.id, { claim, attempt });
    this.#lanes.started(claim, startedMs, claim.payload.length);
    this.#finisher.started(claim);
    this.#options.report?.(claim.workspaceId, recordsOf(claim.kind));
    this.#ticker.start();
    void attempt.result.then((result) => this.#finish(claim, result, startedMs, memory));
  }

  #finish(claim: Claim, result: AttemptResult, startedMs: number, memory: HeldMemory): void {
    const { clock, emit } = this.#options;
    const nowMs = clock.elapsedMs();
    const tookMs = nowMs - startedMs;
    this.#attempts.delete(claim.id);
    this.#lanes.ended(claim, nowMs, memory.end());
    const outcome = this.#finisher.finish(claim, result, tookMs);
    if (result.kind === "postponed" && result.shortage) this.#pause(result.waitMs);
    emit("attempt_ended", { jobId: claim.id, attempt: claim.attempt, outcome, tookMs, inFlight: this.#attempts.size });
    this.#claimSoonFor([claim]);
    this.#reportIdle();
  }

  #pause(ms: number): void {
    if (this.#draining) return;
    this.#shortage ??= setTimeout(() => {
      this.#shortage = undefined;
      this.#claimSoon();
    }, ms);
  }

  get #isIdle(): boolean {
    return this.#attempts.size === 0 && !this.#claiming && !this.#beside;
  }

  #reportIdle(): void {
    if (!this.#isIdle) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
