import { changeKeyLimit, Rescue, reassignKeySlotsAcrossWorkspaces, Settler } from "#engine";
import { explainJob } from "#explain";
import { type Claim, claimAcrossWorkspaces, type EnqueueEngine, Enqueuer, retryJob } from "#jobs";
import { type Database, type JobId, rows, SharedResource, sql, systemRandom, type Transactional } from "#kernel";
import type { LaneKey, PulledWaker, Waker } from "#lanes";
import { findQueueOfLane } from "#queues";
import { createAdminContext } from "#workspaces";
import { PromoteDelayed } from "../../src/engine/come-due.ts";
import type { Verdict } from "../../src/engine/judge.ts";
import { cancelOrRemove } from "../../src/jobs/cancel.ts";
import type { NewJob } from "../../src/jobs/new-job.ts";
import { updateQueue } from "../../src/queues/store.ts";
import type { FrozenClock } from "./clock.ts";
import type { TestDatabase } from "./database.ts";
import { putNode } from "./engine.ts";
import type { Limits } from "./flow-model.ts";
import { lockWaits } from "./lock-waits.ts";
import { QUEUE_KINDS } from "./rescue.ts";

/** Rolls a transaction back: it was only a trial, or a simulated crash. */
class Undo extends Error {
  override readonly name = "Undo";
}

const quiet = () => {};
const NO_ONE: Waker & PulledWaker = { wake: quiet, wakePulled: quiet, wakeWorkflows: quiet, wakeAt: quiet };

/** Lets no job start without a claim. */
const NO_NODE: EnqueueEngine = {
  leaseId: null,
  roomFor: () => 0,
  expecting: (_ids, write) => write(),
  take: quiet,
  ...NO_ONE,
};

/** One queue and any number of nodes, which run the same statements as real nodes. */
export class FlowFixture {
  readonly lane: LaneKey;
  readonly #engine: Database;
  readonly #database: TestDatabase;
  readonly #adminContext: ReturnType<typeof createAdminContext>;

  constructor(database: TestDatabase, engine: Database, clock: FrozenClock, lane: LaneKey) {
    this.lane = lane;
    this.#engine = engine;
    this.#database = database;
    this.#adminContext = createAdminContext(clock, systemRandom);
  }

  async enqueue(jobs: readonly NewJob[], db: Transactional = this.#engine): Promise<JobId[]> {
    const enqueuer = new Enqueuer({
      db,
      ids: this.#adminContext.ids,
      outlet: NO_NODE,
      emit: quiet,
      backlog: new SharedResource({ name: "enqueue_backlog", capacity: 10_000 }),
    });
    const stored = await enqueuer.enqueue({ workspaceId: this.lane.workspaceId, executionsPerMonth: null }, "emails", jobs);
    if (!stored) throw new Error("The queue is gone.");
    return stored.map(({ id }) => id);
  }

  startNode(): Promise<number> {
    return putNode(this.#database);
  }

  /** Claims as a dispatcher does. If the lane turns out to have limits, or none any more, it claims again with the other statement. */
  async claim(leaseId: number, take: number, limited: boolean, db: Transactional = this.#engine): Promise<Claim[]> {
    const { claims, found } = await claimAcrossWorkspaces(db, { leaseId, served: "push" }, [{ ...this.lane, take }], limited);
    const passedOver = found.some((one) => one.limited !== limited);
    return passedOver ? this.claim(leaseId, take, !limited, db) : claims;
  }

  settle(claim: Claim, verdict: Verdict, db: Transactional = this.#engine): Promise<unknown> {
    return new Settler(db, QUEUE_KINDS, quiet, lockWaits()).add(claim, verdict, { tookMs: 1 });
  }

  cancel(id: JobId, db: Transactional = this.#engine): ReturnType<typeof cancelOrRemove> {
    return cancelOrRemove(db, this.#actor, { ...this.lane, id });
  }

  retry(id: JobId): Promise<unknown> {
    return retryJob(this.#engine, this.#actor, { ...this.lane, id });
  }

  /** The gates that hold the job, as explain reports them. */
  async heldBy(id: JobId): Promise<readonly string[]> {
    return (await explainJob(this.#engine, { ...this.lane, id }, "emails")).held_by;
  }

  /** Expires the node's lease and rescues its jobs, as after a crash. */
  async killNode(leaseId: number): Promise<void> {
    await rows(this.#engine, sql`update lease set expires_at = now() - interval '1 second' where id = ${leaseId}`);
    const db = this.#engine;
    const { clock, random } = this.#adminContext;
    const rescue = new Rescue({
      db,
      clock,
      random,
      emit: quiet,
      kinds: QUEUE_KINDS,
      lockWaits: lockWaits(),
      settler: new Settler(db, QUEUE_KINDS, quiet, lockWaits()),
      waker: NO_ONE,
    });
    await rescue.passAcrossWorkspaces();
    await rescue.stop();
  }

  comeDue(): Promise<unknown> {
    return new PromoteDelayed(this.#engine, NO_ONE, lockWaits(), quiet).pass();
  }

  async limit({ concurrency, perKey, rate, paused }: Limits): Promise<void> {
    const queue = await findQueueOfLane(this.#engine, this.lane.workspaceId, this.lane.laneId);
    if (!queue) throw new Error("The queue is gone.");
    const settings = {
      callbackUrl: undefined,
      callbackHeaders: undefined,
      attemptTimeoutSeconds: undefined,
      served: undefined,
      callbackSecret: undefined,
      attempts: undefined,
      backoffDelayMs: undefined,
      approvalTimeout: undefined,
      onTimeout: undefined,
      concurrency,
      concurrencyPerKey: perKey,
      rateMax: rate?.max ?? null,
      rateSeconds: rate?.perSeconds ?? null,
      paused,
    };
    await this.#engine.transaction((tx) => changeKeyLimit(tx, queue.id, () => updateQueue(tx, queue, settings)));
  }

  async reassignKeySlots(): Promise<void> {
    while ((await reassignKeySlotsAcrossWorkspaces(this.#engine, NO_ONE)) === 0);
  }

  /** Runs `work` in one transaction. */
  inTransaction<Result>(work: (tx: Transactional) => Promise<Result>): Promise<Result> {
    return this.#engine.transaction((tx) => work({ query: (statement) => tx.query(statement), transaction: (inner) => inner(tx) }));
  }

  /** Runs `work` in a transaction that is rolled back. Returns the result. */
  async undone<Result>(work: (tx: Transactional) => Promise<Result>): Promise<Result | undefined> {
    let result: Result | undefined;
    const tryOut = this.inTransaction(async (tx) => {
      result = await work(tx);
      throw new Undo();
    });
    await tryOut.catch((error) => {
      if (!(error instanceof Undo)) throw error;
    });
    return result;
  }

  /** The lane's rows in `job`. */
  live(): Promise<{ id: JobId; state: string; key: string | null; slot: number | null }[]> {
    return rows(
      this.#engine,
      sql`
        select id, state, concurrency_key as key, key_slot as slot from job
        where workspace_id = ${this.lane.workspaceId} and lane_id = ${this.lane.laneId}`,
    );
  }

  get #actor() {
    return { audit: this.#adminContext.audit, actorId: "system", queue: "emails" };
  }
}
