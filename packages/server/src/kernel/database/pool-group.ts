import pg from "pg";
import { after } from "../after.ts";
import type { EmitEvent } from "../events.ts";
import { PeriodicReport } from "../periodic-report.ts";

/** A refused pool does not try to grow again for this long. Milliseconds. */
const GROW_AGAIN_MS = 10_000;
/** How long a server may take to close a connection. A frozen server never does. */
const CLOSE_SECONDS = 1;
/** How often a connection that another pool gave up is tried for. Other nodes may take it first. */
const TRIES = 3;
const TOO_MANY_CONNECTIONS = "53300";

type Callback = (error: Error | undefined, client: pg.PoolClient | undefined, done: (release?: Error | boolean) => void) => void;

/** Whether PostgreSQL refused a connection because the role, the database or the server has as many as it may have. */
export const isTooManyConnections = (error: unknown): boolean => (error as { code?: string } | null)?.code === TOO_MANY_CONNECTIONS;

/**
 * The pools of a node. If PostgreSQL allows fewer connections than they want together, they share those that there are: without that, the
 * pools that were opened first would keep all, and the others would get none for as long as it lasts.
 */
export class PoolGroup {
  readonly #emit: EmitEvent;
  readonly #pools = new Set<Pool>();
  readonly #refusals = new PeriodicReport();
  #turns: Promise<unknown> = Promise.resolve();

  constructor(emit: EmitEvent = () => {}) {
    this.#emit = emit;
  }

  add(pool: Pool): void {
    this.#pools.add(pool);
  }

  remove(pool: Pool): void {
    this.#pools.delete(pool);
  }

  /** Runs one piece of work at a time, so that each sees how many connections the pools have after the one before. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turns.then(work);
    this.#turns = result.catch(() => {});
    return result;
  }

  /** Closes a connection of another pool for one that has none, if there is one to spare. For connections outside of the pools. */
  makeRoom(): Promise<boolean> {
    return this.inTurn(() => this.takeFor(null));
  }

  /**
   * Closes a connection of another pool. One that has no connection gets it from any pool that has more than one; another only from pools
   * that have more than they need.
   */
  async takeFor(taker: Pool | null): Promise<boolean> {
    const isEmpty = taker === null || taker.open === 0;
    const spare = (pool: Pool) => pool.open - (isEmpty ? 1 : pool.needs);
    const [richest] = [...this.#pools]
      .filter((pool) => pool !== taker && spare(pool) > 0)
      .sort((a, b) => Math.min(1, b.idleCount) - Math.min(1, a.idleCount) || spare(b) - spare(a));
    return richest === undefined ? false : richest.giveUpOne();
  }

  reportRefusal(error: unknown): void {
    this.#refusals.count(performance.now(), (count) => {
      const pools = [...this.#pools];
      const open = pools.reduce((sum, pool) => sum + pool.open, 0);
      const wanted = pools.reduce((sum, pool) => sum + pool.size, 0);
      this.#emit("database_connections_refused", { open, wanted, count, error });
    });
  }
}

export interface GroupOptions {
  readonly group?: PoolGroup;
  /** How many connections the pool keeps when others lack some. */
  readonly needs?: number;
}

/** A pool of a group. When it is refused a connection, it makes do with those it has, or gets one from another pool of the group. */
export class Pool extends pg.Pool {
  /** The maximum number of connections while none is refused. */
  readonly size: number;
  readonly needs: number;
  readonly #group: PoolGroup;
  #open = 0;
  #growAtMs = 0;

  constructor(options: pg.PoolConfig & { readonly max: number }, { group = new PoolGroup(), needs = 1 }: GroupOptions = {}) {
    super(options);
    this.size = options.max;
    this.needs = needs;
    this.#group = group;
    group.add(this);
    this.on("connect", (client) => {
      this.#open += 1;
      // It may leave the pool, or break, in several ways. This comes last in each.
      client.once("end", () => {
        this.#open -= 1;
      });
    });
  }

  /** How many connections are open. Those that are being opened do not count. */
  get open(): number {
    return this.#open;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    if (callback === undefined)
      return new Promise((resolve, reject) => {
        this.connect((error, client) => (client === undefined ? reject(error) : resolve(client)));
      });
    if (this.options.max < this.size && performance.now() >= this.#growAtMs) this.options.max = this.size;
    this.#connect((error, client, done) => {
      if (isTooManyConnections(error)) void this.#makeDo(error as Error, callback);
      else callback(error, client, done);
    });
    return undefined;
  }

  /** Closes a connection as soon as one is free, and does not open it again for now. Whether it did. */
  async giveUpOne(): Promise<boolean> {
    this.#limitTo(this.#open - 1);
    try {
      const client = await super.connect();
      const closed = new Promise((resolve) => client.once("end", resolve));
      client.release(true);
      // The server closes the socket when the process has ended and does not count any more.
      await Promise.race([closed, after(CLOSE_SECONDS)]);
      return true;
    } catch {
      return false;
    }
  }

  override async end(): Promise<void> {
    this.#group.remove(this);
    await super.end();
  }

  async #makeDo(refusal: Error, callback: Callback): Promise<void> {
    this.#group.reportRefusal(refusal);
    const taken = this.#open < this.needs ? await this.#group.inTurn(() => this.#takeOne()) : null;
    if (taken) return callback(undefined, taken, (release) => taken.release(release));
    if (this.#open === 0) return callback(refusal, undefined, () => {});
    this.#limitTo(this.#open);
    this.#connect(callback);
  }

  async #takeOne(): Promise<pg.PoolClient | null> {
    for (let tries = 0; tries < TRIES && this.#open < this.needs && (await this.#group.takeFor(this)); tries += 1) {
      this.options.max = Math.max(this.options.max, Math.min(this.size, this.totalCount + 1));
      try {
        return await super.connect();
      } catch (error) {
        if (!isTooManyConnections(error)) return null;
      }
    }
    return null;
  }

  #connect(callback: Callback): void {
    super.connect((error, client, done) => callback(error && this.#explain(error), client, done));
  }

  #limitTo(connections: number): void {
    this.options.max = Math.max(1, connections);
    this.#growAtMs = performance.now() + GROW_AGAIN_MS;
  }

  /** pg's message is about connecting, although nothing was connected: all connections were in use. */
  #explain(error: Error): Error {
    if (error.message !== "timeout exceeded when trying to connect") return error;
    const seconds = (this.options.connectionTimeoutMillis ?? 0) / 1000;
    const all = this.#open === 1 ? "The only one of its kind is in use" : `All ${this.#open} of its kind are in use`;
    return new Error(`No database connection was free for ${seconds} s. ${all}, for example by statements that wait for locks.`);
  }
}
