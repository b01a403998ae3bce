import type { Explanation, GateName } from "@tidemill/contract";
import { explainJob } from "#explain";
import { type Database, type JobId, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import type { FrozenClock } from "./clock.ts";
import type { TestDatabase } from "./database.ts";
import { test as base, putCircuit, putLane } from "./engine.ts";
import { FlowFixture } from "./flow-fixture.ts";
import { putJobs, type Seed } from "./jobs.ts";

/** A queue whose settings and jobs a test sets directly in the database. Its jobs are explained, and then claimed. */
export class ExplainFixture {
  readonly lane: LaneKey;
  readonly world: FlowFixture;
  readonly leaseId: number;
  readonly #database: TestDatabase;
  readonly #engine: Database;

  private constructor(database: TestDatabase, engine: Database, world: FlowFixture, leaseId: number) {
    this.#database = database;
    this.#engine = engine;
    this.world = world;
    this.lane = world.lane;
    this.leaseId = leaseId;
  }

  static async put(database: TestDatabase, engine: Database, clock: FrozenClock): Promise<ExplainFixture> {
    const world = new FlowFixture(database, engine, clock, await putLane(database));
    return new ExplainFixture(database, engine, world, await world.startNode());
  }

  /** @param settings SQL that sets columns of the lane, or the queue's columns for approvals and callbacks */
  async set(settings: string): Promise<void> {
    const table = /^(type|approval_timeout|on_timeout|callback_secret)\b/.test(settings) ? "queue" : "lane";
    await this.#database.query(`update ${table} set ${settings} where id = $1`, [this.lane.laneId]);
  }

  /** Lets the leases of all nodes end. */
  async loseNodes(): Promise<void> {
    await this.#database.query("update lease set expires_at = now() where holder = 'node'");
  }

  async setPlan(plan: string): Promise<void> {
    await this.#database.query("update workspace set plan = $2 where id = $1", [this.lane.workspaceId, plan]);
  }

  /** Inserts jobs. Jobs with a concurrency key get the slots that are free. Returns their ids, oldest first. */
  async jobs({ key = null, ...seed }: Partial<Seed> & { key?: string | null } = {}): Promise<JobId[]> {
    const ids = await putJobs(this.#database, this.lane, {
      state: "waiting",
      ...(seed.state === "active" && { leaseId: this.leaseId }),
      ...seed,
    });
    if (key === null) return ids;
    await this.#database.query(
      `update job set concurrency_key = $2, key_slot = case when state = 'active' then taken + slot end
       from unnest($1::uuid[]) with ordinality as put (id, slot),
         (select coalesce(max(key_slot), 0) as taken from job where lane_id = $3 and concurrency_key = $2) slots
       where job.id = put.id and state in ('waiting', 'delayed', 'pending_approval', 'active', 'failed')`,
      [ids, key, this.lane.laneId],
    );
    // By a connection of the engine: planned on the file's own connection, it takes ten times as long.
    const { workspaceId, laneId } = this.lane;
    await this.#engine.query(sql`select assign_key_slots(array[${workspaceId}::uuid], array[${laneId}::bigint], array[${key}::text])`);
    return ids;
  }

  async job(seed: Parameters<ExplainFixture["jobs"]>[0] = {}): Promise<JobId> {
    const [id] = await this.jobs(seed);
    if (!id) throw new Error("No job was inserted.");
    return id;
  }

  /** Records that `jobs` jobs started `secondsAgo` seconds ago, for the queue's rate limit. */
  async started(jobs: number, secondsAgo = 0): Promise<void> {
    await this.#database.query(
      `insert into lane_starts as s values ($1, $2, array[moment() - $4 * interval '1 second'], array[$3::int])
       on conflict (workspace_id, lane_id) do update set at = s.at || excluded.at, jobs = s.jobs || excluded.jobs`,
      [this.lane.workspaceId, this.lane.laneId, jobs, secondsAgo],
    );
  }

  /** Records how many jobs of the queue finished in the last minute, or since it was created `age` seconds ago. */
  async finished(completed: number, failed = 0, age = 3_600): Promise<void> {
    await this.#database.query("update queue set created_at = moment() - $2 * interval '1 second' where id = $1", [this.lane.laneId, age]);
    await this.#database.query(
      "insert into tally values ($1, $2, moment() - interval '59 seconds', $3, $4), ($1, $2, moment() - interval '60 seconds', 999, 999)",
      [this.lane.workspaceId, this.lane.laneId, completed, failed],
    );
  }

  /** Opens the circuit, with the next probe in `inSeconds`. */
  async open(inSeconds: number): Promise<void> {
    await putCircuit(this.#database, this.lane, { inSeconds });
  }

  explain(id: JobId): Promise<Explanation> {
    return explainJob(this.#engine, { ...this.lane, id }, "emails");
  }

  async heldBy(id: JobId): Promise<readonly GateName[]> {
    return (await this.explain(id)).held_by;
  }

  /** The jobs that no gate holds. */
  async free(ids: readonly JobId[]): Promise<JobId[]> {
    const free: JobId[] = [];
    for (const id of ids) if ((await this.heldBy(id)).length === 0) free.push(id);
    return free;
  }

  /** The jobs that a node with enough room would claim. The claim is rolled back. */
  async taken(): Promise<JobId[]> {
    const claims = await this.world.undone((tx) => this.world.claim(this.leaseId, 100_000, false, tx));
    return (claims ?? []).map(({ id }) => id).sort();
  }
}

/** As the engine's `test`, with a queue of the test's own as `stage`. */
export const test = base.extend("stage", ({ database, engine, clock }) => ExplainFixture.put(database, engine, clock));
