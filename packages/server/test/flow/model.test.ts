import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect } from "vitest";
import type { Claim } from "#jobs";
import type { JobId } from "#kernel";
import type { NewJob } from "../../src/jobs/new-job.ts";
import { putLane, test } from "../harness/engine.ts";
import { FlowFixture } from "../harness/flow-fixture.ts";
import { FlowModel, type Limits, type ModelJob } from "../harness/flow-model.ts";
import { PLAIN_JOB } from "../harness/jobs.ts";

/** Something that can happen to a queue. A number selects one of the jobs or nodes to which it can happen. */
type Happening =
  | { readonly kind: "enqueue"; readonly jobs: readonly { key: string | null; priority: number; delaySeconds: number }[] }
  | { readonly kind: "claim"; readonly node: number; readonly take: number }
  | { readonly kind: "complete" | "fail" | "release" | "cancel" | "retry" | "settleLate"; readonly at: number }
  | { readonly kind: "backOff"; readonly at: number; readonly waitSeconds: number }
  | { readonly kind: "killNode"; readonly node: number }
  | { readonly kind: "crashBeforeCommit"; readonly at: number }
  | { readonly kind: "limit"; readonly limits: Limits }
  | { readonly kind: "wait"; readonly seconds: number };

const NODES = 3;
const SECOND_MS = 1_000;
const place = fc.nat(40);
const key = fc.option(fc.constantFrom("a", "b", "c"), { freq: 4 });
const job = fc.record({ key, priority: fc.constantFrom(0, 0, 0, 5, -5), delaySeconds: fc.constantFrom(0, 0, 0, 3) });
const limits = fc.record({
  concurrency: fc.option(fc.integer({ min: 1, max: 6 })),
  perKey: fc.integer({ min: 1, max: 3 }),
  rate: fc.option(fc.record({ max: fc.integer({ min: 1, max: 5 }), perSeconds: fc.constantFrom(2, 5, 10) })),
  paused: fc.constantFrom(false, false, false, true),
});

const atPlace = <Kind extends string>(kind: Kind) => fc.record({ kind: fc.constant(kind), at: place });
const node = fc.nat(NODES - 1);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("enqueue" as const), jobs: fc.array(job, { minLength: 1, maxLength: 8 }) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("claim" as const), node, take: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 3, arbitrary: atPlace("complete") },
  { weight: 2, arbitrary: atPlace("fail") },
  { weight: 3, arbitrary: atPlace("release") },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("backOff" as const), at: place, waitSeconds: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 3, arbitrary: atPlace("settleLate") },
  { weight: 3, arbitrary: atPlace("cancel") },
  { weight: 3, arbitrary: atPlace("retry") },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("killNode" as const), node }) },
  { weight: 3, arbitrary: atPlace("crashBeforeCommit") },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("limit" as const), limits }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("wait" as const), seconds: fc.integer({ min: 1, max: 5 }) }) },
);

/** What a step did: it changed something, or it was held back by a limit where jobs wait. */
type Effect = Happening["kind"] | "held back";

/**
 * How many steps of each kind have to do something in all runs together. Their means are 22 and more, so that chance alone goes below
 * this once in a million runs of the test.
 */
const EFFECTS: Record<Effect, number> = {
  enqueue: 30,
  claim: 30,
  "held back": 10,
  complete: 5,
  fail: 5,
  release: 5,
  backOff: 5,
  settleLate: 5,
  cancel: 5,
  retry: 5,
  killNode: 5,
  crashBeforeCommit: 5,
  limit: 5,
  wait: 5,
};

const newJob = ({ key, priority, delaySeconds }: { key: string | null; priority: number; delaySeconds: number }): NewJob => ({
  ...PLAIN_JOB,
  concurrencyKey: key,
  priority,
  delaySeconds,
  attempts: 100,
});

const TWO_JOBS = [
  { key: null, priority: 0, delaySeconds: 0 },
  { key: "a", priority: 0, delaySeconds: 0 },
];

const ERROR = { code: "TIMEOUT", message: "Too slow.", status: null } as const;

/** A queue and its model. The same things happen to both. */
class Twin {
  readonly #world: FlowFixture;
  readonly #model: FlowModel;
  readonly #pass: (seconds: number) => Promise<void>;
  #nodes: number[] = [];
  /** The claims that nodes hold, and those that they held before. */
  readonly #claims = new Map<string, Claim>();
  readonly #old: Claim[] = [];
  readonly #effects: Map<Effect, number>;

  constructor(world: FlowFixture, model: FlowModel, effects: Map<Effect, number>, pass: (seconds: number) => Promise<void>) {
    this.#effects = effects;
    this.#world = world;
    this.#model = model;
    this.#pass = pass;
  }

  async start(): Promise<void> {
    for (let node = 0; node < NODES; node += 1) this.#nodes.push(await this.#world.startNode());
  }

  /** Does it to both, after what it needs to do something, and counts what it did. */
  async happen(what: Happening): Promise<void> {
    await this.#prepare(what);
    const effect = await this.#do(what);
    if (effect !== null) this.#effects.set(effect, (this.#effects.get(effect) ?? 0) + 1);
  }

  /** Most steps find nothing to do by chance alone. Limits may still hold back what is tried here. */
  async #prepare(what: Happening): Promise<void> {
    const model = this.#model;
    switch (what.kind) {
      case "retry":
        if (model.in("failed").length === 0) await this.happen({ kind: "fail", at: what.at });
        return;
      case "settleLate":
        if (this.#old.length === 0) await this.happen({ kind: "release", at: what.at });
        return;
      case "killNode":
        return this.#occupy(what.node, ({ leaseId }) => leaseId === this.#nodes[what.node]);
      case "complete":
      case "fail":
      case "release":
      case "backOff":
        return this.#occupy(0, () => true);
    }
  }

  /** Has a node claim when no active job is one that is looked for. */
  async #occupy(node: number, isLookedFor: (job: ModelJob) => boolean): Promise<void> {
    if (this.#model.in("active").some(isLookedFor)) return;
    if (this.#model.in("waiting").length === 0) await this.happen({ kind: "enqueue", jobs: TWO_JOBS });
    await this.happen({ kind: "claim", node, take: 2 });
  }

  async #do(what: Happening): Promise<Effect | null> {
    const model = this.#model;
    const world = this.#world;
    switch (what.kind) {
      case "enqueue": {
        const ids = await world.enqueue(what.jobs.map(newJob));
        for (const [index, { key, priority, delaySeconds }] of what.jobs.entries()) {
          model.add({ id: ids[index] as JobId, key, priority }, delaySeconds * SECOND_MS);
        }
        return "enqueue";
      }
      case "claim": {
        const leaseId = this.#nodes[what.node] as number;
        // A node that does not know, and so asks the wrong way first, is told.
        const waited = model.in("waiting").length > 0;
        const claims = await world.claim(leaseId, what.take, what.take % 2 === 0);
        expect(claims.map(({ id }) => id).sort()).toEqual(idsOf(model.claim(leaseId, what.take)));
        for (const claim of claims) this.#claims.set(claim.id, claim);
        if (claims.length > 0) return "claim";
        return waited ? "held back" : null;
      }
      case "complete":
        return this.#settle(what, { kind: "complete", status: 200, result: null }, (one) => model.release(one, "gone"));
      case "fail":
        return this.#settle(what, { kind: "fail", error: ERROR }, (one) => model.release(one, "failed"));
      case "release":
        return this.#settle(what, { kind: "release", waitMs: 0 }, (one) => model.release(one, "waiting"));
      case "backOff": {
        const waitMs = what.waitSeconds * SECOND_MS;
        return this.#settle(what, { kind: "retry", waitMs, error: ERROR }, (one) => model.release(one, "delayed", waitMs));
      }
      case "settleLate": {
        const late = pick(this.#old, what.at);
        if (late) await world.settle(late, { kind: "complete", status: 200, result: null });
        return late ? "settleLate" : null;
      }
      case "cancel": {
        const chosen = pick(model.in("waiting", "delayed", "active"), what.at);
        if (!chosen) return null;
        await world.cancel(chosen.id as JobId);
        this.#letGo(chosen.id);
        model.release(chosen, "gone");
        return "cancel";
      }
      case "retry": {
        const chosen = pick(model.in("failed"), what.at);
        if (!chosen) return null;
        await world.retry(chosen.id as JobId);
        model.retry(chosen);
        return "retry";
      }
      case "killNode": {
        const leaseId = this.#nodes[what.node] as number;
        await world.killNode(leaseId);
        const lost = model.in("active").filter((one) => one.leaseId === leaseId);
        for (const one of lost) this.#letGo(one.id);
        model.loseNode(leaseId);
        this.#nodes[what.node] = await world.startNode();
        return lost.length > 0 ? "killNode" : null;
      }
      case "crashBeforeCommit": {
        const chosen = pick(model.in("waiting", "active"), what.at);
        if (chosen) await world.undone((tx) => world.cancel(chosen.id as JobId, tx));
        return chosen ? "crashBeforeCommit" : null;
      }
      case "limit": {
        const before = model.limits;
        await world.limit(what.limits);
        await world.reassignKeySlots();
        model.limits = what.limits;
        return isDeepStrictEqual(what.limits, before) ? null : "limit";
      }
      case "wait": {
        const before = idsOf(model.admitted());
        const delayed = model.in("delayed").length;
        model.pass(what.seconds * SECOND_MS);
        await this.#pass(what.seconds);
        await world.comeDue();
        return model.in("delayed").length < delayed || !isDeepStrictEqual(idsOf(model.admitted()), before) ? "wait" : null;
      }
    }
  }

  /** Every job has the expected state and key slot, and a claim would start the expected jobs. */
  async compare(): Promise<void> {
    const claimable = new Set(this.#model.claimable().map(({ id }) => id));
    const expected = this.#model.in("waiting", "delayed", "active", "failed").map(({ id, state, key }) => ({
      id,
      state,
      key,
      slotted: key !== null && (state === "active" || claimable.has(id)),
    }));
    const live = await this.#world.live();
    expect(sorted(live.map(({ slot, ...one }) => ({ ...one, slotted: slot !== null })))).toEqual(sorted(expected));
    const would = await this.#world.undone((tx) => this.#world.claim(this.#nodes[0] as number, 1_000, this.#model.limited, tx));
    expect((would ?? []).map(({ id }) => id).sort()).toEqual(idsOf(this.#model.admitted()));
    await this.#compareExplained();
  }

  /**
   * No gate holds a job that would start, and some gate holds a job that would not. Checks the jobs on both sides of the border, and one
   * more of each.
   */
  async #compareExplained(): Promise<void> {
    const admitted = this.#model.admitted();
    const others = this.#model.in("waiting", "delayed").filter((one) => !admitted.includes(one));
    for (const one of new Set([admitted[0], admitted.at(-1)])) if (one) expect(await this.#world.heldBy(one.id as JobId)).toEqual([]);
    for (const one of new Set([others[0], others.at(-1)])) if (one) expect(await this.#world.heldBy(one.id as JobId)).not.toEqual([]);
  }

  /** Removes the limits, and runs all jobs. */
  async finish(): Promise<void> {
    await this.#do({ kind: "limit", limits: { concurrency: null, perKey: 1, rate: null, paused: false } });
    while (this.#model.in("waiting", "delayed", "active").length > 0) {
      await this.#do({ kind: "claim", node: 0, take: 100 });
      for (let left = this.#model.in("active").length; left > 0; left -= 1) await this.#do({ kind: "complete", at: 0 });
      await this.#do({ kind: "wait", seconds: 5 });
    }
    await this.compare();
  }

  async #settle(
    { kind, at }: { kind: Effect; at: number },
    verdict: Parameters<FlowFixture["settle"]>[1],
    released: (job: ModelJob) => void,
  ): Promise<Effect | null> {
    const chosen = pick(this.#model.in("active"), at);
    const claim = chosen && this.#claims.get(chosen.id);
    if (!claim) return null;
    await this.#world.settle(claim, verdict);
    this.#letGo(claim.id);
    released(chosen);
    return kind;
  }

  #letGo(id: string): void {
    const claim = this.#claims.get(id);
    if (claim) this.#old.push(claim);
    this.#claims.delete(id);
  }
}

const pick = <One>(all: readonly One[], at: number): One | undefined => all[at % all.length];
const idsOf = (jobs: readonly ModelJob[]) => jobs.map(({ id }) => id).sort();
const sorted = <One extends { id: string }>(all: readonly One[]) => [...all].sort((a, b) => (a.id < b.id ? -1 : 1));

describe("a queue with limits", () => {
  test("a queue with limits starts exactly the jobs that its model starts and that nothing is told to hold, whatever happens, and leaves no slot behind", {
    timeout: 180_000,
  }, async ({ database, engine, clock }) => {
    const effects = new Map<Effect, number>();
    const runs = fc.asyncProperty(fc.array(happening, { minLength: 25, maxLength: 40 }), async (happenings) => {
      const world = new FlowFixture(database, engine, clock, await putLane(database));
      const twin = new Twin(world, new FlowModel(clock.nowMs()), effects, (seconds) => clock.advance(seconds));
      await twin.start();
      for (const what of happenings) {
        await twin.happen(what);
        await twin.compare();
      }
      await twin.finish();
    });
    await fc.assert(runs, { numRuns: 16, endOnFailure: false });
    for (const [effect, floor] of Object.entries(EFFECTS)) {
      expect(effects.get(effect as Effect) ?? 0, `steps that did something: ${effect}`).toBeGreaterThanOrEqual(floor);
    }
  });
});
