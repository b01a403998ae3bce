import { changeKeyLimit, JobKinds, reassignKeySlotsAcrossWorkspaces, rescueAcrossWorkspaces, Settler } from "#engine";
import { explainJob } from "#explain";
import { type Claim, claimAcrossWorkspaces, Enqueuer, type Outlet, retryJob } from "#jobs";
import { type Database, type JobId, rows, sql, systemRandom, type Transactional } from "#kernel";
import type { LaneKey, Waker } from "#lanes";
import { findQueueOfLane } from "#queues";
import { createRegistrar } from "#workspaces";
import { comeDueAcrossWorkspaces } from "../../src/engine/come-due.ts";
import type { Verdict } from "../../src/engine/retry.ts";
import { cancelOrRemove } from "../../src/jobs/cancel.ts";
import type { NewJob } from "../../src/jobs/new-job.ts";
import { updateQueue } from "../../src/queues/store.ts";
import type { FrozenClock } from "./clock.ts";
import type { TestDatabase } from "./database.ts";
import { putNode } from "./engine.ts";
import type { Limits } from "./flow-model.ts";

/** Ends a transaction that was only tried out, or that a crash ended. */
class Undo extends Error {
  override readonly name = "Undo";
}

const quiet = () => {};
const NO_ONE: Waker = { wake: quiet, wakeAt: quiet };
const KINDS = new JobKinds([]);

/** Nothing goes straight through: every start is a claim. */
const NO_NODE: Outlet = {
  leaseId: null,
  room: () => 0,
  expecting: (_ids, write) => write(),
  take: quiet,
  ...NO_ONE,
};

/** One queue, moved by the statements that nodes move it by, from as many nodes as are put to it. */
export class FlowFixture {
  readonly lane: LaneKey;
  readonly #engine: Database;
  readonly #database: TestDatabase;
  readonly #registrar: ReturnType<typeof createRegistrar>;

  constructor(database: TestDatabase, engine: Database, clock: FrozenClock, lane: LaneKey) {
    this.lane = lane;
    this.#engine = engine;
    this.#database = database;
    this.#registrar = createRegistrar(clock, systemRandom);
  }

  async enqueue(jobs: readonly NewJob[], db: Transactional = this.#engine): Promise<JobId[]> {
    const enqueuer = new Enqueuer({ db, ids: this.#registrar.ids, outlet: NO_NODE, emit: quiet, maxWaiting: 10_000 });
    const stored = await enqueuer.enqueue({ workspaceId: this.lane.workspaceId, executionsPerMonth: null }, "emails", jobs);
    if (!stored) throw new Error("The queue is gone.");
    return stored.map(({ id }) => id);
  }

  startNode(): Promise<number> {
    return putNode(this.#database);
  }

  /** As a dispatcher does: a lane that turns out to have limits, or none any more, is claimed from the other way. */
  async claim(leaseId: number, take: number, limited: boolean, db: Transactional = this.#engine): Promise<Claim[]> {
    const { claims, found } = await claimAcrossWorkspaces(db, { leaseId, served: "push" }, [{ ...this.lane, take }], limited);
    const passedOver = found.some((one) => one.limited !== limited);
    return passedOver ? this.claim(leaseId, take, !limited, db) : claims;
  }

  settle(claim: Claim, verdict: Verdict, db: Transactional = this.#engine): Promise<unknown> {
    return new Settler(db, KINDS, quiet).add(claim, verdict, { tookMs: 1 });
  }

  cancel(id: JobId, db: Transactional = this.#engine): Promise<unknown> {
    return cancelOrRemove(db, this.#actor, { ...this.lane, id });
  }

  retry(id: JobId): Promise<unknown> {
    return retryJob(this.#engine, this.#actor, { ...this.lane, id });
  }

  /** The gates that hold the job, as its owner is told. */
  async heldBy(id: JobId): Promise<readonly string[]> {
    return (await explainJob(this.#engine, { ...this.lane, id }, "emails")).held_by;
  }

  /** The node is gone, and with it all that it knew. */
  async killNode(leaseId: number): Promise<void> {
    await rows(this.#engine, sql`update lease set expires_at = now() - interval '1 second' where id = ${leaseId}`);
    const db = this.#engine;
    const { clock, random } = this.#registrar;
    await rescueAcrossWorkspaces({ db, clock, random, emit: quiet, kinds: KINDS, settler: new Settler(db, KINDS, quiet), waker: NO_ONE });
  }

  comeDue(): Promise<unknown> {
    return comeDueAcrossWorkspaces(this.#engine, NO_ONE);
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

  /** Does it in one transaction. */
  inTransaction<Result>(work: (tx: Transactional) => Promise<Result>): Promise<Result> {
    return this.#engine.transaction((tx) => work({ query: (statement) => tx.query(statement), transaction: (inner) => inner(tx) }));
  }

  /** Does it in a transaction that comes to nothing. Answers what it had brought. */
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

  /** The live jobs, as they are stored. */
  live(): Promise<{ id: JobId; state: string; key: string | null; slot: number | null }[]> {
    return rows(
      this.#engine,
      sql`
        select id, state, concurrency_key as key, key_slot as slot from job
        where workspace_id = ${this.lane.workspaceId} and lane_id = ${this.lane.laneId}`,
    );
  }

  get #actor() {
    return { audit: this.#registrar.audit, actorId: "system", queue: "emails" };
  }
}
