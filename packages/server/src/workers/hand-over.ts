import { isAway, type WorkspaceId } from "#kernel";
import type { EagerRun, RunHolder, WaitingWorkers } from "#workflows";
import type { Polls, ReservedPoll } from "./polls.ts";

/** Runs of a workflow for a poll that is reserved for them. */
interface HandOver {
  readonly reserved: ReservedPoll;
  readonly workflow: string;
  readonly holder: RunHolder;
  /** How many runs it may still get. */
  left: number;
}

/** Lets runs be started eagerly for workers that wait for them. */
export const waitingWorkers = (polls: Polls, nodeLeaseId: () => number | null): WaitingWorkers => ({
  get nodeLeaseId() {
    return nodeLeaseId();
  },
  async handOver(write) {
    const handOvers: HandOver[] = [];
    const holderOf = (workspaceId: WorkspaceId, workflow: string): RunHolder | null => {
      const isFor = ({ reserved: { poll }, workflow: of, left }: HandOver) =>
        left > 0 && of === workflow && poll.workspaceId === workspaceId;
      let one = handOvers.find(isFor);
      if (!one) {
        const reserved = polls.reserve(workspaceId, workflow);
        if (!reserved) return null;
        one = { reserved, workflow, holder: holderFor(reserved), left: reserved.poll.asked.limit };
        handOvers.push(one);
      }
      one.left -= 1;
      return one.holder;
    };
    try {
      const { result, held, unknown } = await write(holderOf);
      for (const { reserved, holder } of handOvers) {
        const failure = unknown.get(holder);
        if (failure) polls.giveUp(reserved, failure);
        else polls.give(reserved, runsOf(reserved, holder, held));
      }
      return result;
    } catch (error) {
      for (const { reserved } of handOvers) {
        if (isAway(error)) polls.giveUp(reserved, error);
        else polls.give(reserved, []);
      }
      throw error;
    }
  },
});

const holderFor = ({ poll, lane: { workspaceId, laneId, version } }: ReservedPoll): RunHolder => {
  const { worker, leaseSeconds, request } = poll.asked;
  return { workspaceId, laneId, leaseId: worker.leaseId, leaseSeconds, request, version: version || null };
};

const runsOf = ({ poll }: ReservedPoll, holder: RunHolder, held: readonly EagerRun[]) => {
  const { request } = poll.asked;
  return held.filter((run) => run.holder === holder).map(({ claim, begun }, at) => ({ ...claim, begun, request, place: at + 1 }));
};
