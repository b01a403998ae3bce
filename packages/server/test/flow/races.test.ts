import { describe, expect } from "vitest";
import type { Claim } from "#jobs";
import type { JobId } from "#kernel";
import { fractions } from "../harness/chance.ts";
import { putLane, test } from "../harness/engine.ts";
import { FlowFixture } from "../harness/flow-fixture.ts";
import { PLAIN_JOB } from "../harness/jobs.ts";

const WORKERS = 6;
const STEPS = 40;
const SEEDS = [1, 2, 3, 4];
const CONCURRENCY = 7;
const PER_KEY = 2;
const LIMITS = { concurrency: CONCURRENCY, perKey: PER_KEY, rate: null, paused: false };
const KEYS = ["a", "b", "c", null];
const ERROR = { code: "TIMEOUT", message: "Too slow.", status: null } as const;

/** What came of the moments at which workers met. */
class Tally {
  mostActive = 0;
  mostOfOneKey = 0;
  /** Cancels of jobs that waited, and of jobs that were under way: what then comes of those is settled too late. */
  readonly cancelled = { waiting: 0, active: 0 };
}

/** Somebody who does one thing after the other to a queue to which others do the same. */
class Worker {
  readonly #world: FlowFixture;
  readonly #chance: Generator<number, never>;
  readonly #nodes: number[];
  readonly #tally: Tally;
  #claims: Claim[] = [];
  readonly #known: JobId[] = [];
  /** Each at most once by its claim: another worker may come to it once more, and then removes it. */
  readonly #cancelled = new Set<JobId>();
  #turns = 0;

  constructor(world: FlowFixture, seed: number, nodes: number[], tally: Tally) {
    this.#world = world;
    this.#tally = tally;
    this.#chance = fractions(seed);
    this.#nodes = nodes;
  }

  async work(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) {
      await this.#act(this.#upTo(10));
      await expectWithinLimits(this.#world, this.#tally);
    }
    for (const claim of this.#claims.splice(0)) await this.#world.settle(claim, { kind: "release", waitMs: 0 });
  }

  async #act(choice: number): Promise<void> {
    const world = this.#world;
    if (choice < 3) {
      const jobs = Array.from({ length: 1 + this.#upTo(5) }, () => this.#newJob());
      this.#known.push(...(await world.enqueue(jobs)));
    } else if (choice < 6) {
      this.#claims.push(...(await world.claim(this.#nodes[this.#upTo(this.#nodes.length)] as number, 1 + this.#upTo(5), true)));
    } else if (choice < 8) {
      const ended = this.#claims.splice(0, 1 + this.#upTo(4));
      await Promise.all(ended.map((claim) => world.settle(claim, this.#verdict())));
    } else if (choice === 8) {
      await this.#cancel();
    } else {
      await world.comeDue();
    }
  }

  /** One that is under way with this worker, which then settles it too late, and one that most probably waits, in turns. */
  async #cancel(): Promise<void> {
    const id = this.#turns % 2 === 0 ? this.#claims.find((claim) => !this.#cancelled.has(claim.id))?.id : this.#known.pop();
    if (!id) return;
    this.#turns += 1;
    this.#cancelled.add(id);
    const cancelled = await this.#world.cancel(id);
    if (cancelled.kind === "cancelled") this.#tally.cancelled[cancelled.claimedBy === null ? "waiting" : "active"] += 1;
  }

  #newJob() {
    const [key, priority] = [KEYS[this.#upTo(KEYS.length)] ?? null, this.#upTo(3)];
    return { ...PLAIN_JOB, attempts: 100, concurrencyKey: key, priority };
  }

  #verdict(): Parameters<FlowFixture["settle"]>[1] {
    const choice = this.#upTo(4);
    if (choice === 0) return { kind: "retry", waitMs: 0, error: ERROR };
    if (choice === 1) return { kind: "release", waitMs: 0 };
    return choice === 2 ? { kind: "fail", error: ERROR } : { kind: "complete", status: 200, result: null };
  }

  #upTo(most: number): number {
    return Math.floor(this.#chance.next().value * most);
  }
}

/** One look at all jobs: what is under way is never more than it may be (I6). */
async function expectWithinLimits(world: FlowFixture, tally: Tally): Promise<void> {
  const active = (await world.live()).filter(({ state }) => state === "active");
  expect(active.length).toBeLessThanOrEqual(CONCURRENCY);
  tally.mostActive = Math.max(tally.mostActive, active.length);
  for (const key of KEYS) {
    const { length } = active.filter((one) => one.key === key);
    if (key === null) continue;
    expect(length).toBeLessThanOrEqual(PER_KEY);
    tally.mostOfOneKey = Math.max(tally.mostOfOneKey, length);
  }
}

describe("nodes that claim, settle, cancel and enqueue at the same moment", () => {
  test.for(SEEDS)(
    "nodes that meet never start more than a limit allows, and leave no key with a free slot and jobs that wait for one (seed %i)",
    async (seed, { database, engine, clock }) => {
      const world = new FlowFixture(database, engine, clock, await putLane(database));
      await world.limit(LIMITS);
      const nodes = [await world.startNode(), await world.startNode()];
      const tally = new Tally();
      const workers = Array.from({ length: WORKERS }, (_, index) => new Worker(world, seed * 1_000 + index * 77, nodes, tally));
      await Promise.all(workers.map((worker) => worker.work()));
      expect(tally).toMatchObject({ mostActive: CONCURRENCY, mostOfOneKey: PER_KEY });
      expect(Math.min(tally.cancelled.waiting, tally.cancelled.active)).toBeGreaterThan(0);
      await clock.advance(1);
      await world.comeDue();

      const live = await world.live();
      for (const key of KEYS.filter((one) => one !== null)) {
        const waiting = live.filter((one) => one.key === key && one.state === "waiting");
        expect(waiting.filter(({ slot }) => slot !== null)).toHaveLength(Math.min(waiting.length, PER_KEY));
      }
      for (let left = live.filter(({ state }) => state === "waiting").length; left > 0; ) {
        const claims = await world.claim(nodes[0] as number, 100, true);
        expect(claims).not.toEqual([]);
        await Promise.all(claims.map((claim) => world.settle(claim, { kind: "complete", status: 200, result: null })));
        left -= claims.length;
      }
      expect((await world.live()).filter(({ state }) => state !== "failed")).toEqual([]);
    },
  );
});
