import { DatabaseClock } from "@tidemill/server";
import type { TestDatabase } from "./database.ts";

/** A frozen clock, for the node and its database. Time changes only when a test sets it. */
export class FrozenClock extends DatabaseClock {
  readonly #database: TestDatabase;
  #ms = 0;
  #passedMs = 0;

  constructor(database: TestDatabase) {
    super();
    this.#database = database;
  }

  override nowMs(): number {
    return this.#ms;
  }

  override follow(): void {}

  override elapsedMs(): number {
    return super.elapsedMs() + this.#passedMs;
  }

  /** Lets time pass by the elapsed clock alone. */
  pass(seconds: number): void {
    this.#passedMs += seconds * 1_000;
  }

  /** @param at milliseconds since 1970 */
  async set(at: number): Promise<void> {
    this.#ms = at;
    await this.#database.query("with gone as (delete from frozen_moment) insert into frozen_moment values ($1)", [
      new Date(at).toISOString(),
    ]);
  }

  async advance(seconds: number): Promise<void> {
    await this.set(this.#ms + seconds * 1000);
  }
}
