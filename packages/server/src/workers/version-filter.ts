import type { VersionFilter } from "#jobs";

/** A version whose workers poll for runs of a workflow. Times are milliseconds since 1970. */
export interface Asking {
  firstMs: number;
  seenMs: number;
  /** Whether its workers poll this node. */
  asksHere: boolean;
}

/** Which runs workers of a version may take. After `othersGoneInMs` they may take more. */
export type BoundedFilter = VersionFilter & { readonly othersGoneInMs: number };

/**
 * Which runs workers of a version may take, of those that are not gone. Null: all.
 *
 * @param goneInMs in how many milliseconds a version is gone that was last seen at a given moment
 */
export function versionFilter(
  alive: readonly (readonly [string, Asking])[],
  version: string,
  goneInMs: (seenMs: number) => number,
): BoundedFilter | null {
  const others = alive.filter(([name]) => name !== version && name !== "");
  if (others.length === 0) return null;
  const [newest] = alive.toSorted(([one, a], [other, b]) => b.firstMs - a.firstMs || (one > other ? -1 : 1));
  return {
    version: version || null,
    others: others.map(([name]) => name),
    isNewest: newest?.[0] === version,
    othersGoneInMs: Math.min(...others.map(([, { seenMs }]) => goneInMs(seenMs))),
  };
}

/** Whether two filters let workers take the same runs, apart from what changes with time. */
export const isSameFilter = (one: VersionFilter | null, other: VersionFilter | null): boolean => textOf(one) === textOf(other);

const textOf = (filter: VersionFilter | null): string => (filter ? JSON.stringify([filter.others, filter.isNewest]) : "");
