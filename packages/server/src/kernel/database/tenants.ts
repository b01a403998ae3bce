import type pg from "pg";
import type { WorkspaceId } from "../ids.ts";
import { SharedResource } from "../shares/shared-resource.ts";
import { createPool, executeOn, inTransaction, onConnection, openAll, type PoolOptions, type Transactional } from "./pool.ts";
import { type Statement, sql } from "./sql.ts";

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

  /** @param connections the connections of this pool, which workspaces share */
  constructor(options: PoolOptions, connections = new SharedResource({ name: "connections", capacity: options.size })) {
    this.#connections = connections;
    this.#pool = createPool(options, ["tidemill_tenant", "tidemill"]);
  }

  /** The database as a workspace sees it. The first statement of a transaction cannot set its isolation level. */
  of(workspaceId: WorkspaceId): Transactional {
    const set = [sql`select set_config('tidemill.workspace_id', ${workspaceId}, false)`];
    /** @param work calls `before` when it executes its first statement, to get the statements that must be executed before that one */
    const enter = async <Result>(client: pg.PoolClient, work: (before: () => readonly Statement[]) => Promise<Result>): Promise<Result> => {
      if (this.#workspaces.get(client) === workspaceId) return work(() => []);
      // If this fails, the connection may be set to either workspace.
      this.#workspaces.delete(client);
      let isSet = false;
      const result = await work(() => {
        isSet = true;
        return set;
      });
      if (isSet) this.#workspaces.set(client, workspaceId);
      return result;
    };
    const inTurn = <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> =>
      this.#connections.use(workspaceId, () => onConnection(this.#pool, work));
    return {
      query: (statement) => inTurn((client) => enter(client, (before) => executeOn(client, statement, before()))),
      transaction: (work) => inTurn((client) => enter(client, (before) => inTransaction(client, work, before))),
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
