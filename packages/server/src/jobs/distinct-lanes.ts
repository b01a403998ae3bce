import type { WorkspaceId } from "#kernel";

/** The workspace and name of a queue. */
export interface LaneName {
  readonly workspaceId: WorkspaceId;
  readonly queue: string;
}

export const laneName = ({ workspaceId, queue }: LaneName): string => `${workspaceId}${queue}`;

/** The distinct queues; the position of each among them by its `laneName`; and that of the queue of each of `named`. */
export function distinctLanes<Named extends LaneName>(
  named: readonly Named[],
): { distinct: Named[]; positions: ReadonlyMap<string, number>; laneOf: number[] } {
  const positions = new Map<string, number>();
  const distinct: Named[] = [];
  const laneOf: number[] = [];
  let last: Named | undefined;
  let lane = 0;
  for (const one of named) {
    // Mostly many in a row are of one queue.
    if (one.queue !== last?.queue || one.workspaceId !== last.workspaceId) {
      const name = laneName(one);
      lane = positions.get(name) ?? distinct.push(one) - 1;
      positions.set(name, lane);
      last = one;
    }
    laneOf.push(lane);
  }
  return { distinct, positions, laneOf };
}
