import type { WorkspaceId } from "#kernel";

/** The workspace and name of a queue. */
export interface LaneName {
  readonly workspaceId: WorkspaceId;
  readonly queue: string;
}

export const laneName = ({ workspaceId, queue }: LaneName): string => `${workspaceId}${queue}`;

/** The distinct queues, and for each of `named` the position of its queue among them. */
export function distinctLanes<Named extends LaneName>(named: readonly Named[]): { distinct: Named[]; laneOf: number[] } {
  const positions = new Map<string, number>();
  const distinct: Named[] = [];
  const laneOf: number[] = [];
  let last: Named | undefined;
  let lane = 0;
  for (const one of named) {
    // Usually many jobs in a row belong to the same queue.
    if (one.queue !== last?.queue || one.workspaceId !== last.workspaceId) {
      const name = laneName(one);
      lane = positions.get(name) ?? distinct.push(one) - 1;
      positions.set(name, lane);
      last = one;
    }
    laneOf.push(lane);
  }
  return { distinct, laneOf };
}
