import type { Database, Statement } from "#kernel";
import { hold } from "./locks.ts";

/**
 * Has steps meet at a lock that the test holds: each begins once those before it wait there, and they get the lock in that order. So
 * either side of a race wins when a test wants it to.
 *
 * @param lock takes a row or a table that every step needs
 */
export async function inTurn(engine: Database, lock: Statement, steps: readonly (() => unknown)[]): Promise<void> {
  const held = hold(engine, lock);
  await held.held;
  try {
    for (const [index, step] of steps.entries()) {
      step();
      await held.untilWaiting(index + 1);
    }
  } finally {
    await held.release();
  }
}
