import { type Clock, type Db, toMoment, type Uuid } from "#kernel";
import { writeLastUsesAcrossWorkspaces } from "./key-store.ts";

/** The shortest time between two writes of a key's `last_used_at`. Milliseconds. */
const WRITE_INTERVAL_MS = 60_000;

/** Records in memory when keys are used, and writes this for many keys in one statement. */
export class KeyUses {
  readonly #db: Db;
  readonly #clock: Clock;
  /** When each key was last used, for uses that are not written yet. */
  readonly #unwritten = new Map<Uuid, number>();
  /** When each key was written, for writes in the last minute. */
  readonly #written = new Map<Uuid, number>();

  constructor(db: Db, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  record(keyId: Uuid): void {
    this.#unwritten.set(keyId, this.#clock.nowMs());
  }

  /** Writes the uses of keys that were not written in the last minute. */
  async write(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    for (const [id, atMs] of this.#written) if (nowMs - atMs >= WRITE_INTERVAL_MS) this.#written.delete(id);
    await this.#write([...this.#unwritten].filter(([id]) => !this.#written.has(id)));
  }

  /** Writes all uses. Called when the node stops. */
  async flush(): Promise<void> {
    await this.#write([...this.#unwritten]);
  }

  async #write(due: [Uuid, number][]): Promise<void> {
    if (due.length === 0) return;
    // All nodes write keys in one order, so that they cannot deadlock.
    due.sort(([one], [other]) => (one < other ? -1 : 1));
    await writeLastUsesAcrossWorkspaces(
      this.#db,
      due.map(([id]) => id),
      due.map(([, atMs]) => toMoment(atMs)),
    );
    const nowMs = this.#clock.nowMs();
    for (const [id, atMs] of due) {
      this.#written.set(id, nowMs);
      // A use that was recorded during the statement is kept for the next write.
      if (this.#unwritten.get(id) === atMs) this.#unwritten.delete(id);
    }
  }
}
