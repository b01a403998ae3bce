import { isAway } from "../problem.ts";
import { isTimeout, type Transactional } from "./pool.ts";
import type { Db, Statement } from "./sql.ts";

interface Turn {
  readonly run: () => Promise<void>;
  readonly refuse: (error: unknown) => void;
}

/**
 * Uses one connection of a database at most: a statement or transaction waits until the one before it has ended. When the database turns
 * out to be unavailable, those that wait fail, too: each would wait as long as the first. A statement that takes too long says nothing
 * about the others, so those continue. The work of a transaction must use its `tx` alone, because another statement would wait for that
 * transaction.
 */
export class SerialDatabase implements Transactional {
  readonly #db: Transactional;
  readonly #waiting: Turn[] = [];
  #busy = false;

  constructor(db: Transactional) {
    this.#db = db;
  }

  query(statement: Statement): ReturnType<Db["query"]> {
    return this.#inTurn(() => this.#db.query(statement));
  }

  transaction<Result>(work: (tx: Db) => Promise<Result>): Promise<Result> {
    return this.#inTurn(() => this.#db.transaction(work));
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, refuse) => {
      this.#waiting.push({ run: async () => resolve(await work()), refuse });
      if (!this.#busy) void this.#takeTurns();
    });
  }

  async #takeTurns(): Promise<void> {
    this.#busy = true;
    for (let turn = this.#waiting.shift(); turn; turn = this.#waiting.shift()) {
      try {
        await turn.run();
      } catch (error) {
        turn.refuse(error);
        if (isAway(error) && !isTimeout(error)) for (const { refuse } of this.#waiting.splice(0)) refuse(error);
      }
    }
    this.#busy = false;
  }
}
