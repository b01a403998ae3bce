import type { WorkspaceId } from "#kernel";

/** A queue as callers name it. */
export interface LaneName {
  readonly workspaceId: WorkspaceId;
  readonly queue: string;
}

export const laneName = ({ workspaceId, queue }: LaneName): string => `${workspaceId}${queue}`;

/** Each queue that is named once, and by their names the places at which they stand there. */
export function distinctLanes<Named extends LaneName>(named: readonly Named[]): { firsts: Named[]; places: ReadonlyMap<string, number> } {
  const places = new Map<string, number>();
  const firsts = named.filter((one) => {
    const name = laneName(one);
    return !places.has(name) && places.set(name, places.size);
  });
  return { firsts, places };
}
