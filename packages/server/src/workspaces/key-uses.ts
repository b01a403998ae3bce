import { type Clock, type Db, toMoment, type Uuid } from "#kernel";
import { writeLastUsesAcrossWorkspaces } from "./key-store.ts";

/** A key's `last_used_at` is written no oftener. Milliseconds. */
const SELDOM_MS = 60_000;

/** Notes which keys requests carry, and writes it now and then: all keys in one statement. */
export class KeyUses {
  readonly #db: Db;
  readonly #clock: Clock;
  /** When each key was last used, as far as it is not written yet. */
  readonly #noted = new Map<Uuid, number>();
  /** When the keys that were written in the last minute were. */
  readonly #written = new Map<Uuid, number>();

  constructor(db: Db, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  note(keyId: Uuid): void {
    this.#noted.set(keyId, this.#clock.nowMs());
  }

  /** Writes what was noted of keys that were not written in the last minute. */
  async write(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    for (const [id, atMs] of this.#written) if (nowMs - atMs >= SELDOM_MS) this.#written.delete(id);
    await this.#write([...this.#noted].filter(([id]) => !this.#written.has(id)));
  }

  /** Writes all that was noted: nothing comes after. */
  async flush(): Promise<void> {
    await this.#write([...this.#noted]);
  }

  async #write(due: [Uuid, number][]): Promise<void> {
    if (due.length === 0) return;
    // In one order, so that nodes that write the same keys wait for each other and not crosswise.
    due.sort(([one], [other]) => (one < other ? -1 : 1));
    await writeLastUsesAcrossWorkspaces(
      this.#db,
      due.map(([id]) => id),
      due.map(([, atMs]) => toMoment(atMs)),
    );
    const nowMs = this.#clock.nowMs();
    for (const [id, atMs] of due) {
      this.#written.set(id, nowMs);
      // What was noted while the statement ran stays.
      if (this.#noted.get(id) === atMs) this.#noted.delete(id);
    }
  }
}
