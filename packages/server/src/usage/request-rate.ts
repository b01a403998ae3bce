import type { RateLimiter, Taken } from "#http";
import { Batcher, type Clock, type Db, type EmitEvent, type Timestamp, toMoment, type WorkspaceId } from "#kernel";
import { RecentRequests } from "./recent-requests.ts";
import { type Rate, type RateDemand, takeRequestsAcrossWorkspaces } from "./request-rate-store.ts";

interface Asked {
  readonly workspaceId: WorkspaceId;
  readonly limit: number;
}

type Granted = Rate & { readonly granted: number };

/** What a node knows of a workspace with a limit. */
interface Known {
  readonly recent: RecentRequests;
  /** Nothing is left under this limit before its time comes: only time gives back. */
  full: (Rate & { readonly limit: number }) | null;
}

/** Requests of one statement. */
const MOST_TOGETHER = 2_000;
/** Workspaces that a node remembers, those of the latest requests. */
const MOST_KNOWN = 10_000;
/** How long a store that failed is left alone. Milliseconds. */
const LEAVE_ALONE_MS = 1_000;
/** A request counts for 61 seconds, and clocks differ a little; what waits for longer was told by a clock that was wrong. Milliseconds. */
const LONGEST_MS = 65_000;

/**
 * Limits the requests of each workspace over all nodes together: in any 60 seconds never more than its limit. Requests that come
 * together, of all workspaces, are one statement; once a workspace has used its limit up the node refuses by itself until something is
 * free again. While the store fails, every node lets through what fits the limit by its own count.
 */
export class RequestRate implements RateLimiter {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #emit: EmitEvent;
  readonly #batcher: Batcher<Asked, Taken>;
  /** The one used last stands last. */
  readonly #known = new Map<WorkspaceId, Known>();
  #isAway = false;
  #askAgainMs = 0;

  constructor(options: { db: Db; clock: Clock; emit: EmitEvent }) {
    this.#db = options.db;
    this.#clock = options.clock;
    this.#emit = options.emit;
    this.#batcher = new Batcher({ most: MOST_TOGETHER, writers: 1, write: (requests) => this.#takeTogether(requests) });
  }

  async take(workspaceId: WorkspaceId, limit: number): Promise<Taken> {
    const { full } = this.#knowledgeOf(workspaceId);
    const waitMs = full?.limit === limit ? full.moreAtMs - this.#clock.nowMs() : 0;
    if (full && waitMs > 0 && waitMs <= LONGEST_MS) return this.#answer(full, false);
    return this.#batcher.add({ workspaceId, limit });
  }

  /**
   * What a workspace has left, with nothing taken.
   *
   * @throws UNAVAILABLE when the store is away
   */
  async peek(workspaceId: WorkspaceId, limit: number): Promise<{ limit: number; remaining: number; resets_at: Timestamp }> {
    const [rate] = await takeRequestsAcrossWorkspaces(this.#db, [{ workspaceId, limit, wanted: 0 }]);
    if (!rate) throw new Error("A look at a workspace's rate answered no row.");
    return { limit, remaining: rate.remaining, resets_at: toMoment(rate.resetsAtMs) };
  }

  async #takeTogether(requests: Asked[]): Promise<Taken[]> {
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
      // Of those granted together each one finds the others still to come.
      return this.#answer({ ...rate, remaining: rate.remaining + Math.max(0, rate.granted - nth) }, nth <= rate.granted);
    });
  }

  async #grant(demands: readonly RateDemand[]): Promise<Map<WorkspaceId, Granted>> {
    if (this.#clock.elapsedMs() < this.#askAgainMs) return this.#grantAlone(demands);
    try {
      const granted = await takeRequestsAcrossWorkspaces(this.#db, demands);
      if (this.#isAway) this.#emit("rate_limit_store_recovered", {});
      this.#isAway = false;
      return this.#remember(demands, granted);
    } catch (error) {
      if (!this.#isAway) this.#emit("rate_limit_store_lost", { error });
      this.#isAway = true;
      this.#askAgainMs = this.#clock.elapsedMs() + LEAVE_ALONE_MS;
      return this.#grantAlone(demands);
    }
  }

  #remember(demands: readonly RateDemand[], answers: readonly (Granted & { workspaceId: WorkspaceId })[]): Map<WorkspaceId, Granted> {
    const granted = new Map(answers.map((rate) => [rate.workspaceId, rate]));
    for (const { workspaceId, limit } of demands) {
      const rate = granted.get(workspaceId);
      const known = this.#knowledgeOf(workspaceId);
      if (rate) known.recent.add(this.#clock.nowMs(), rate.granted);
      known.full = rate?.remaining === 0 ? { ...rate, limit } : null;
    }
    return granted;
  }

  #grantAlone(demands: readonly RateDemand[]): Map<WorkspaceId, Granted> {
    const nowMs = this.#clock.nowMs();
    return new Map(
      demands.map(({ workspaceId, limit, wanted }) => {
        const { recent } = this.#knowledgeOf(workspaceId);
        const granted = Math.min(wanted, recent.look(nowMs, limit).remaining);
        recent.add(nowMs, granted);
        return [workspaceId, { ...recent.look(nowMs, limit), granted }];
      }),
    );
  }

  #answer({ remaining, moreAtMs, resetsAtMs }: Rate, granted: boolean): Taken {
    return {
      granted,
      remaining,
      moreInSeconds: Math.max(1, Math.ceil((moreAtMs - this.#clock.nowMs()) / 1000)),
      resetsAtSeconds: Math.ceil(resetsAtMs / 1000),
    };
  }

  #knowledgeOf(workspaceId: WorkspaceId): Known {
    const known = this.#known.get(workspaceId) ?? { recent: new RecentRequests(), full: null };
    this.#known.delete(workspaceId);
    this.#known.set(workspaceId, known);
    if (this.#known.size > MOST_KNOWN) this.#known.delete(this.#known.keys().next().value as WorkspaceId);
    return known;
  }
}
