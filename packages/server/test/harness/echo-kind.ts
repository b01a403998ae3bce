import { readConfig } from "@tidemill/server";
import { type AttemptResult, type ClaimOutcome, createEngine, type Engine, type JobKind } from "#engine";
import { insertInternalJobs } from "#jobs";
import { Database, type Db, type JobId, Services, Shares, sql, systemRandom, UuidSource } from "#kernel";
import type { LaneKey } from "#lanes";
import type { FrozenClock } from "./clock.ts";
import type { TestDatabase } from "./database.ts";
import { lockWaits } from "./lock-waits.ts";

/** A job kind that exists only in tests. Its jobs leave no record. Each outcome writes a row in the transaction of its settle. */
export class EchoKind implements JobKind {
  readonly name = "echo";
  readonly recorded = false;
  /** Attempts that have started, in order. */
  readonly started: JobId[] = [];
  /** The result of each attempt. By default it is accepted. */
  answer: (attempt: number) => AttemptResult = () => ({ kind: "accepted", status: 200, result: null });
  /** Called before the row is written. If it throws, the settle fails. */
  beforeRow: (outcome: ClaimOutcome) => void = () => {};

  readonly deliverer: JobKind["deliverer"] = {
    start: ({ id, attempt }) => {
      this.started.push(id);
      return { result: Promise.resolve(this.answer(attempt)), abort: () => {} };
    },
    enforceDeadlines: () => {},
  };

  async settled(tx: Db, outcomes: readonly ClaimOutcome[]): Promise<void> {
    for (const outcome of outcomes) {
      const { claim, verdict } = outcome;
      this.beforeRow(outcome);
      await tx.query(sql`insert into echo (job_id, attempt, verdict) values (${claim.id}, ${claim.attempt}, ${verdict.kind})`);
    }
  }

  /** Adds the kind and its table to the database. */
  static async prepare(database: TestDatabase): Promise<void> {
    await database.query("alter type job_kind add value if not exists 'echo'");
    await database.query("create table if not exists echo (job_id uuid not null, attempt integer not null, verdict text not null)");
  }
}

const quiet = () => {};
const ids = (clock: FrozenClock) => new UuidSource(clock, systemRandom);

/** Enqueues jobs of this kind. Returns their ids. */
export async function enqueueEchoes(db: Db, clock: FrozenClock, lane: LaneKey, count: number, attempts = 3): Promise<JobId[]> {
  const source = ids(clock);
  const jobs = Array.from({ length: count }, () => ({
    ...lane,
    id: source.next() as JobId,
    kind: "echo",
    payload: "{}",
    attempts,
    backoffDelayMs: 1_000,
    runAtMs: null,
    concurrencyKey: null,
  }));
  await insertInternalJobs(db, jobs);
  return jobs.map(({ id }) => id);
}

/** Starts only an engine, with these job kinds, on the file's database. */
export async function startEngine(
  database: TestDatabase,
  clock: FrozenClock,
  kinds: readonly JobKind[],
): Promise<Engine & { stop(): Promise<void> }> {
  const connection = { connectionString: database.url };
  const pool = (size: number) => new Database({ connection, size, statementTimeoutMs: 10_000 });
  const enginePool = pool(4);
  const databases = {
    api: enginePool,
    engine: enginePool,
    claims: enginePool,
    housekeeping: enginePool,
    lease: pool(1),
    connection,
    makeRoom: async () => {},
  };
  const config = readConfig({ DATABASE_URL: database.url, TIDEMILL_DRAIN_SECONDS: "1" });
  const engine = createEngine({
    config,
    shares: new Shares({ ...config, clientConnections: 1, tenantConnections: 1, emit: quiet }),
    clock,
    random: systemRandom,
    ids: new UuidSource(clock, systemRandom),
    version: "0.0.0",
    nodeUrl: () => "http://127.0.0.1:8080",
    emit: quiet,
    report: quiet,
    databases: { ...databases, lockWaits: lockWaits() },
    kinds,
    masterKeys: { ids: () => [], onMissing: quiet },
    handlers: {
      workspaceChanged: quiet,
      personChanged: quiet,
      workspaceDeleted: quiet,
      masterKeyChanged: quiet,
      runChanged: quiet,
      workspaceFollowed: quiet,
      recordsChanged: quiet,
      followersWanted: quiet,
    },
    look: quiet,
    onPulled: { woken: quiet, cancelled: quiet, laneDeleted: quiet, isLimited: () => false },
  });
  const services = new Services([engine.lease, engine.loops, engine.attempts], quiet);
  await services.start();
  return {
    ...engine,
    stop: async () => {
      engine.drain();
      await services.stop();
      await Promise.all([databases.engine.close(), databases.lease.close()]);
    },
  };
}
