import { registerNode } from "../packages/server/src/engine/leases/store.ts";
import { type Claim, claimAcrossWorkspaces, completeAcrossWorkspaces } from "../packages/server/src/jobs/index.ts";
import { Database, rows, sql } from "../packages/server/src/kernel/index.ts";
import { type LaneOf, putJobs, putQueue, type QueueToPut, tidy } from "./put-jobs.ts";
import type { Yard } from "./yard.ts";

export const NOBODY = "http://127.0.0.1:9/";
const LEASE_SECONDS = 3_600;
const LOG_ENTRY =
  '{"attempt":1,"started_at":"2026-11-21T12:00:00.000Z","duration_ms":4.2,"outcome":"completed","status":200,"error":null,"worker":null}';

/** Times of claims and of the settles of what they brought. Milliseconds. */
export interface FlowTimes {
  readonly claims: number[];
  readonly settles: number[];
}

/** A database in which this process claims and settles as a node does, with a lane to do it in. */
export class FlowGround {
  readonly database: Database;
  readonly #leaseId: number;

  private constructor(database: Database, leaseId: number) {
    this.database = database;
    this.#leaseId = leaseId;
  }

  /** The yard's own database, or another one beside it. */
  static async open(yard: Yard, name = yard.connection.database): Promise<FlowGround> {
    const connection = { ...yard.connection, database: name };
    const { host, port, user } = connection;
    // A node makes the tables and the workspace.
    const node = await yard.node({ DATABASE_URL: `postgres://${user}@${encodeURIComponent(host)}:${port}/${name}` });
    await node.stop();
    const database = new Database({ connection, size: 2, statementTimeoutMs: 600_000 });
    const lease = await registerNode(database, LEASE_SECONDS, []);
    if (!lease) throw new Error("No lease was answered.");
    return new FlowGround(database, lease.id);
  }

  /** A lane with jobs without keys. */
  async lane(jobs: number, queue: Omit<QueueToPut, "url">): Promise<LaneOf> {
    const lane = await putQueue(this.database, { url: NOBODY, ...queue });
    await putJobs(this.database, lane, jobs);
    await tidy(this.database);
    return lane;
  }

  async claim(lanes: readonly LaneOf[], take: number, limited: boolean): Promise<Claim[]> {
    const shares = lanes.map(({ workspaceId, laneId }) => ({ workspaceId, laneId, take }));
    const { claims } = await claimAcrossWorkspaces(this.database, { leaseId: this.#leaseId, served: "push" }, shares, limited);
    if (claims.length !== take * lanes.length) throw new Error(`A claim brought ${claims.length} jobs.`);
    return claims;
  }

  /** Claims and settles once, and takes the times. */
  async turn({ claims, settles }: FlowTimes, lanes: readonly LaneOf[], take: number, limited: boolean): Promise<void> {
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

  /** Gives a lane as many jobs as a turn took from it. */
  refill = (lane: LaneOf, jobs: number): Promise<unknown> => putJobs(this.database, lane, jobs);

  async close(): Promise<void> {
    await rows(this.database, sql`update lease set expires_at = now()`);
    await this.database.close();
  }
}
