import { JobKinds, Rescue, Settler } from "#engine";
import { type Database, DatabaseClock, systemRandom } from "#kernel";
import type { LaneKey } from "#lanes";
import { lockWaits } from "./lock-waits.ts";

const quiet = () => {};
const never = () => {
  throw new Error("This delivers nothing.");
};

/** The kinds of a node that knows jobs of queues, and delivers none. */
export const QUEUE_KINDS = new JobKinds([{ name: "queue", recorded: true, deliverer: { start: never, enforceDeadlines: quiet } }]);

/** A rescue as a node with these job kinds makes it, and the lanes that it wakes. */
export function rescueOf(
  engine: Database,
  kinds = QUEUE_KINDS,
  settler = new Settler(engine, kinds, quiet, lockWaits()),
): { readonly rescue: Rescue; readonly woken: LaneKey[] } {
  const woken: LaneKey[] = [];
  const rescue = new Rescue({
    db: engine,
    clock: new DatabaseClock(),
    random: systemRandom,
    emit: quiet,
    kinds,
    settler,
    lockWaits: lockWaits(),
    waker: {
      wake: (lanes) => void woken.push(...lanes),
      wakePulled: (lanes) => void woken.push(...lanes),
      wakeWorkflows: (lanes) => void woken.push(...lanes),
      wakeAt: quiet,
    },
  });
  return { rescue, woken };
}

/**
 * Rescues the jobs of expired leases, as a node with these job kinds does: only that of queues, unless given. Waits for locked keys. Returns the lanes
 * that it woke.
 */
export async function rescue(engine: Database, kinds = QUEUE_KINDS): Promise<LaneKey[]> {
  const { rescue, woken } = rescueOf(engine, kinds);
  await rescue.passAcrossWorkspaces();
  await rescue.stop();
  return woken;
}
