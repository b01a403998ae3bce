import type { Outlet, StartedJob } from "#jobs";
import type { JobId, WorkspaceId } from "#kernel";
import type { LaneId } from "#queues";
import { type Attempt, type Carrier, carry } from "./carry.ts";
import type { Claim, LaneKey } from "./claim.ts";
import { Doubt } from "./doubt.ts";
import { Landing, type LandingOptions } from "./land.ts";
import { Lanes, MOST_LANES_A_CLAIM, type Share } from "./lanes.ts";
import type { NodeLease } from "./node-lease.ts";
import { Openings } from "./openings.ts";
import { Recalls } from "./recalls.ts";
import type { Answer } from "./retry.ts";
import { claimAcrossWorkspaces, findHeldAcrossWorkspaces } from "./store.ts";

export interface DispatcherOptions extends LandingOptions {
  readonly lease: Pick<NodeLease, "heldBy">;
  readonly carrier: Carrier;
  readonly capacity: number;
  /** Jobs wait in these lanes: other nodes should know. */
  readonly onWaiting: (lanes: readonly LaneKey[]) => void;
}

interface Flight {
  readonly claim: Claim;
  readonly attempt: Attempt;
}

const TICK_MS = 100;
const PAUSE_AFTER_FAILURE_MS = 250;

/**
 * Claims jobs for this node and sees each through one attempt: claim, carry, judge, settle. An attempt that is broken off gives
 * its job back; if the job is gone or somebody else's by then, that moves nothing.
 */
export class Dispatcher implements Outlet {
  readonly #options: DispatcherOptions;
  readonly #lanes: Lanes;
  readonly #landing: Landing;
  readonly #flights = new Map<JobId, Flight>();
  readonly #recalls = new Recalls();
  readonly #openings = new Openings((lane) => this.wakeHere([lane]));
  #claiming = false;
  /** Jobs that are being written straight through now, with what had been recalled when their write was sent. */
  readonly #expected = new Map<JobId, number>();
  readonly #doubt = new Doubt();
  #again = false;
  #draining = false;
  #ticker: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #landed: (() => void)[] = [];

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#lanes = new Lanes(options.capacity);
    this.#landing = new Landing(
      options,
      (lanes) => this.wake(lanes),
      (lane) => this.#wakeFreed(lane),
    );
  }

  get inFlight(): number {
    return this.#flights.size;
  }

  get nodeId(): number | null {
    return this.#draining ? null : this.#options.lease.heldBy;
  }

  room(): number {
    // Of a node that is more than half full the rest is shared out by claims. Up to there nobody is overtaken: in the job's lane nothing waits.
    return this.nodeId === null ? 0 : Math.floor(this.#options.capacity / 2) - this.#lanes.inFlight;
  }

  take(jobs: StartedJob[]): void {
    for (const { workspaceId, nodeId, inserted, input } of jobs) {
      this.#startIfStillHeld(this.#expected.get(input.id) ?? this.#recalls.now, {
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
        concurrencyKey: null,
        createdAt: inserted.createdAt,
        startedAt: inserted.createdAt,
        schedule: null,
        scheduledFor: null,
        revision: inserted.revision,
        probe: null,
        limited: false,
      });
    }
  }

  async expecting<Result>(ids: readonly JobId[], write: () => Promise<Result>): Promise<Result> {
    for (const id of ids) this.#expected.set(id, this.#recalls.now);
    try {
      return await write();
    } catch (error) {
      if (ids.length > 0) this.#doubt.raise(this.#options.clock.elapsedMs());
      throw error;
    } finally {
      for (const id of ids) this.#expected.delete(id);
    }
  }

  wake(lanes: Iterable<LaneKey>): void {
    const woken = [...lanes];
    this.wakeHere(woken);
    this.#options.onWaiting(woken);
  }

  /** Another job of a lane with limits or keys may start: here, or elsewhere if there is no room. */
  #wakeFreed(lane: LaneKey): void {
    if (this.nodeId !== null && this.#lanes.hasRoom(lane)) this.wakeHere([lane]);
    else this.wake([lane]);
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
    this.#recalls.add(id, this.#options.clock.elapsedMs());
    this.#flights.get(id)?.attempt.abort();
  }

  /** Ends the attempts of a lane that is no more. */
  abortLane(laneId: LaneId): void {
    this.#recalls.add(laneId, this.#options.clock.elapsedMs());
    for (const { claim, attempt } of this.#flights.values()) if (claim.laneId === laneId) attempt.abort();
  }

  /** Ends the attempts of a workspace that is no more. */
  abortWorkspace(workspaceId: WorkspaceId): void {
    this.#recalls.add(workspaceId, this.#options.clock.elapsedMs());
    for (const { claim, attempt } of this.#flights.values()) if (claim.workspaceId === workspaceId) attempt.abort();
  }

  abortAll(): void {
    for (const { attempt } of this.#flights.values()) attempt.abort();
  }

  /** Claims nothing more. */
  stopClaiming(): void {
    this.#draining = true;
    clearTimeout(this.#retryTimer);
    this.#openings.clear();
  }

  /** Waits until no attempt is under way, for at most `seconds`. */
  async landed(seconds: number): Promise<void> {
    if (this.#flights.size === 0 && !this.#claiming) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#landed.push(resolve);
      timer = setTimeout(resolve, seconds * 1000);
    });
    clearTimeout(timer);
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
      this.#doubt.raise(this.#options.clock.elapsedMs());
      clearTimeout(this.#retryTimer);
      this.#retryTimer = setTimeout(() => this.#claimSoon(), PAUSE_AFTER_FAILURE_MS);
    } finally {
      this.#claiming = false;
      this.#tellLanded();
    }
  }

  /** One claim over all lanes that have room and work. Answers whether another may bring more. */
  async #claimOnce(): Promise<boolean> {
    const { nodeId } = this;
    if (nodeId === null) return false;
    if (this.#doubt.isDue(this.#options.clock.elapsedMs())) await this.#giveBackUnknown(nodeId);
    const shares = this.#lanes.shares(this.#options.clock.elapsedMs());
    if (shares.length === 0) return false;
    let got = 0;
    for (const limited of [false, true]) {
      const kind = shares.filter(({ lane }) => lane.limited === limited);
      if (kind.length > 0) got += await this.#claimKind(nodeId, kind, limited);
    }
    return got > 0 || shares.length === MOST_LANES_A_CLAIM;
  }

  /** Claims from lanes that all have limits, or that all have none. Answers how many jobs that brought, and lanes to be claimed from anew. */
  async #claimKind(nodeId: number, shares: readonly Share[], limited: boolean): Promise<number> {
    const sent = this.#recalls.now;
    const lanes = shares.map(({ lane: { workspaceId, laneId }, take }) => ({ workspaceId, laneId, take }));
    const { claims, found } = await claimAcrossWorkspaces(this.#options.db, nodeId, lanes, limited);
    const brought = new Map<LaneId, { jobs: number; payloadLength: number }>();
    const held = new Set<LaneId>();
    for (const claim of claims) {
      if (claim.limited || claim.concurrencyKey !== null) held.add(claim.laneId);
      const { jobs, payloadLength } = brought.get(claim.laneId) ?? { jobs: 0, payloadLength: 0 };
      brought.set(claim.laneId, { jobs: jobs + 1, payloadLength: payloadLength + claim.payload.length });
      this.#startIfStillHeld(sent, claim);
    }
    const foundOf = new Map(found.map((one) => [one.laneId, one]));
    let passedOver = 0;
    for (const share of shares) {
      const { lane } = share;
      const { limited: isLimited, opensInMs } = foundOf.get(lane.laneId) ?? { limited, opensInMs: null };
      if (isLimited !== limited) {
        this.#lanes.passedOver(lane);
        passedOver += 1;
      }
      if (opensInMs !== null && !this.#draining) this.#openings.expect(lane, opensInMs);
      const { jobs, payloadLength } = brought.get(lane.laneId) ?? { jobs: 0, payloadLength: 0 };
      this.#lanes.claimed(share, jobs, payloadLength);
      // There may be more, which others that found nothing before do not know of.
      if (jobs === share.take && held.has(lane.laneId) && !this.#lanes.hasRoom(lane)) this.#options.onWaiting([lane]);
    }
    return claims.length + passedOver;
  }

  /** No claim is under way meanwhile; what is known is asked after the answer, so that nothing known is given back. */
  async #giveBackUnknown(nodeId: number): Promise<void> {
    const { db, settler } = this.#options;
    const held = await findHeldAcrossWorkspaces(db, nodeId);
    const unknown = held.filter(({ id }) => !this.#flights.has(id) && !settler.isSettling(id) && !this.#expected.has(id));
    for (const claim of unknown) this.#landing.giveBack(claim);
  }

  /** Much can happen while a claim is under way: a cancel (I4), a lost lease (I3). Then the job goes back unstarted. */
  #startIfStillHeld(sent: number, claim: Claim): void {
    const held = this.#options.lease.heldBy === claim.nodeId;
    if (held && !this.#recalls.holds(claim, sent)) this.#start(claim);
    else this.#landing.giveBack(claim);
  }

  #start(claim: Claim): void {
    const { clock, carrier, emit } = this.#options;
    const startedMs = clock.elapsedMs();
    const attempt = carry(carrier, claim, emit);
    this.#flights.set(claim.id, { claim, attempt });
    this.#lanes.started(claim, startedMs, claim.payload.length);
    this.#landing.started(claim);
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS);
    void attempt.answer.then((answer) => this.#land(claim, answer, startedMs));
  }

  #land(claim: Claim, answer: Answer, startedMs: number): void {
    const { clock, emit } = this.#options;
    const nowMs = clock.elapsedMs();
    const tookMs = nowMs - startedMs;
    this.#flights.delete(claim.id);
    // Its lane may have been given limits since it was claimed.
    const frees = claim.limited || claim.concurrencyKey !== null || this.#lanes.get(claim).limited;
    this.#lanes.ended(claim, nowMs, claim.payload.length);
    const outcome = this.#landing.land(claim, answer, tookMs, frees);
    emit("attempt_ended", { jobId: claim.id, attempt: claim.attempt, outcome, tookMs, inFlight: this.#flights.size });
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
