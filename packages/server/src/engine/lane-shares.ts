import type { LaneId, LaneKey } from "#lanes";

/** What a node knows of a lane that has, or just had, something to do. */
export interface BusyLane extends LaneKey {
  inFlight: number;
  /** Attempts that ended but are not settled yet. They still count against limits. */
  settling: number;
  /** Grows with every wake-up, so that a wake-up during a claim is not lost when the claim finds the lane empty. */
  wakes: number;
  /** Limit of attempts of this lane under way at once, on this node, while its endpoint responds quickly. */
  window: number;
  lastAnswerMs: number;
  /** Responses since the window grew. */
  answered: number;
  /** Mean length of the payloads that the last claim brought. */
  payloadLength: number;
  /** Whether it had limits when it was last claimed from. */
  limited: boolean;
}

/** How many jobs to claim from a lane, and the value of `wakes` when that was decided. */
export interface Share {
  readonly lane: BusyLane;
  readonly take: number;
  readonly wakes: number;
}

const FIRST_WINDOW = 64;
/** The window doubles with each window of responses, up to this. A dead endpoint never gets that many attempts. */
const QUICK_WINDOW = 512;
/** A full lane without a response for this long gets a wider window: its endpoint is slow, not busy. */
const STALL_MS = 100;
/** How much wider: a thousand new connections at once would hold up other lanes. */
const STALL_STEP = 64;
/** A lane whose last response is no older than this is busy. */
const BUSY_MS = 20;
export const MAX_LANES_A_CLAIM = 128;
const MAX_JOBS_A_CLAIM = 500;
/** Characters of payload in a claim: a thousand large jobs would fill the memory. */
const MAX_PAYLOAD_A_CLAIM = 32 * 1024 * 1024;
/** Characters of all payloads under way. Above this nothing is claimed until some attempts have ended. */
export const MAX_PAYLOAD_UNDER_WAY = 256 * 1024 * 1024;

/**
 * Shares a node's capacity among lanes. Two rules keep one lane's flood or hanging endpoint from costing others anything. Each claim
 * gives all lanes with work an equal share. And a lane may have no more attempts under way than the node has free (the dynamic
 * threshold of shared buffers, Choudhury and Hahne 1998). So one hanging lane gets half of the node, two get a third each, and there is
 * always room for the next.
 */
export class LaneShares {
  readonly #capacity: number;
  readonly #lanes = new Map<LaneId, BusyLane>();
  /** Lanes in which unclaimed jobs may wait, in the order of their turns. */
  readonly #ready = new Set<BusyLane>();
  /** Those of them that had nothing to do before. They come first, once: else a job in a quiet queue would wait for all busy ones. */
  readonly #fresh = new Set<BusyLane>();
  #inFlight = 0;
  #payload = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get(key: LaneKey): BusyLane {
    let lane = this.#lanes.get(key.laneId);
    if (!lane) {
      lane = {
        ...key,
        inFlight: 0,
        settling: 0,
        wakes: 0,
        window: FIRST_WINDOW,
        lastAnswerMs: 0,
        answered: 0,
        payloadLength: 0,
        limited: false,
      };
      this.#lanes.set(key.laneId, lane);
    }
    return lane;
  }

  wake(key: LaneKey): void {
    const lane = this.get(key);
    if (lane.inFlight === 0 && !this.#ready.has(lane)) this.#fresh.add(lane);
    this.#ready.add(lane);
    lane.wakes += 1;
  }

  started(key: LaneKey, nowMs: number, payloadLength = 0): void {
    const lane = this.get(key);
    if (lane.inFlight === 0) lane.lastAnswerMs = nowMs;
    lane.inFlight += 1;
    this.#inFlight += 1;
    this.#payload += payloadLength;
  }

  ended(key: LaneKey, nowMs: number, payloadLength = 0): void {
    const lane = this.get(key);
    lane.inFlight -= 1;
    lane.settling += 1;
    lane.lastAnswerMs = nowMs;
    lane.answered += 1;
    if (lane.answered >= lane.window && lane.window < QUICK_WINDOW) {
      lane.window *= 2;
      lane.answered = 0;
    }
    this.#inFlight -= 1;
    this.#payload -= payloadLength;
  }

  /** An attempt is settled. Returns whether its lane has limits, as the latest claim found. Such a lane is to be woken. */
  settled(key: LaneKey): boolean {
    const lane = this.get(key);
    lane.settling -= 1;
    if (!lane.limited) this.#forgetIfIdle(lane);
    return lane.limited;
  }

  /** Whether one more attempt of the lane may be under way. */
  hasRoom(key: LaneKey): boolean {
    const lane = this.get(key);
    return this.#roomOf(lane, this.#level([lane])) > 0;
  }

  /** A busy lane waits until a quarter of it is free: few large claims cost the database far less than many small ones. */
  #worthClaiming(lane: BusyLane, nowMs: number): boolean {
    const room = this.#roomOf(lane, this.#level([lane]));
    return room > 0 && (room * 3 >= lane.inFlight || nowMs - lane.lastAnswerMs > BUSY_MS);
  }

  /** Widens the window of each lane that is full of attempts without a response. */
  widen(nowMs: number): void {
    for (const lane of this.#ready) {
      const stalled = lane.inFlight >= lane.window && nowMs - lane.lastAnswerMs >= STALL_MS;
      if (stalled) lane.window = Math.min(lane.window + STALL_STEP, this.#capacity);
    }
  }

  /** What to claim next: equal shares for lanes that have room and in which jobs may wait, in turns. */
  shares(nowMs: number): Share[] {
    if (this.#payload >= MAX_PAYLOAD_UNDER_WAY) return [];
    const open = this.#next(nowMs);
    const level = this.#level(open);
    const share = Math.max(1, Math.floor(MAX_JOBS_A_CLAIM / open.length));
    let free = this.#capacity - this.#inFlight;
    return open.flatMap((lane) => {
      // Lanes for which nothing is left keep their place: the next claim begins with them.
      if (free <= 0) return [];
      this.#ready.delete(lane);
      this.#ready.add(lane);
      this.#fresh.delete(lane);
      const fitting = Math.max(1, Math.floor(MAX_PAYLOAD_A_CLAIM / Math.max(1, lane.payloadLength)));
      const take = Math.min(share, this.#roomOf(lane, level), fitting, free);
      if (take < 1) return [];
      free -= take;
      return [{ lane, take, wakes: lane.wakes }];
    });
  }

  /** The lanes to claim from: fresh ones first, for at most half of the claim if others wait, then the others in turn. */
  #next(nowMs: number): BusyLane[] {
    const open: BusyLane[] = [];
    const add = (lanes: Iterable<BusyLane>, limit: number) => {
      for (const lane of lanes) {
        if (open.length >= limit) break;
        if (this.#worthClaiming(lane, nowMs) && !open.includes(lane)) open.push(lane);
      }
    };
    add(this.#fresh, this.#fresh.size === this.#ready.size ? MAX_LANES_A_CLAIM : MAX_LANES_A_CLAIM / 2);
    add(this.#ready, MAX_LANES_A_CLAIM);
    return open;
  }

  /** A lane with nothing under way may start one job as long as the node has any room. */
  #roomOf(lane: BusyLane, level: number): number {
    const least = lane.inFlight === 0 && this.#inFlight < this.#capacity ? 1 : 0;
    return Math.max(least, Math.min(lane.window, level) - lane.inFlight);
  }

  /** How many attempts each of these lanes may have, so that as many as one lane has stay free. */
  #level(open: readonly BusyLane[]): number {
    const theirs = open.reduce((sum, { inFlight }) => sum + inFlight, 0);
    return Math.floor((this.#capacity - this.#inFlight + theirs) / (open.length + 1));
  }

  /** Records what a claim got: a lane that gave less than its share is empty, unless it was woken meanwhile. */
  claimed({ lane, take, wakes }: Share, got: number, payloadLength = 0): void {
    if (got > 0) lane.payloadLength = payloadLength / got;
    if (got < take && lane.wakes === wakes) this.#ready.delete(lane);
    this.#forgetIfIdle(lane);
  }

  /** A claim passed the lane over, because it has got limits or lost them. The next claim treats it the other way. */
  passedOver(lane: BusyLane): void {
    lane.limited = !lane.limited;
    lane.wakes += 1;
  }

  #forgetIfIdle(lane: BusyLane): void {
    if (lane.inFlight + lane.settling === 0 && !this.#ready.has(lane)) this.#lanes.delete(lane.laneId);
  }
}
