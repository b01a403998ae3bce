import { type Db, type Fragment, fragment, row, sql } from "./database/sql.ts";
import type { DeadlineLoop } from "./deadline-loop.ts";
import type { EmitEvent } from "./events.ts";
import { PeriodicLoop } from "./periodic-loop.ts";
import type { Random } from "./random.ts";
import type { Service } from "./service.ts";

/** Something that becomes due, and the loop that does it then. */
export interface DueSource {
  /** Selects one moment, when the next is due, or no row while none is. It must be one look at an index. */
  readonly nextDue: Fragment;
  readonly loop: Pick<DeadlineLoop, "wake" | "expectIn">;
}

/** Asks the database, in one statement for all sources, when the next of each is due, and has those loops pass that are due. */
export class DuePoll implements Service {
  readonly #db: Db;
  readonly #sources: readonly DueSource[];
  readonly #next: Fragment;
  readonly #loop: PeriodicLoop;

  constructor(db: Db, sources: readonly DueSource[], everyMs: number, emit: EmitEvent, random: Random) {
    this.#db = db;
    this.#sources = sources;
    this.#next = sources.map(({ nextDue }) => fragment`(${nextDue})`).reduce((all, next) => fragment`${all}, ${next}`);
    this.#loop = new PeriodicLoop({ name: "due-poll", everyMs, pass: () => this.#pass() }, emit, random);
  }

  start(): void {
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass(): Promise<undefined> {
    const found = await row<{ waits_ms: (number | null)[] }>(
      this.#db,
      sql`select array(select (extract(epoch from due - moment()) * 1000)::float8 from unnest(array[${this.#next}]::timestamptz[]) with ordinality d (due, at) order by at) as waits_ms`,
    );
    for (const [index, { loop }] of this.#sources.entries()) {
      const waitMs = found?.waits_ms[index] ?? null;
      if (waitMs !== null && waitMs <= 0) loop.wake();
      else if (waitMs !== null) loop.expectIn(waitMs);
    }
  }
}
