import {
  approveJob,
  type Claim,
  decideSharesAcrossWorkspaces,
  insertInternalJobs,
  makeDueAcrossWorkspaces,
  purgeFailed,
  rejectJob,
  removeUnlocked,
  removeUnrecorded,
  retryFailed,
  setDueAcrossWorkspaces,
} from "#jobs";
import type { Database, JobId, Timestamp } from "#kernel";
import type { LaneKey } from "#lanes";
import { foldCountsAcrossWorkspaces } from "../../src/jobs/store/fold-counts.ts";
import { fractions } from "../harness/chance.ts";
import type { FlowFixture } from "../harness/flow-fixture.ts";
import { PLAIN_JOB } from "../harness/jobs.ts";

const ERROR = { code: "TIMEOUT", message: "Too slow.", status: null } as const;
const RULING = { decision: "approved", by: null, comment: null } as const;
const SHARE = { maxJobs: 3, maxWeight: 1_000, bytesPerWeight: 1_000 };
const KEYS = ["a", "b", null];
const ALL = { until: "9999-12-31T00:00:00.000Z" as Timestamp, before: "ffffffff-ffff-ffff-ffff-ffffffffffff" as JobId, limit: 3 };

/** Where a worker works: a queue, an approval queue, and the lane of a workflow. */
export interface CountedLanes {
  readonly engine: Database;
  readonly queue: FlowFixture;
  readonly approvals: FlowFixture;
  readonly workflow: LaneKey;
  readonly nodes: number[];
  newId(): JobId;
}

/** Does one thing after the other to jobs to which others do the same, whatever they are by then. */
export class CountingWorker {
  readonly #lanes: CountedLanes;
  readonly #chance: Generator<number, never>;
  readonly #known: { world: FlowFixture; id: JobId }[] = [];
  readonly #executions: JobId[] = [];
  #claims: { world: FlowFixture; claim: Claim }[] = [];

  constructor(lanes: CountedLanes, seed: number) {
    this.#lanes = lanes;
    this.#chance = fractions(seed);
  }

  async work(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) await this.#act(this.#upTo(16));
  }

  async #act(choice: number): Promise<void> {
    const { engine, nodes, queue } = this.#lanes;
    const world = this.#world();
    if (choice < 3) {
      const ids = await world.enqueue(Array.from({ length: 1 + this.#upTo(4) }, () => this.#newJob()));
      this.#known.push(...ids.map((id) => ({ world, id })));
    } else if (choice < 5) {
      const claims = await world.claim(nodes[this.#upTo(nodes.length)] as number, 1 + this.#upTo(4), false);
      this.#claims.push(...claims.map((claim) => ({ world, claim })));
    } else if (choice < 8) {
      const ended = this.#claims.splice(0, 1 + this.#upTo(3));
      await Promise.all(ended.map((one) => one.world.settle(one.claim, this.#verdict())));
    } else if (choice === 8) await this.#onKnown((known) => known.world.cancel(known.id));
    else if (choice === 9) await this.#onKnown((known) => known.world.retry(known.id));
    else if (choice === 10) await world.comeDue();
    else if (choice === 11) await this.#decide();
    else if (choice === 12) await this.#deadLetters(world);
    else if (choice === 13) await this.#execute();
    else if (choice === 14) await foldCountsAcrossWorkspaces(engine);
    // As after a crash: nothing of it remains.
    else await queue.undone((tx) => queue.enqueue([this.#newJob()], tx));
  }

  /** Cancelled, retried or removed by others meanwhile, it may be gone. */
  async #onKnown(act: (known: { world: FlowFixture; id: JobId }) => Promise<unknown>): Promise<void> {
    const known = this.#known[this.#upTo(this.#known.length)];
    if (!known) return;
    await act(known).catch((error: { code?: string }) => {
      if (error.code !== "NOT_FOUND" && error.code !== "INVALID_STATE") throw error;
    });
  }

  async #decide(): Promise<void> {
    const { engine, approvals } = this.#lanes;
    const { id } = this.#known.find(({ world }) => world === approvals) ?? { id: this.#lanes.newId() };
    const key = { ...approvals.lane, id };
    const choice = this.#upTo(3);
    if (choice === 0) await decideSharesAcrossWorkspaces(engine, [approvals.lane.workspaceId], SHARE);
    else if (choice === 1) await approveJob(engine, key, RULING);
    else await rejectJob(engine, key, { ...RULING, decision: "rejected" });
  }

  async #deadLetters(world: FlowFixture): Promise<void> {
    const query = { ...world.lane, filter: {} } as Parameters<typeof retryFailed>[1];
    await (this.#upTo(2) === 0 ? retryFailed : purgeFailed)(this.#lanes.engine, query, ALL);
  }

  /** What happens to the next execution of a run. */
  async #execute(): Promise<void> {
    const { engine, workflow } = this.#lanes;
    const id = this.#executions[this.#upTo(this.#executions.length)] ?? this.#lanes.newId();
    const key = { ...workflow, id };
    const choice = this.#upTo(6);
    if (choice < 2) {
      const added = this.#lanes.newId();
      this.#executions.push(added);
      const job = { kind: "run", payload: "{}", attempts: 3, backoffDelayMs: 1_000, concurrencyKey: null };
      await insertInternalJobs(engine, [
        { ...workflow, id: added, ...job, runAtMs: choice === 0 ? null : Date.parse("2026-11-21T12:00:05Z") },
      ]);
    } else if (choice === 2) await setDueAcrossWorkspaces(engine, [{ ...key, at: null }]);
    else if (choice === 3) await makeDueAcrossWorkspaces(engine, [{ ...key, version: null, seconds: 5 * this.#upTo(2) }]);
    else if (choice === 4) await removeUnrecorded(engine, key);
    else await removeUnlocked(engine, key, [id]);
  }

  #world(): FlowFixture {
    return this.#upTo(3) === 0 ? this.#lanes.approvals : this.#lanes.queue;
  }

  #newJob() {
    const delaySeconds = this.#upTo(4) === 0 ? 3 : 0;
    return { ...PLAIN_JOB, attempts: 3, delaySeconds, concurrencyKey: KEYS[this.#upTo(KEYS.length)] ?? null };
  }

  #verdict(): Parameters<FlowFixture["settle"]>[1] {
    const choice = this.#upTo(5);
    if (choice === 0) return { kind: "retry", waitMs: 2_000, error: ERROR };
    if (choice === 1) return { kind: "release", waitMs: 0 };
    return choice === 2 ? { kind: "fail", error: ERROR } : { kind: "complete", status: 200, result: null };
  }

  #upTo(most: number): number {
    return Math.floor(this.#chance.next().value * most);
  }
}
