import { readJobId } from "#jobs";
import { Database, type JobId, Tenants, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { TestDatabase } from "./database.ts";
import { test as base, type Service } from "./service.ts";

/** As `test`, with a node's connections to the file's database, where time is frozen. For statements that no endpoint runs alone. */
export const test = base
  .extend("engine", { scope: "file" }, async ({ database, clock: _frozen }, { onCleanup }) => {
    const engine = new Database(optionsOf(database));
    onCleanup(() => engine.close());
    return engine;
  })
  .extend("tenants", { scope: "file" }, async ({ database }, { onCleanup }) => {
    const tenants = new Tenants(optionsOf(database));
    onCleanup(() => tenants.close());
    return tenants;
  });

const optionsOf = (database: TestDatabase): ConstructorParameters<typeof Database>[0] => ({
  connection: { connectionString: database.url },
  size: 4,
  statementTimeoutMs: 10_000,
});

/** The lane of a queue that was created over HTTP. */
export async function laneOf(service: Service, queue: string): Promise<LaneKey> {
  const found = await service.database.query<{ workspace_id: WorkspaceId; id: string }>(
    "select q.workspace_id, q.id from lane q join api_key k using (workspace_id) where k.hash = sha256($1::text::bytea) and q.name = $2",
    [service.key, queue],
  );
  if (!found[0]) throw new Error(`There is no queue ${queue}.`);
  return { workspaceId: found[0].workspace_id, laneId: Number(found[0].id) as LaneId };
}

/** The job's id in the database, a UUID. */
export const uuidOfJob = (job: { id: string }): JobId => readJobId(job.id) as JobId;

/** Inserts a workspace with one queue into the database. Nodes that run there do not claim from a paused one. */
export async function putLane(database: TestDatabase, { retentionDays = 365 as number | null, paused = false } = {}): Promise<LaneKey> {
  const [workspace] = await database.query<{ id: WorkspaceId }>(
    "insert into workspace (id, name, plan, retention_days) values (gen_random_uuid(), 'Test', 'enterprise', $1) returning id",
    [retentionDays],
  );
  const [queue] = await database.query<{ id: string }>(
    `with l as (insert into lane (workspace_id, kind, name, served, paused) values ($1, 'queue', 'emails', 'push', $2) returning workspace_id, id)
     insert into queue (workspace_id, id, callback_url, callback_secret) select workspace_id, id, 'http://127.0.0.1:9/callback', 'cbs_' from l
     returning id`,
    [workspace?.id, paused],
  );
  return { workspaceId: workspace?.id as WorkspaceId, laneId: Number(queue?.id) as LaneId };
}

/** Inserts a node. Its lease holds for an hour, or expired half an hour ago: nodes without claims that expired earlier are deleted. */
export async function putNode(database: TestDatabase, { alive = true } = {}): Promise<number> {
  const hours = alive ? 1 : -0.5;
  const [node] = await database.query<{ id: string }>(
    `with l as (insert into lease (holder, expires_at) values ('node', now() + $1 * interval '1 hour') returning id)
     insert into node (lease_id, master_key_ids) select id, '{}' from l returning lease_id as id`,
    [hours],
  );
  return Number(node?.id);
}

/** Inserts an open circuit. By default its next probe is due. */
export const putCircuit = (
  database: TestDatabase,
  { workspaceId, laneId }: LaneKey,
  { revision = 1, inSeconds = 0 } = {},
): Promise<unknown> =>
  database.query(
    `insert into circuit (workspace_id, lane_id, revision, probe_at, last_error)
     values ($1, $2, $3, moment() + $4 * interval '1 second', '{"code":"TIMEOUT","message":"Too slow.","status":null}')`,
    [workspaceId, laneId, revision, inSeconds],
  );
