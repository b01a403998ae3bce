import type { Claim } from "#jobs";
import { Batcher, type Db, type JobId, type Timestamp } from "#kernel";
import { pushRuns } from "#workflows";
import type { Endpoint } from "./endpoint.ts";

/** An execution that is about to be sent. */
export interface RunToBegin {
  readonly claim: Claim & { readonly leaseUntil: Timestamp };
  readonly endpoint: Pick<Endpoint, "workflow" | "version">;
  readonly token: string;
}

const MAX_RUNS = 100;
const WRITERS = 2;

/** Begins executions, those of a workflow that come at the same time in one statement. Returns the body to send; null if the run has ended. */
export const beginRuns = (db: Db): Batcher<RunToBegin, string | null> =>
  new Batcher({
    maxWeight: MAX_RUNS,
    writers: WRITERS,
    workspaceOf: ({ claim }) => claim.workspaceId,
    write: async (runs) => {
      const groups = [...Map.groupBy(runs, ({ claim, endpoint }) => `${claim.laneId} ${endpoint.version}`).values()];
      const texts = new Map((await Promise.all(groups.map((group) => begin(db, group)))).flatMap((bodies) => [...bodies]));
      return runs.map(({ claim }) => texts.get(claim.id) ?? null);
    },
  });

async function begin(db: Db, group: readonly RunToBegin[]): Promise<ReadonlyMap<JobId, string>> {
  const [first] = group;
  if (!first) return new Map();
  const { claim, endpoint } = first;
  const runs = group.map((one) => ({ claim: one.claim, workflow: endpoint.workflow, token: one.token }));
  return pushRuns(db, claim.workspaceId, runs, endpoint.version);
}
