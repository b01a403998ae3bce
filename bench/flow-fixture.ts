import { type Claim, claimAcrossWorkspaces, completeAcrossWorkspaces } from "../packages/server/src/jobs/index.ts";
import { Database, rows, sql } from "../packages/server/src/kernel/index.ts";
import type { LaneKey } from "../packages/server/src/lanes/index.ts";
import { register } from "../packages/server/test/harness/node-leases.ts";
import type { Environment } from "./environment.ts";
import { putJobs, putQueue, type QueueToPut, vacuumAnalyze } from "./put-jobs.ts";

export const UNREACHABLE_URL = "http://127.0.0.1:9/";
const LEASE_SECONDS = 3_600;
const LOG_ENTRY =
  '{"attempt":1,"started_at":"2026-11-21T12:00:00.000Z","duration_ms":4.2,"outcome":"completed","status":200,"error":null,"worker":null}';

/** How long claims took, and the settles of the claimed jobs. Milliseconds. */
export interface FlowTimes {
  readonly claims: number[];
  readonly settles: number[];
}

/** A database in which this process claims and settles jobs as a node does. */
export class FlowFixture {
  readonly database: Database;
  readonly #leaseId: number;

  private constructor(database: Database, leaseId: number) {
    this.database = database;
    this.#leaseId = leaseId;
  }

  /** Opens the environment's database, or another database of the same server. */
  static async open(environment: Environment, name = environment.connection.database): Promise<FlowFixture> {
    const connection = { ...environment.connection, database: name };
    const { host, port, user } = connection;
    // A node creates the tables and the workspace.
    const node = await environment.node({ DATABASE_URL: `postgres://${user}@${encodeURIComponent(host)}:${port}/${name}` });
    await node.stop();
    const database = new Database({ connection, size: 2, statementTimeoutMs: 600_000 });
    const lease = await register(database, LEASE_SECONDS);
    if (!lease) throw new Error("No lease was granted.");
    return new FlowFixture(database, lease.id);
  }

  /** Creates a lane with jobs that have no concurrency key. */
  async lane(jobs: number, queue: Omit<QueueToPut, "url">): Promise<LaneKey> {
    const lane = await putQueue(this.database, { url: UNREACHABLE_URL, ...queue });
    await putJobs(this.database, lane, jobs);
    await vacuumAnalyze(this.database);
    return lane;
  }

  async claim(lanes: readonly LaneKey[], take: number, limited: boolean): Promise<Claim[]> {
    const shares = lanes.map(({ workspaceId, laneId }) => ({ workspaceId, laneId, take }));
    const { claims } = await claimAcrossWorkspaces(this.database, { leaseId: this.#leaseId, served: "push" }, shares, limited);
    if (claims.length !== take * lanes.length) throw new Error(`A claim returned ${claims.length} jobs.`);
    return claims;
  }

  /** Claims jobs, settles them, and records how long both took. */
  async claimAndSettle({ claims, settles }: FlowTimes, lanes: readonly LaneKey[], take: number, limited: boolean): Promise<void> {
    const startedMs = performance.now();
    const claimed = await this.claim(lanes, take, limited);
    const claimedMs = performance.now();
    const { moved } = await completeAcrossWorkspaces(
      this.database,
      claimed.map((claim) => ({ ...claim, result: null, logEntry: LOG_ENTRY })),
    );
    if (moved !== claimed.length) throw new Error(`A settle moved ${moved} jobs.`);
    claims.push(claimedMs - startedMs);
    settles.push(performance.now() - claimedMs);
  }

  /** Adds jobs to a lane, to replace the settled ones. */
  refill = (lane: LaneKey, jobs: number): Promise<unknown> => putJobs(this.database, lane, jobs);

  async close(): Promise<void> {
    await rows(this.database, sql`update lease set expires_at = now()`);
    await this.database.close();
  }
}
