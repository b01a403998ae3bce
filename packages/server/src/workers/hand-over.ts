import { isAway, type WorkspaceId } from "#kernel";
import type { HeldRun, RunHolder, WaitingWorkers } from "#workflows";
import type { Poll, PolledLane } from "./poll.ts";
import type { Polls } from "./polls.ts";

/** A poll that is set aside for runs of a workflow. */
interface SetAside {
  readonly poll: Poll;
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
    const aside: SetAside[] = [];
    const holderOf = (workspaceId: WorkspaceId, workflow: string): RunHolder | null => {
      let one = aside.find(({ poll, workflow: of, left }) => left > 0 && of === workflow && poll.workspaceId === workspaceId);
      if (!one) {
        const found = polls.setAside(workspaceId, workflow);
        if (!found) return null;
        one = { poll: found.poll, workflow, holder: holderFor(found.poll, found.lane), left: found.poll.asked.limit };
        aside.push(one);
      }
      one.left -= 1;
      return one.holder;
    };
    try {
      const { result, held, unknown } = await write(holderOf);
      for (const { poll, holder } of aside) {
        const failure = unknown.get(holder);
        if (failure) polls.giveUp(poll, failure);
        else polls.give(poll, runsOf(poll, holder, held));
      }
      return result;
    } catch (error) {
      for (const { poll } of aside) {
        if (isAway(error)) polls.giveUp(poll, error);
        else polls.give(poll, []);
      }
      throw error;
    }
  },
});

const holderFor = ({ asked: { worker, leaseSeconds, request } }: Poll, { workspaceId, laneId, version }: PolledLane): RunHolder => ({
  ...{ workspaceId, laneId, leaseId: worker.leaseId, leaseSeconds, request, version: version || null },
});

const runsOf = ({ asked: { request } }: Poll, holder: RunHolder, held: readonly HeldRun[]) =>
  held.filter((run) => run.holder === holder).map(({ claim, begun }, at) => ({ ...claim, begun, request, place: at + 1 }));
