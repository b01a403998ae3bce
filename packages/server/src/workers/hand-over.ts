import { isAway, type WorkspaceId } from "#kernel";
import type { HeldRun, RunHolder, WaitingWorkers } from "#workflows";
import type { Polls, SetAside } from "./polls.ts";

/** A poll that is set aside for runs of a workflow. */
interface Aside {
  readonly set: SetAside;
  readonly workflow: string;
  readonly holder: RunHolder;
  /** How many runs it may still get. */
  left: number;
}

/** Lets runs be started as held by workers that wait for them. */
export const waitingWorkers = (polls: Polls, nodeLeaseId: () => number | null): WaitingWorkers => ({
  get nodeLeaseId() {
    return nodeLeaseId();
  },
  async handOver(write) {
    const aside: Aside[] = [];
    const holderOf = (workspaceId: WorkspaceId, workflow: string): RunHolder | null => {
      let one = aside.find(({ set: { poll }, workflow: of, left }) => left > 0 && of === workflow && poll.workspaceId === workspaceId);
      if (!one) {
        const set = polls.setAside(workspaceId, workflow);
        if (!set) return null;
        one = { set, workflow, holder: holderFor(set), left: set.poll.asked.limit };
        aside.push(one);
      }
      one.left -= 1;
      return one.holder;
    };
    try {
      const { result, held, unknown } = await write(holderOf);
      for (const { set, holder } of aside) {
        const failure = unknown.get(holder);
        if (failure) polls.giveUp(set, failure);
        else polls.give(set, runsOf(set, holder, held));
      }
      return result;
    } catch (error) {
      for (const { set } of aside) {
        if (isAway(error)) polls.giveUp(set, error);
        else polls.give(set, []);
      }
      throw error;
    }
  },
});

const holderFor = ({ poll, lane: { workspaceId, laneId, version } }: SetAside): RunHolder => {
  const { worker, leaseSeconds, request } = poll.asked;
  return { workspaceId, laneId, leaseId: worker.leaseId, leaseSeconds, request, version: version || null };
};

const runsOf = ({ poll }: SetAside, holder: RunHolder, held: readonly HeldRun[]) => {
  const { request } = poll.asked;
  return held.filter((run) => run.holder === holder).map(({ claim, begun }, at) => ({ ...claim, begun, request, place: at + 1 }));
};
