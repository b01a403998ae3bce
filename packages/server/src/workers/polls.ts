import type { Engine } from "#engine";
import { type LaneFound, MAX_CLAIM_BYTES, type WorkerClaim } from "#jobs";
import { type Clock, type EmitEvent, isAway, isTimeout, RoundRobinQueue, type SharedResource, type Uuid, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { busyRetryMs } from "./busy-retry.ts";
import { divideClaims } from "./divide-claims.ts";
import type { KnownWorker } from "./known-worker.ts";
import { type Ask, groupAsks, haveBacklog, holderOf, planClaim } from "./plan-claim.ts";
import { Poll, type PolledLane, type PollRequest, type PollResult, type TakenJob } from "./poll.ts";
import { PollEnds } from "./poll-ends.ts";
import { PolledLanes } from "./polled-lanes.ts";
import { SlowLanes } from "./slow-lanes.ts";
import { type BoundedFilter, isSameFilter } from "./version-filter.ts";

export interface PollsOptions {
  readonly claim: Engine["claimForWorkers"];
  readonly claimFromBacklog: Engine["claimFromBacklog"];
  /** Which runs of a workflow its workers of a version may take. Null: all. Otherwise they may take more after `othersGoneInMs`. */
  readonly filterOf: (lane: PolledLane) => BoundedFilter | null;
  /** Releases jobs that were claimed for a poll whose client is gone. */
  readonly release: (worker: KnownWorker, claims: readonly TakenJob[]) => void;
  /** The memory for responses, which workspaces share. */
  readonly memory: Pick<SharedResource, "roomFor" | "heldBy" | "refusal">;
  readonly emit: EmitEvent;
  readonly clock: Pick<Clock, "elapsedMs">;
}

/** A poll that gets nothing until it is given runs. */
export interface ReservedPoll {
  readonly poll: Poll;
  readonly lane: PolledLane;
  /** When it was reserved. Milliseconds of the elapsed clock. */
  readonly askedMs: number;
}

const PAUSE_AFTER_FAILURE_MS = 250;
/** How often to check whether a workspace has room for responses again. Milliseconds. */
const ROOM_EVERY_MS = 100;
/** When a version of the code may be gone, the minimum wait before looking for runs that were kept for it. Milliseconds. */
const MIN_RECHECK_MS = 1_000;

/**
 * Gives jobs to the workers that poll. All polls share claims: one statement takes jobs for many of them, and workspaces take turns. A poll
 * that finds nothing waits without a statement until one of its lanes is woken.
 */
export class Polls {
  readonly lanes = new PolledLanes();
  readonly #options: PollsOptions;
  /** Waiting polls. Workspaces take turns. */
  readonly #line = new RoundRobinQueue<Poll>();
  readonly #ends: PollEnds;
  #claiming = false;
  #again = false;
  readonly #slow = new SlowLanes(this.lanes);
  #closed = false;
  #retryTimer: NodeJS.Timeout | undefined;
  #roomTimer: NodeJS.Timeout | undefined;

  constructor(options: PollsOptions) {
    this.#options = options;
    this.#ends = new PollEnds(options.clock, (poll) => this.#endOverdue(poll));
  }

  /**
   * Takes jobs, immediately or when there are some. Empty after `waitMs`, when the client is gone, when the node stops, and when a lane is
   * forgotten.
   */
  take(asked: PollRequest): Promise<PollResult> {
    const poll = new Poll(asked);
    const isForgotten = asked.lanes.some((lane) => !this.lanes.has(lane));
    if (asked.signal.aborted || this.#closed || isForgotten) return Promise.resolve(this.#nothing());
    this.#line.add(poll);
    for (const lane of asked.lanes) {
      lane.polls.add(poll);
      if (this.#hasOtherFilter(lane)) lane.mayHaveJobs = true;
    }
    asked.signal.addEventListener("abort", () => this.#end(poll, this.#nothing()), { once: true });
    if (asked.waitMs > 0) this.#ends.add(poll);
    if (poll.hasProspects) this.#claimSoon();
    else this.#endIfOverdue(poll);
    return poll.result.promise;
  }

  #endOverdue(poll: Poll): void {
    poll.overdue = true;
    this.#endIfOverdue(poll);
  }

  /** A claim under way may still bring it jobs. */
  #endIfOverdue(poll: Poll): void {
    if (poll.overdue && !poll.claiming) this.#end(poll, this.#nothing());
  }

  #end(poll: Poll, result: PollResult): void {
    const { worker, hold } = poll.asked;
    const { claims } = result;
    if (this.#leave(poll)) {
      // Counted immediately: the next claim must not take memory that this response holds.
      if (claims.length > 0) hold(lengthOf(claims));
      poll.result.resolve(result);
    } else if (claims.length > 0) this.#options.release(worker, claims);
  }

  #nothing(): PollResult {
    return { claims: [], askedMs: this.#options.clock.elapsedMs() };
  }

  #fail(poll: Poll, error: unknown): void {
    if (this.#leave(poll)) poll.result.reject(error);
  }

  /** Returns false if the poll had ended before. */
  #leave(poll: Poll): boolean {
    if (poll.ended) return false;
    poll.ended = true;
    poll.group?.delete(poll);
    this.#line.delete(poll);
    for (const lane of poll.asked.lanes) lane.polls.delete(poll);
    return true;
  }

  /**
   * Reserves a poll that waits for runs of a workflow, if claims have found the workflow empty and without limits, and workers of one
   * version poll for all of its runs. The poll gets nothing until it is given runs.
   */
  reserve(workspaceId: WorkspaceId, workflow: string): ReservedPoll | null {
    if (!this.#hasRoom(workspaceId)) return null;
    const [lane, ...others] = this.lanes.byName({ workspaceId, kind: "workflow", name: workflow });
    if (!lane || others.length > 0 || lane.mayHaveJobs || lane.limited || this.#slow.has(lane) || this.#filterOf(lane)) return null;
    const poll = [...lane.polls].find(({ claiming }) => !claiming);
    if (!poll) return null;
    poll.claiming = true;
    return { poll, lane, askedMs: this.#options.clock.elapsedMs() };
  }

  /** Gives runs to a reserved poll. If there are none, it continues to wait. */
  give({ poll, askedMs }: ReservedPoll, runs: readonly TakenJob[]): void {
    poll.claiming = false;
    if (runs.length > 0) this.#end(poll, { claims: runs, askedMs });
    else {
      this.#endIfOverdue(poll);
      if (!poll.ended && poll.hasProspects) this.#claimSoon();
    }
  }

  /** Ends a reserved poll with an error. It may still have got runs: a repetition of its call finds them. */
  giveUp({ poll }: ReservedPoll, error: unknown): void {
    poll.claiming = false;
    this.#fail(poll, error);
  }

  /** Jobs of these lanes may be claimable. */
  wake(lanes: readonly LaneKey[]): void {
    let isAwaited = false;
    for (const lane of lanes.flatMap(({ laneId }) => this.lanes.byId(laneId))) {
      lane.mayHaveJobs = true;
      lane.wakes += 1;
      isAwaited ||= lane.polls.size > 0;
    }
    if (isAwaited) this.#claimSoon();
  }

  /** Messages may have been missed. */
  wakeAll(): void {
    this.wake([...this.lanes]);
  }

  /** The lane was deleted, or workers no longer serve it. Polls that wait for its jobs end, and the next calls look it up. */
  forget(laneId: LaneId): void {
    for (const lane of this.lanes.delete(laneId)) for (const poll of [...lane.polls]) this.#end(poll, this.#nothing());
  }

  /** Ends the polls of a workspace, or of one of its keys: the next calls of the workers are authenticated again. */
  endOf(workspaceId: WorkspaceId, keyId: Uuid | null): void {
    for (const poll of [...this.#line.inTurns()]) {
      const isOne = poll.workspaceId === workspaceId && (keyId === null || poll.asked.keyId === keyId);
      if (isOne) this.#end(poll, this.#nothing());
    }
  }

  endAll(): void {
    for (const poll of [...this.#line.inTurns()]) this.#end(poll, this.#nothing());
  }

  /** Ends all polls, for good. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#roomTimer);
    this.#ends.close();
    this.endAll();
    for (const lane of this.lanes) clearTimeout(lane.timer);
  }

  #claimSoon(): void {
    if (this.#claiming) {
      this.#again = true;
      return;
    }
    this.#claiming = true;
    // Polls and wake-ups of the same turn of the event loop share a claim.
    setImmediate(() => void this.#claimAll());
  }

  async #claimAll(): Promise<void> {
    try {
      do {
        this.#again = false;
        while (await this.#claimOnce());
      } while (this.#again);
    } catch (error) {
      this.#options.emit("claim_failed", { error });
      // Polls that wait may have better luck.
      for (const poll of [...this.#line.inTurns()]) if (poll.overdue && !poll.claiming) this.#fail(poll, error);
      clearTimeout(this.#retryTimer);
      this.#retryTimer = setTimeout(() => this.#claimSoon(), PAUSE_AFTER_FAILURE_MS);
    } finally {
      this.#claiming = false;
      if (this.#again && !this.#closed) this.#claimSoon();
    }
  }

  /** Returns whether there was anything to claim. */
  async #claimOnce(): Promise<boolean> {
    void this.#claimFromSlowLane();
    const asks = planClaim(
      this.#withRoom(),
      (lane) => this.#slow.has(lane),
      (poll) => this.#line.moveBack(poll),
      (poll) => this.#endIfOverdue(poll),
    );
    if (asks.length === 0) return false;
    for (const { lane } of asks) lane.filter = this.#filterOf(lane);
    const claimed = await Promise.allSettled(groupAsks(asks).map((group) => this.#claimFrom(group)));
    for (const one of claimed) if (one.status === "rejected") throw one.reason;
    return true;
  }

  /** Whether what a claim brings fits into the workspace's share. A workspace that holds nothing may always have a claim. */
  #hasRoom(workspaceId: WorkspaceId): boolean {
    const { memory } = this.#options;
    const room = memory.roomFor(workspaceId);
    return room >= MAX_CLAIM_BYTES || (room > 0 && memory.heldBy(workspaceId) === 0);
  }

  /**
   * Polls whose workspaces have room for responses. Of the others, those that do not wait are refused, and those that wait are checked
   * again later: clients that do not take their responses must not fill the node's memory with them.
   */
  #withRoom(): Poll[] {
    return [...this.#line.inTurns()].filter((poll) => {
      if (this.#hasRoom(poll.workspaceId)) return true;
      if (poll.claiming || !poll.hasProspects) this.#endIfOverdue(poll);
      else if (poll.overdue) this.#fail(poll, this.#options.memory.refusal(poll.workspaceId));
      else this.#lookForRoom();
      return false;
    });
  }

  #lookForRoom(): void {
    this.#roomTimer ??= setTimeout(() => {
      this.#roomTimer = undefined;
      this.#claimSoon();
    }, ROOM_EVERY_MS).unref();
  }

  /** Claims from one slow lane, while claims from other lanes continue. */
  async #claimFromSlowLane(): Promise<void> {
    const hasClaimed = await this.#slow.claimFromNext({
      hasRoom: ({ workspaceId }) => this.#hasRoom(workspaceId),
      claim: (ask) => {
        ask.lane.filter = this.#filterOf(ask.lane);
        return this.#claimFrom([ask]);
      },
      onFailed: ({ lane, poll }, error) => {
        this.#options.emit("claim_failed", { error });
        if (poll.overdue) this.#fail(poll, error);
        lane.mayHaveJobs = false;
        this.#wakeLater(lane, PAUSE_AFTER_FAILURE_MS);
      },
    });
    if (hasClaimed && !this.#closed) this.#claimSoon();
  }

  /** Queues have no filter: their jobs have no versions. */
  #filterOf(lane: PolledLane) {
    return lane.kind === "workflow" ? this.#options.filterOf(lane) : null;
  }

  /** Whether a lane's workers may take other runs than its last claim was for. */
  #hasOtherFilter(lane: PolledLane): boolean {
    return !isSameFilter(this.#filterOf(lane), lane.filter);
  }

  /** Claims from lanes that all have limits, or from lanes that all have none. A lane with a filter is claimed from alone. */
  async #claimFrom(asks: readonly Ask[]): Promise<void> {
    const limited = asks[0]?.lane.limited ?? false;
    for (const { poll } of asks) poll.claiming = true;
    const askedMs = this.#options.clock.elapsedMs();
    try {
      const { claims, found } = await this.#claim(asks);
      for (const [poll, got] of divideClaims(asks, claims)) this.#end(poll, { claims: got, askedMs });
      this.#learn(asks, claims, found, limited);
    } catch (error) {
      if (isTimeout(error)) for (const { lane } of asks) this.#slow.add(lane);
      // The claim may have taken jobs: a worker that repeats its call gets them.
      else if (isAway(error)) for (const { poll } of asks) this.#fail(poll, error);
      throw error;
    } finally {
      for (const { poll } of asks) poll.claiming = false;
    }
  }

  async #claim(asks: readonly Ask[]): ReturnType<Engine["claimForWorkers"]> {
    const { limited = false, filter = null } = asks[0]?.lane ?? {};
    const holders = asks.map(holderOf);
    if (haveBacklog(asks)) {
      const claims = await this.#options.claimFromBacklog(holders);
      // If it brings fewer than requested, there may still be more: the next claim finds out.
      const found = asks.slice(0, 1).map(({ lane: { laneId } }) => ({ laneId, limited: false, isPulled: true, opensInMs: 0 }));
      if (claims.length > 0) return { claims, found };
    }
    return this.#options.claim(holders, limited, filter);
  }

  /** A lane that gave fewer jobs than requested is empty, unless it was woken in the meantime. */
  #learn(asks: readonly Ask[], claims: readonly WorkerClaim[], found: readonly LaneFound[], limited: boolean): void {
    const foundOf = new Map(found.map((one) => [one.laneId, one]));
    for (const [lane, ofLane] of Map.groupBy(asks, (ask) => ask.lane)) {
      const got = claims.filter(({ laneId }) => laneId === lane.laneId);
      if (got.length > 0) lane.payloadLength = got.reduce((sum, { payload }) => sum + payload.length, 0) / got.length;
      const { limited: isLimited, opensInMs, isPulled, isBusy } = foundOf.get(lane.laneId) ?? { limited, opensInMs: null, isPulled: true };
      if (!isPulled) {
        this.forget(lane.laneId);
        continue;
      }
      if (isLimited !== limited) {
        lane.limited = isLimited;
        continue;
      }
      const asked = ofLane.reduce((sum, { take }) => sum + take, 0);
      // One job for a worker that requests one does not mean a backlog.
      lane.hasBacklog = asked > 1 && got.length >= asked;
      const isEmpty = got.length < asked && opensInMs !== 0;
      if (isEmpty && ofLane.every(({ wakes }) => wakes === lane.wakes)) lane.mayHaveJobs = false;
      lane.busySinceMs = isBusy ? (lane.busySinceMs ?? this.#options.clock.elapsedMs()) : null;
      if (lane.busySinceMs !== null) this.#wakeLater(lane, busyRetryMs(this.#options.clock.elapsedMs() - lane.busySinceMs));
      else if (opensInMs !== null && opensInMs > 0) this.#wakeLater(lane, opensInMs);
      else if (isEmpty && lane.filter) this.#wakeLater(lane, Math.max(MIN_RECHECK_MS, this.#filterOf(lane)?.othersGoneInMs ?? 0));
    }
  }

  #wakeLater(lane: PolledLane, ms: number): void {
    clearTimeout(lane.timer);
    lane.timer = setTimeout(() => this.wake([lane]), ms).unref();
  }
}

/** The total length of the payloads. */
const lengthOf = (claims: readonly TakenJob[]): number => claims.reduce((sum, { payload }) => sum + payload.length, 0);
