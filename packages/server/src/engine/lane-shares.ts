import { LIMITS } from "@tidemill/contract";
import { type FairShare, RoundRobinQueue, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";

/** What a node knows of a lane that has, or just had, something to do. */
export interface BusyLane extends LaneKey {
  inFlight: number;
  /** Attempts that ended but are not settled yet. They still count against limits. */
  settling: number;
  /** Number of wake-ups, so that a wake-up during a claim is not lost when the claim finds the lane empty. */
  wakes: number;
  /** Limit of attempts of this lane under way at once, on this node, while its endpoint responds quickly. */
  window: number;
  lastAnswerMs: number;
  /** Responses since the window grew. */
  answered: number;
  /**
   * Mean length of the payloads that the last claim brought, and of what attempts read in addition. Null before the first claim, and after
   * a claim that failed.
   */
  payloadLength: number | null;
  /** How many attempts have read more than their payload since the last claim. */
  reads: number;
  readCharacters: number;
  /** Mean of these reads before the last claim that knew of any. */
  readLength: number;
  /** Whether it had limits when it was last claimed from. */
  limited: boolean;
}

/** How many jobs to claim from a lane, and the value of `wakes` when that was decided. */
export interface LaneShare {
  readonly lane: BusyLane;
  readonly take: number;
  readonly wakes: number;
}

/** Claims under way: for which workspaces, and how many jobs they may bring. */
interface UnderWay {
  readonly jobs: number;
  has(workspaceId: WorkspaceId): boolean;
}

const NONE_UNDER_WAY: UnderWay = { jobs: 0, has: () => false };

/**
 * The maximum number of attempts of a lane that wait to be settled, while a row of it is locked. After that the lane gets no more jobs,
 * because they would take memory without bound. While as many attempts of a workspace wait, none of its jobs is started eagerly.
 */
const MAX_SETTLING = 4_096;
const FIRST_WINDOW = 64;
/** The window doubles with each window of responses, up to this. A dead endpoint never gets that many attempts. */
const QUICK_WINDOW = 512;
/** A full lane without a response for this long gets a wider window: its endpoint is slow, not busy. */
const STALL_MS = 100;
/** By how much the window then grows: a thousand new connections at once would delay other lanes. */
const STALL_STEP = 64;
/** A lane whose last response is no older than this is busy. */
const BUSY_MS = 20;
const MAX_LANES_A_CLAIM = 128;
const MAX_JOBS_A_CLAIM = 500;
/**
 * Characters of payload that a workspace is expected to get in a claim. A claim with many large payloads would make the next claim wait.
 */
const MAX_PAYLOAD_A_CLAIM = 1024 * 1024;
/**
 * The expected length of payloads of a workspace about which nothing is known. A first claim with larger payloads takes longer. Characters.
 */
const EXPECTED_PAYLOAD = 100 * 1024;
/** Jobs in the first claim from a lane. */
const MAX_JOBS_OF_NEW_LANE = 10;
/** The part of the expected length that remains after each lane with shorter payloads, or without any. */
const EXPECTATION_DECAY = 0.9;

/** What workspaces share of a node for attempts. */
export interface AttemptShares {
  readonly deliverySlots: FairShare;
  /** Memory for payloads. Characters. */
  readonly payloadMemory: FairShare;
}

/**
 * Shares a node's capacity among workspaces and their lanes. Two rules keep a flood of jobs or a hanging endpoint from affecting others.
 * First, each claim gives an equal share to all workspaces with work, and within each to all its lanes. Second, there is always room for
 * the next one: a workspace may have three times as many attempts under way, and three times as much payload, as the node has free
 * (`FairShare`); a lane may have twice as many attempts as its workspace has room for in addition. So one workspace gets at most three
 * quarters of the node, and one lane half.
 */
export class LaneShares {
  readonly #lanes = new Map<LaneId, BusyLane>();
  /** Lanes in which unclaimed jobs may wait, in the order of their turns. */
  readonly #ready = new RoundRobinQueue<BusyLane>();
  /**
   * The ready lanes that had nothing to do before. They come first, once: otherwise a job in a quiet queue would wait for all busy queues.
   */
  readonly #fresh = new RoundRobinQueue<BusyLane>();
  /** The expected length of payloads in new lanes, by workspace: about that of the longest recent payloads. */
  readonly #expectedPayload = new Map<WorkspaceId, number>();
  /** How many attempts of workspaces wait to be settled, where any do. */
  readonly #settling = new Map<WorkspaceId, number>();
  readonly #attempts: FairShare;
  readonly #payload: FairShare;

  constructor({ deliverySlots, payloadMemory }: AttemptShares) {
    this.#attempts = deliverySlots;
    this.#payload = payloadMemory;
  }

  get inFlight(): number {
    return this.#attempts.total;
  }

  /** How many more attempts of the workspace may be under way. */
  roomFor(workspaceId: WorkspaceId): number {
    return this.#payload.roomFor(workspaceId) > 0 ? this.#attempts.roomFor(workspaceId) : 0;
  }

  /** How many jobs of the workspace may be started eagerly. Their lanes are not known yet. */
  eagerRoomFor(workspaceId: WorkspaceId): number {
    return Math.min(this.roomFor(workspaceId), Math.max(0, MAX_SETTLING - (this.#settling.get(workspaceId) ?? 0)));
  }

  get({ workspaceId, laneId }: LaneKey): BusyLane {
    let lane = this.#lanes.get(laneId);
    if (!lane) {
      lane = {
        workspaceId,
        laneId,
        inFlight: 0,
        settling: 0,
        wakes: 0,
        window: FIRST_WINDOW,
        lastAnswerMs: 0,
        answered: 0,
        payloadLength: null,
        reads: 0,
        readCharacters: 0,
        readLength: 0,
        limited: false,
      };
      this.#lanes.set(laneId, lane);
    }
    return lane;
  }

  wake(key: LaneKey): void {
    const lane = this.get(key);
    if (lane.inFlight === 0 && !this.#ready.has(lane)) this.#fresh.add(lane);
    this.#ready.add(lane);
    lane.wakes += 1;
  }

  /** Whether unclaimed jobs may wait in the lane, as far as is known here. */
  isReady({ laneId }: LaneKey): boolean {
    const lane = this.#lanes.get(laneId);
    return lane !== undefined && this.#ready.has(lane);
  }

  started(key: LaneKey, nowMs: number, payloadLength = 0): void {
    const lane = this.get(key);
    if (lane.inFlight === 0) lane.lastAnswerMs = nowMs;
    lane.inFlight += 1;
    this.#attempts.take(key.workspaceId, 1);
    this.#payload.take(key.workspaceId, payloadLength);
  }

  /** Takes memory for what an attempt reads in addition to its payload. Returns false when its workspace has no room left. */
  tryTakeMore(key: LaneKey, characters: number): boolean {
    const lane = this.get(key);
    lane.reads += 1;
    lane.readCharacters += characters;
    if (this.#payload.roomFor(key.workspaceId) < 1) return false;
    this.#payload.take(key.workspaceId, characters);
    return true;
  }

  ended(key: LaneKey, nowMs: number, payloadLength = 0): void {
    const lane = this.get(key);
    lane.inFlight -= 1;
    lane.settling += 1;
    this.#settling.set(key.workspaceId, (this.#settling.get(key.workspaceId) ?? 0) + 1);
    lane.lastAnswerMs = nowMs;
    lane.answered += 1;
    if (lane.answered >= lane.window && lane.window < QUICK_WINDOW) {
      lane.window *= 2;
      lane.answered = 0;
    }
    this.#attempts.release(key.workspaceId, 1);
    this.#payload.release(key.workspaceId, payloadLength);
  }

  /** An attempt is settled. Returns whether its lane is to be woken: it has limits, as the latest claim found, or room again. */
  settled(key: LaneKey): boolean {
    const lane = this.get(key);
    const hadNoRoom = lane.settling === MAX_SETTLING;
    lane.settling -= 1;
    const others = (this.#settling.get(key.workspaceId) ?? 1) - 1;
    if (others > 0) this.#settling.set(key.workspaceId, others);
    else this.#settling.delete(key.workspaceId);
    if (lane.limited || hadNoRoom) return true;
    this.#forgetIfIdle(lane);
    return false;
  }

  /** Whether one more attempt of the lane may be under way. */
  hasRoom(key: LaneKey): boolean {
    const lane = this.get(key);
    return this.#roomOf(lane, this.#levelOfOne(lane)) > 0;
  }

  /** A busy lane waits until a quarter of it is free: few large claims cost the database far less than many small ones. */
  #worthClaiming(lane: BusyLane, nowMs: number): boolean {
    const room = this.#roomOf(lane, this.#levelOfOne(lane));
    return room > 0 && (room * 3 >= lane.inFlight || nowMs - lane.lastAnswerMs > BUSY_MS);
  }

  /** Widens the window of each lane that is full of attempts without a response. */
  widen(nowMs: number): void {
    for (const lane of this.#ready.inTurns()) {
      const stalled = lane.inFlight >= lane.window && nowMs - lane.lastAnswerMs >= STALL_MS;
      if (stalled) lane.window = Math.min(lane.window + STALL_STEP, this.#attempts.capacity);
    }
  }

  /**
   * What to claim next: equal shares for workspaces, and within each for its lanes that have room and in which jobs may wait. Lanes take
   * turns. Workspaces for which a claim is under way get none.
   */
  shares(nowMs: number, underWay: UnderWay = NONE_UNDER_WAY): LaneShare[] {
    const open = this.#next(nowMs, underWay);
    const levels = this.#levels(open);
    const jobs = new Budget((workspaceId) => this.#attempts.roomFor(workspaceId), this.#attempts.free - underWay.jobs);
    // Guesses about one workspace's payloads do not count against others.
    const payload = new Budget((workspaceId) => this.#payload.roomFor(workspaceId), Number.POSITIVE_INFINITY);
    const brought = new Budget(() => MAX_PAYLOAD_A_CLAIM, Number.POSITIVE_INFINITY);
    return open.flatMap((lane) => {
      const { workspaceId } = lane;
      const { lanes, level } = levels.get(workspaceId) ?? { lanes: 1, level: 0 };
      // A lane about which nothing is known may have the largest payloads.
      const payloadLength = lane.payloadLength ?? LIMITS.payloadBytes;
      const left = jobs.left(workspaceId);
      // Lanes for which nothing is left keep their place: the next claim begins with them.
      if (left < 1 || payload.left(workspaceId) < 1 || brought.left(workspaceId) < 1) return [];
      this.#ready.moveBack(lane);
      this.#fresh.delete(lane);
      const share = Math.max(1, Math.floor(MAX_JOBS_A_CLAIM / levels.size / lanes));
      const expected = Math.max(1, lane.payloadLength ?? this.#expectedPayload.get(workspaceId) ?? EXPECTED_PAYLOAD);
      const fast = Math.min(brought.left(workspaceId), MAX_PAYLOAD_A_CLAIM / lanes) / expected;
      const fitting = Math.max(1, Math.floor(Math.min(fast, this.#payload.roomFor(workspaceId) / lanes / Math.max(1, payloadLength))));
      const most = lane.payloadLength === null ? MAX_JOBS_OF_NEW_LANE : MAX_JOBS_A_CLAIM;
      const take = Math.min(share, this.#roomOf(lane, level), fitting, left, most);
      if (take < 1) return [];
      jobs.spend(workspaceId, take);
      payload.spend(workspaceId, take * payloadLength);
      brought.spend(workspaceId, take * expected);
      return [{ lane, take, wakes: lane.wakes }];
    });
  }

  /** The lanes to claim from: fresh ones first, for at most half of the claim if others wait, then the others in turn. */
  #next(nowMs: number, underWay: UnderWay): BusyLane[] {
    const open = new Set<BusyLane>();
    const add = (line: RoundRobinQueue<BusyLane>, limit: number) => {
      for (const lane of line.inTurns((workspaceId) => this.roomFor(workspaceId) < 1 || underWay.has(workspaceId))) {
        if (open.size >= limit) break;
        if (this.#worthClaiming(lane, nowMs)) open.add(lane);
      }
    };
    add(this.#fresh, this.#fresh.size === this.#ready.size ? MAX_LANES_A_CLAIM : MAX_LANES_A_CLAIM / 2);
    add(this.#ready, MAX_LANES_A_CLAIM);
    return [...open];
  }

  /** A lane with nothing under way may start one job as long as its workspace has any room. */
  #roomOf(lane: BusyLane, level: number): number {
    if (lane.settling >= MAX_SETTLING) return 0;
    const least = lane.inFlight === 0 ? 1 : 0;
    return Math.min(this.roomFor(lane.workspaceId), Math.max(least, Math.min(lane.window, level) - lane.inFlight));
  }

  /** How many attempts the lane may have, so that its workspace has room for half as many more. */
  #levelOfOne({ workspaceId, inFlight }: BusyLane): number {
    return levelOf(this.#attempts.roomFor(workspaceId), inFlight, 1);
  }

  /** For each workspace of these lanes, how many it has, and how many attempts each of them may have. */
  #levels(open: readonly BusyLane[]): ReadonlyMap<WorkspaceId, { readonly lanes: number; readonly level: number }> {
    const byWorkspace = Map.groupBy(open, ({ workspaceId }) => workspaceId);
    const levels = [...byWorkspace].map(([workspaceId, lanes]) => {
      const inFlight = lanes.reduce((sum, lane) => sum + lane.inFlight, 0);
      return [workspaceId, { lanes: lanes.length, level: levelOf(this.#attempts.roomFor(workspaceId), inFlight, lanes.length) }] as const;
    });
    return new Map(levels);
  }

  /** Records what a claim got: a lane that gave less than its share is empty, unless it was woken in the meantime. */
  claimed({ lane, take, wakes }: LaneShare, got: number, payloadLength = 0): void {
    if (lane.reads > 0) lane.readLength = lane.readCharacters / lane.reads;
    lane.reads = 0;
    lane.readCharacters = 0;
    const length = got > 0 ? payloadLength / got + lane.readLength : 0;
    if (got > 0) lane.payloadLength = length;
    const before = this.#expectedPayload.get(lane.workspaceId) ?? EXPECTED_PAYLOAD;
    this.#expectedPayload.set(lane.workspaceId, Math.max(length, before * EXPECTATION_DECAY));
    if (got < take && lane.wakes === wakes) this.#ready.delete(lane);
    this.#forgetIfIdle(lane);
  }

  /** A claim failed, perhaps because it brought too much: the payloads of these lanes may be larger than the last ones. */
  claimFailed(shares: readonly LaneShare[]): void {
    for (const { lane } of shares) lane.payloadLength = null;
  }

  /** A claim passed the lane over, because the lane has got limits or lost them. The next claim treats it the other way. */
  passedOver(lane: BusyLane): void {
    lane.limited = !lane.limited;
    lane.wakes += 1;
  }

  #forgetIfIdle(lane: BusyLane): void {
    if (lane.inFlight + lane.settling > 0 || this.#ready.has(lane)) return;
    this.#lanes.delete(lane.laneId);
    const isIdle = this.#attempts.heldBy(lane.workspaceId) === 0 && !this.#ready.hasWorkspace(lane.workspaceId);
    if (isIdle) this.#expectedPayload.delete(lane.workspaceId);
  }
}

/** How many attempts each of some lanes of a workspace may have, so that half as much as one of them has is left. */
const levelOf = (room: number, inFlight: number, lanes: number): number => Math.floor((2 * (room + inFlight)) / (2 * lanes + 1));

/** How much a claim may bring: for each workspace as much as it has room for, and for all together as much as is free. */
class Budget {
  readonly #roomFor: (workspaceId: WorkspaceId) => number;
  readonly #spent = new Map<WorkspaceId, number>();
  #free: number;

  constructor(roomFor: (workspaceId: WorkspaceId) => number, free: number) {
    this.#roomFor = roomFor;
    this.#free = free;
  }

  left(workspaceId: WorkspaceId): number {
    return Math.min(this.#free, this.#roomFor(workspaceId) - (this.#spent.get(workspaceId) ?? 0));
  }

  spend(workspaceId: WorkspaceId, units: number): void {
    this.#spent.set(workspaceId, (this.#spent.get(workspaceId) ?? 0) + units);
    this.#free -= units;
  }
}
