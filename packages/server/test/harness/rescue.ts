import { JobKinds, rescueAcrossWorkspaces, Settler } from "#engine";
import { type Database, DatabaseClock, systemRandom } from "#kernel";
import type { LaneKey } from "#lanes";

const quiet = () => {};

/** Takes back what is held under leases that have run out, as a node does that knows these kinds. Answers the lanes that it woke. */
export async function rescue(engine: Database, kinds = new JobKinds([])): Promise<LaneKey[]> {
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
