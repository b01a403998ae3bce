import { type Db, type Fragment, fragment, row, sql } from "./database/sql.ts";
import type { DeadlineLoop } from "./deadline-loop.ts";
import type { EmitEvent } from "./events.ts";
import { PeriodicLoop } from "./periodic-loop.ts";
import type { Random } from "./random.ts";
import type { Service } from "./service.ts";

/** A kind of work that becomes due, and the loop that does it. */
export interface DueSource {
  /** Selects the time when the next is due, or no row if there is none. It must read only one index entry. */
  readonly nextDue: Fragment;
  readonly loop: Pick<DeadlineLoop, "wakeUnlessFailed" | "expectIn">;
}

/**
 * Reads in one statement when the next work of each source is due, and wakes the loops of sources that are due. If the statement fails,
 * all loops look for themselves: one source that cannot be read must not stop the others.
 */
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
    const waitsMs = await this.#read().catch((error: unknown) => {
      for (const { loop } of this.#sources) loop.wakeUnlessFailed();
      throw error;
    });
    for (const [index, { loop }] of this.#sources.entries()) {
      const waitMs = waitsMs[index] ?? null;
      if (waitMs !== null && waitMs <= 0) loop.wakeUnlessFailed();
      else if (waitMs !== null) loop.expectIn(waitMs);
    }
  }

  async #read(): Promise<(number | null)[]> {
    const found = await row<{ waits_ms: (number | null)[] }>(
      this.#db,
      sql`select array(select (extract(epoch from due - moment()) * 1000)::float8 from unnest(array[${this.#next}]::timestamptz[]) with ordinality d (due, at) order by at) as waits_ms`,
    );
    return found?.waits_ms ?? [];
  }
}
