import type { ListedQueue } from "@tidemill/contract";
import { findCircuitsOf } from "#circuits";
import { readMetricsOfLanes } from "#jobs";
import type { Db, WorkspaceId } from "#kernel";
import type { Queue } from "./queue.ts";
import { showCircuit } from "./show-circuit.ts";

type Included = Required<Pick<ListedQueue, "circuit" | "metrics">>;

/** Reads the circuits and metrics of the queues of a page. Returns what to show with each of them. */
export async function readIncluded(db: Db, workspaceId: WorkspaceId, queues: readonly Queue[]): Promise<(queue: Queue) => Included> {
  const ids = queues.map(({ id }) => id);
  const circuits = new Map((await findCircuitsOf(db, workspaceId, ids)).map((circuit) => [circuit.lane_id, circuit]));
  const metrics = await readMetricsOfLanes(db, workspaceId, ids);
  return (queue) => {
    const of = metrics.get(queue.id);
    if (!of) throw new Error("The metrics of a queue are missing.");
    return { circuit: showCircuit(queue, circuits.get(queue.id) ?? null), metrics: of };
  };
}
