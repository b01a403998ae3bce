import { setImmediate } from "node:timers/promises";
import type { Clock } from "#kernel";
import type { Poll } from "./poll.ts";

/** How much earlier than asked a poll may end. */
const EARLY_PART = 1 / 3;
/** Polls that end in one turn of the event loop. */
const MAX_A_TURN = 16;

/**
 * Ends polls that have waited long enough, in groups. Their workers call again together: they share the look-up of their key and wake the
 * process once. Polls of the same wait end at multiples of a third of it, by the elapsed clock: after two thirds of their wait to about all of
 * it. So a worker that calls again at once waits for the whole time, and stays in its group.
 */
export class PollEnds {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #end: (poll: Poll) => void;
  /** By when they end. Milliseconds of the elapsed clock. */
  readonly #groups = new Map<number, Set<Poll>>();
  readonly #timers = new Map<number, NodeJS.Timeout>();

  /** @param end is called with each poll that has waited long enough */
  constructor(clock: Pick<Clock, "elapsedMs">, end: (poll: Poll) => void) {
    this.#clock = clock;
    this.#end = end;
  }

  /** The poll ends when it has waited, unless it leaves its group before. */
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
