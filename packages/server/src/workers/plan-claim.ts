import { type Holder, MAX_CLAIM_BYTES } from "#jobs";
import type { Poll, PolledLane } from "./poll.ts";

const MAX_JOBS_A_CLAIM = 500;
const MAX_HOLDERS_A_CLAIM = 200;
/** The assumed length of payloads about which nothing is known. Characters. */
const EXPECTED_PAYLOAD = 64 * 1024;

/** What one poll requests from one lane. */
export interface Ask {
  readonly poll: Poll;
  readonly lane: PolledLane;
  readonly take: number;
  /** The lane's `wakes` at that time. */
  readonly wakes: number;
}

/**
 * What to claim next for polls, which are given in the order in which their workspaces take turns: each from those of its lanes that may
 * have jobs. Polls with a claim under way are left out, and so are slow lanes.
 *
 * @param onAsked is called with each poll that gets its turn
 * @param onIdle is called with each poll that has no lane to claim from
 */
export function planClaim(
  polls: readonly Poll[],
  isSlow: (lane: PolledLane) => boolean,
  onAsked: (poll: Poll) => void,
  onIdle: (poll: Poll) => void,
): Ask[] {
  const asks: Ask[] = [];
  let left = MAX_JOBS_A_CLAIM;
  // Not much more is requested than the claim can bring.
  let bytesLeft = MAX_CLAIM_BYTES;
  for (const poll of polls) {
    if (left < 1 || bytesLeft <= 0 || asks.length >= MAX_HOLDERS_A_CLAIM) break;
    if (poll.claiming) continue;
    const open = poll.asked.lanes.filter((lane) => lane.mayHaveJobs && !isSlow(lane));
    if (open.length === 0) {
      onIdle(poll);
      continue;
    }
    let wanted = Math.min(poll.asked.limit, left);
    for (const [index, lane] of open.entries()) {
      const payloadLength = Math.max(1, lane.payloadLength ?? EXPECTED_PAYLOAD);
      const take = Math.min(Math.ceil(wanted / (open.length - index)), Math.max(1, Math.floor(bytesLeft / payloadLength)));
      if (take < 1 || bytesLeft <= 0) break;
      bytesLeft -= take * payloadLength;
      asks.push({ poll, lane, take, wakes: lane.wakes });
      wanted -= take;
      left -= take;
    }
    onAsked(poll);
  }
  return asks;
}

/**
 * Groups of asks that share a claim: those for lanes with limits, and those for lanes without. A lane with a filter is claimed from alone.
 */
export function groupAsks(asks: readonly Ask[]): Ask[][] {
  const groups = Map.groupBy(asks, ({ lane }) => (lane.filter ? lane : lane.limited));
  return [...groups.values()];
}

/** Whether all asks are for one queue that has no limits and probably more jobs. */
export function haveBacklog(asks: readonly Ask[]): boolean {
  const [first] = asks;
  return (
    first?.lane.hasBacklog === true && !first.lane.limited && first.lane.kind === "queue" && asks.every(({ lane }) => lane === first.lane)
  );
}

/** Converts an `Ask` for the statement. */
export const holderOf = ({ poll, lane, take }: Ask): Holder => ({
  workspaceId: lane.workspaceId,
  laneId: lane.laneId,
  take,
  leaseId: poll.asked.worker.leaseId,
  leaseSeconds: poll.asked.leaseSeconds,
  request: poll.asked.request,
  version: lane.version || null,
});
