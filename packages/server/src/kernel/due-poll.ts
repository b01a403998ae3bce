import { after } from "./after.ts";
import type { Clock } from "./clock.ts";
import { type Db, type Fragment, fragment, row, sql } from "./database/sql.ts";
import type { DeadlineLoop } from "./deadline-loop.ts";
import type { EmitEvent } from "./events.ts";
import { PeriodicLoop } from "./periodic-loop.ts";
import type { Random } from "./random.ts";
import type { Service } from "./service.ts";

/** A kind of work that becomes due, and the loop that does it. */
export interface DueSource {
  /** Selects the time at which the next work is due, or no row if there is none. It must read only one index entry. */
  readonly nextDue: Fragment;
  readonly loop: Pick<DeadlineLoop, "wakeUnlessFailed" | "expectIn">;
}

/** Something that a node caches. It learns about changes from the poll. */
export interface PolledChanges {
  /** Selects a text for each change that was committed after the snapshot `last.snapshot`, which is at most 5 minutes old. */
  readonly sinceLast: Fragment;
  /**
   * Called after each poll.
   *
   * @param changes the changes committed since the last poll. Null: they are not known, so anything may have changed
   * @param sentMs all changes that were committed before this moment of the elapsed clock are known now
   */
  readonly receive: (changes: readonly string[] | null, sentMs: number) => void;
}

export interface DuePollOptions {
  readonly db: Db;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly sources: readonly DueSource[];
  readonly changes: PolledChanges;
  readonly everyMs: number;
  readonly emit: EmitEvent;
  readonly random: Random;
  /** How long a start waits for the first poll. */
  readonly maxFirstPollSeconds?: number;
}

const MAX_FIRST_POLL_SECONDS = 1;
/** Changes are not read after a longer pause between two polls. Milliseconds. */
const MAX_PAUSE_MS = 300_000;

interface Polled {
  readonly waits_ms: readonly (number | null)[];
  readonly server: string;
  /** Milliseconds since 1970. */
  readonly server_ms: number;
  readonly snapshot: string;
  readonly changes: readonly string[];
}

/**
 * Reads in one statement when the next work of each source is due, and wakes the loops of sources that are due. If the statement fails, all
 * loops look for themselves: one source that cannot be read must not stop the others. It also reads the changes of what the node caches.
 */
export class DuePoll implements Service {
  readonly #options: DuePollOptions;
  readonly #next: Fragment;
  readonly #loop: PeriodicLoop;
  #last: (Polled & { readonly sentMs: number }) | null = null;

  constructor(options: DuePollOptions) {
    const { sources, everyMs, emit, random } = options;
    this.#options = options;
    this.#next = sources.map(({ nextDue }) => fragment`(${nextDue})`).reduce((all, next) => fragment`${all}, ${next}`);
    this.#loop = new PeriodicLoop({ name: "due-poll", everyMs, pass: () => this.#pass() }, emit, random);
  }

  /**
   * Returns when the first poll has ended. So what a node caches afterwards need not be forgotten because earlier changes are unknown. If
   * PostgreSQL does not respond, it returns earlier: a node that does not start could not say why.
   */
  async start(): Promise<void> {
    this.#loop.start();
    await Promise.race([this.#loop.settled(), after(this.#options.maxFirstPollSeconds ?? MAX_FIRST_POLL_SECONDS)]);
  }

  wake(): void {
    this.#loop.wake();
  }

  missed(): void {
    this.#loop.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass(): Promise<undefined> {
    const { sources, changes, clock } = this.#options;
    const sentMs = clock.elapsedMs();
    const polled = await this.#read().catch((error: unknown) => {
      for (const { loop } of sources) loop.wakeUnlessFailed();
      throw error;
    });
    changes.receive(this.#isNext(polled, sentMs) ? polled.changes : null, sentMs);
    this.#last = { ...polled, sentMs };
    for (const [index, { loop }] of sources.entries()) {
      const waitMs = polled.waits_ms[index] ?? null;
      if (waitMs !== null && waitMs <= 0) loop.wakeUnlessFailed();
      else if (waitMs !== null) loop.expectIn(waitMs);
    }
  }

  /**
   * Another server, after a failover, may lack transactions that the last snapshot has seen, and assign their ids to others. The database's
   * clock counts, too, because the node's clock stops while its machine is suspended.
   */
  #isNext({ server, server_ms }: Polled, sentMs: number): boolean {
    const last = this.#last;
    return last?.server === server && sentMs - last.sentMs < MAX_PAUSE_MS && Math.abs(server_ms - last.server_ms) < MAX_PAUSE_MS;
  }

  async #read(): Promise<Polled> {
    const polled = await row<Polled>(
      this.#options.db,
      sql`
        select array(select (extract(epoch from due - moment()) * 1000)::float8 from unnest(array[${this.#next}]::timestamptz[]) with ordinality d (due, at) order by at) as waits_ms,
          pg_postmaster_start_time()::text as server, (extract(epoch from clock_timestamp()) * 1000)::float8 as server_ms, pg_current_snapshot()::text as snapshot, array(${this.#options.changes.sinceLast}) as changes
        from (select ${this.#last?.snapshot ?? null}::pg_snapshot as snapshot) as last`,
    );
    if (!polled) throw new Error("The poll has returned no row.");
    return polled;
  }
}
