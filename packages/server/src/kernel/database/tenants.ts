import type pg from "pg";
import type { WorkspaceId } from "../ids.ts";
import { SharedResource } from "../shares/shared-resource.ts";
import { createPool, executeOn, inTransaction, onConnection, openAll, type PoolOptions, type Transactional } from "./pool.ts";
import { type Db, type Statement, sql } from "./sql.ts";

/**
 * Connections on which a workspace sees only its own rows. They look for tables in the schema `tidemill_tenant` first, where each table
 * is a view of the rows of the session's workspace (migration 0009). This is the second wall between tenants. The first is the
 * `workspace_id` in every statement (I11). A session without a workspace sees no rows.
 */
export class Tenants {
  readonly #pool: pg.Pool;
  readonly #connections: SharedResource;
  /** The workspace that each connection is set to. It is set again only when it changes. */
  readonly #workspaces = new WeakMap<pg.PoolClient, WorkspaceId>();

  /** @param connections what workspaces share: the connections of this pool */
  constructor(options: PoolOptions, connections = new SharedResource({ name: "connections", capacity: options.size })) {
    this.#connections = connections;
    this.#pool = createPool(options, ["tidemill_tenant", "tidemill"]);
  }

  /** The database as a workspace sees it. */
  of(workspaceId: WorkspaceId): Transactional {
    const enter = async (client: pg.PoolClient): Promise<Db> => {
      if (this.#workspaces.get(client) !== workspaceId) {
        this.#workspaces.delete(client);
        await executeOn(client, sql`select set_config('tidemill.workspace_id', ${workspaceId}, false)`);
        this.#workspaces.set(client, workspaceId);
      }
      return { query: (statement) => executeOn(client, statement) };
    };
    const inTurn = <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> =>
      this.#connections.use(workspaceId, () => onConnection(this.#pool, work));
    return {
      query: (statement: Statement) => inTurn(async (client) => (await enter(client)).query(statement)),
      transaction: (work) =>
        inTurn(async (client) => {
          await enter(client);
          return inTransaction(client, work);
        }),
    };
  }

  /** Opens all connections. No request has to wait for a new one until they have been idle for 10 minutes. */
  open(): Promise<void> {
    return openAll(this.#pool);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
