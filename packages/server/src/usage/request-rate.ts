import { LRUCache } from "lru-cache";
import type { RateLimitDecision, RateLimiter } from "#http";
import { Batcher, type Clock, type Db, type EmitEvent, type Timestamp, toMoment, type WorkspaceId } from "#kernel";
import { RecentRequests } from "./recent-requests.ts";
import { type Rate, type RateDemand, takeRequestsAcrossWorkspaces } from "./request-rate-store.ts";

interface RateRequest {
  readonly workspaceId: WorkspaceId;
  readonly limit: number;
}

type Granted = Rate & { readonly granted: number };

/** What a node keeps in memory about a workspace with a rate limit. */
interface WorkspaceState {
  readonly recent: RecentRequests;
  /** Reports of workers that this node has taken beyond the limit. */
  readonly reports: RecentRequests;
  /** Set when nothing was left under this limit. Only time frees requests, so nothing is left until `moreAtMs`. */
  full: (Rate & { readonly limit: number }) | null;
}

/** How many reports of workers each node takes beyond a limit, for each request of it. */
const REPORTS_PER_REQUEST = 10;
/** The maximum number of requests in one statement. */
const MAX_BATCH = 2_000;
/** How many workspaces a node keeps state for: those with the latest requests. */
const MAX_WORKSPACES = 10_000;
/** After the store has failed, how long a node waits before it uses the store again. Milliseconds. */
const STORE_RETRY_MS = 1_000;
/** A request counts for 61 seconds, and clocks differ a little. A longer wait comes from a wrong clock and is ignored. Milliseconds. */
const MAX_WAIT_MS = 65_000;

/**
 * Limits the requests of each workspace across all nodes: in any 60 seconds never more than its limit. Concurrent requests of all
 * workspaces share one statement. When a workspace has used up its limit, the node refuses its requests without a statement until
 * some are free again. While the store fails, each node applies the limit to its own count of requests.
 */
export class RequestRate implements RateLimiter {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #emit: EmitEvent;
  readonly #batcher: Batcher<RateRequest, RateLimitDecision>;
  readonly #states = new LRUCache<WorkspaceId, WorkspaceState>({ max: MAX_WORKSPACES });
  #storeIsAway = false;
  #retryStoreAtMs = 0;

  constructor(options: { db: Db; clock: Clock; emit: EmitEvent }) {
    this.#db = options.db;
    this.#clock = options.clock;
    this.#emit = options.emit;
    this.#batcher = new Batcher({
      maxWeight: MAX_BATCH,
      writers: 1,
      workspaceOf: ({ workspaceId }) => workspaceId,
      write: (requests) => this.#takeTogether(requests),
    });
  }

  async take(workspaceId: WorkspaceId, limit: number): Promise<RateLimitDecision> {
    const { full } = this.#stateOf(workspaceId);
    const waitMs = full?.limit === limit ? full.moreAtMs - this.#clock.nowMs() : 0;
    if (full && waitMs > 0 && waitMs <= MAX_WAIT_MS) return this.#decide(full, false);
    return this.#batcher.add({ workspaceId, limit });
  }

  takeReport(workspaceId: WorkspaceId, limit: number): boolean {
    const { reports } = this.#stateOf(workspaceId);
    const nowMs = this.#clock.nowMs();
    if (reports.look(nowMs, REPORTS_PER_REQUEST * limit).remaining === 0) return false;
    reports.add(nowMs, 1);
    return true;
  }

  /**
   * Reads how many requests a workspace has left, without taking one.
   *
   * @throws UNAVAILABLE when the database is unavailable
   */
  async peek(workspaceId: WorkspaceId, limit: number): Promise<{ limit: number; remaining: number; resets_at: Timestamp }> {
    const [rate] = await takeRequestsAcrossWorkspaces(this.#db, [{ workspaceId, limit, wanted: 0 }]);
    if (!rate) throw new Error("Reading a workspace's rate returned no row.");
    return { limit, remaining: rate.remaining, resets_at: toMoment(rate.resetsAtMs) };
  }

  async #takeTogether(requests: RateRequest[]): Promise<RateLimitDecision[]> {
    const demands = new Map<WorkspaceId, RateDemand>();
    for (const { workspaceId, limit } of requests) {
      demands.set(workspaceId, { workspaceId, limit, wanted: (demands.get(workspaceId)?.wanted ?? 0) + 1 });
    }
    const granted = await this.#grant([...demands.values()]);
    const given = new Map<WorkspaceId, number>();
    return requests.map(({ workspaceId }) => {
      const rate = granted.get(workspaceId) as Granted;
      const nth = (given.get(workspaceId) ?? 0) + 1;
      given.set(workspaceId, nth);
      // As if the requests of a batch came one after another: `remaining` goes down by one for each.
      return this.#decide({ ...rate, remaining: rate.remaining + Math.max(0, rate.granted - nth) }, nth <= rate.granted);
    });
  }

  async #grant(demands: readonly RateDemand[]): Promise<Map<WorkspaceId, Granted>> {
    if (this.#clock.elapsedMs() < this.#retryStoreAtMs) return this.#grantAlone(demands);
    try {
      const granted = await takeRequestsAcrossWorkspaces(this.#db, demands);
      if (this.#storeIsAway) this.#emit("rate_limit_store_recovered", {});
      this.#storeIsAway = false;
      return this.#remember(demands, granted);
    } catch (error) {
      if (!this.#storeIsAway) this.#emit("rate_limit_store_lost", { error });
      this.#storeIsAway = true;
      this.#retryStoreAtMs = this.#clock.elapsedMs() + STORE_RETRY_MS;
      return this.#grantAlone(demands);
    }
  }

  #remember(demands: readonly RateDemand[], granted: readonly (Granted & { workspaceId: WorkspaceId })[]): Map<WorkspaceId, Granted> {
    const byWorkspace = new Map(granted.map((rate) => [rate.workspaceId, rate]));
    for (const { workspaceId, limit } of demands) {
      const rate = byWorkspace.get(workspaceId);
      const state = this.#stateOf(workspaceId);
      if (rate) state.recent.add(this.#clock.nowMs(), rate.granted);
      state.full = rate?.remaining === 0 ? { ...rate, limit } : null;
    }
    return byWorkspace;
  }

  #grantAlone(demands: readonly RateDemand[]): Map<WorkspaceId, Granted> {
    const nowMs = this.#clock.nowMs();
    return new Map(
      demands.map(({ workspaceId, limit, wanted }) => {
        const { recent } = this.#stateOf(workspaceId);
        const granted = Math.min(wanted, recent.look(nowMs, limit).remaining);
        recent.add(nowMs, granted);
        return [workspaceId, { ...recent.look(nowMs, limit), granted }];
      }),
    );
  }

  #decide({ remaining, moreAtMs, resetsAtMs }: Rate, granted: boolean): RateLimitDecision {
    return {
      granted,
      remaining,
      moreInSeconds: Math.max(1, Math.ceil((moreAtMs - this.#clock.nowMs()) / 1000)),
      resetsAtSeconds: Math.ceil(resetsAtMs / 1000),
    };
  }

  #stateOf(workspaceId: WorkspaceId): WorkspaceState {
    const known = this.#states.get(workspaceId);
    if (known) return known;
    const made: WorkspaceState = { recent: new RecentRequests(), reports: new RecentRequests(), full: null };
    this.#states.set(workspaceId, made);
    return made;
  }
}
