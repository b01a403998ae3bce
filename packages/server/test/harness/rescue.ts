import { JobKinds, rescueAcrossWorkspaces, Settler } from "#engine";
import { type Database, DatabaseClock, systemRandom } from "#kernel";
import type { LaneKey } from "#lanes";

const quiet = () => {};
const queue = { name: "queue", recorded: true, deliverer: { start: () => never(), sweep: quiet } };
const never = () => {
  throw new Error("A rescue delivers nothing.");
};

/** Rescues the jobs of expired leases, as a node with these job kinds does: only that of queues, unless given. Returns the lanes that it woke. */
export async function rescue(engine: Database, kinds = new JobKinds([queue])): Promise<LaneKey[]> {
  const woken: LaneKey[] = [];
  await rescueAcrossWorkspaces({
    db: engine,
    clock: new DatabaseClock(),
    random: systemRandom,
    emit: quiet,
    kinds,
    settler: new Settler(engine, kinds, quiet),
    waker: { wake: (lanes) => void woken.push(...lanes), wakeAt: quiet },
  });
  return woken;
}
