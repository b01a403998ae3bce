import type { WorkspaceId } from "#kernel";

/** The workspace and name of a queue. */
export interface LaneName {
  readonly workspaceId: WorkspaceId;
  readonly queue: string;
}

export const laneName = ({ workspaceId, queue }: LaneName): string => `${workspaceId}${queue}`;

/** The distinct queues, and the position of each among them by its `laneName`. */
export function distinctLanes<Named extends LaneName>(
  named: readonly Named[],
): { distinct: Named[]; positions: ReadonlyMap<string, number> } {
  const positions = new Map<string, number>();
  const distinct = named.filter((one) => {
    const name = laneName(one);
    return !positions.has(name) && positions.set(name, positions.size);
  });
  return { distinct, positions };
}
