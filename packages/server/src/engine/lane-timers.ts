import type { LaneId, LaneKey } from "#lanes";

/** A longer wait is cut to this: a wake-up that comes too early does no harm. Milliseconds. */
const MAX_MS = 60_000;

/** Wakes lanes when their rate limit lets more jobs start. */
export class LaneTimers {
  readonly #wake: (lane: LaneKey) => void;
  readonly #timers = new Map<LaneId, NodeJS.Timeout>();

  constructor(wake: (lane: LaneKey) => void) {
    this.#wake = wake;
  }

  expect(lane: LaneKey, inMs: number): void {
    clearTimeout(this.#timers.get(lane.laneId));
    const timer = setTimeout(
      () => {
        this.#timers.delete(lane.laneId);
        this.#wake(lane);
      },
      Math.min(Math.ceil(inMs) + 1, MAX_MS),
    );
    this.#timers.set(lane.laneId, timer);
  }

  clear(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
