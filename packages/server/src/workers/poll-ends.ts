import { setImmediate } from "node:timers/promises";
import type { Clock } from "#kernel";
import type { Poll } from "./poll.ts";

/** By which part of its wait a poll may end early. */
const EARLY_PART = 1 / 3;
/** The maximum number of polls that end in one turn of the event loop. */
const MAX_A_TURN = 16;

/**
 * Ends polls in groups, so that their workers call again together: these calls share one look-up of their key, and the process wakes up
 * once. Polls with the same wait end at multiples of a third of that wait, by the elapsed clock. So each poll lasts between two thirds of
 * its wait and about all of it. A worker that calls again immediately then waits for the whole time, and stays in its group.
 */
export class PollEnds {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #end: (poll: Poll) => void;
  /** Groups by the time at which they end. Milliseconds of the elapsed clock. */
  readonly #groups = new Map<number, Set<Poll>>();
  readonly #timers = new Map<number, NodeJS.Timeout>();

  /** @param end is called with each poll that has waited long enough */
  constructor(clock: Pick<Clock, "elapsedMs">, end: (poll: Poll) => void) {
    this.#clock = clock;
    this.#end = end;
  }

  /** Adds a poll. It ends when it has waited long enough, unless it leaves its group before. */
  add(poll: Poll): void {
    const nowMs = this.#clock.elapsedMs();
    const groupMs = poll.asked.waitMs * EARLY_PART;
    const endMs = Math.floor((nowMs + poll.asked.waitMs) / groupMs) * groupMs;
    poll.group = this.#groups.get(endMs) ?? this.#open(endMs, nowMs);
    poll.group.add(poll);
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#groups.clear();
  }

  #open(endMs: number, nowMs: number): Set<Poll> {
    const group = new Set<Poll>();
    this.#groups.set(endMs, group);
    // A timer may fire 1 ms early; workers that call again would then wait a third less.
    this.#timers.set(
      endMs,
      setTimeout(() => void this.#endGroup(endMs), endMs - nowMs + 2),
    );
    return group;
  }

  async #endGroup(endMs: number): Promise<void> {
    const group = this.#groups.get(endMs) ?? [];
    this.#groups.delete(endMs);
    this.#timers.delete(endMs);
    let ended = 0;
    for (const poll of group) {
      this.#end(poll);
      ended += 1;
      if (ended % MAX_A_TURN === 0) await setImmediate();
    }
  }
}
