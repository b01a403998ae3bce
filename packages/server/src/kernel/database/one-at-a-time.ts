import type { Transactional } from "./pool.ts";
import type { Db, Statement } from "./sql.ts";

/** Uses one connection of a database at most: a statement or transaction waits until the one before it has ended. */
export class OneAtATime implements Transactional {
  readonly #db: Transactional;
  #last: Promise<unknown> = Promise.resolve();

  constructor(db: Transactional) {
    this.#db = db;
  }

  query(statement: Statement): Promise<{ rows: unknown[]; rowCount: number | null }> {
    return this.#inTurn(() => this.#db.query(statement));
  }

  transaction<Result>(work: (tx: Db) => Promise<Result>): Promise<Result> {
    return this.#inTurn(() => this.#db.transaction(work));
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}
