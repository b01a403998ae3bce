import type { AttemptMemory } from "#engine";
import type { Claim } from "#jobs";
import { Batcher, type Timestamp, type Transactional } from "#kernel";
import { ENDPOINT, type FilledPayload, type FillSecrets, fillInput } from "#workers";
import { type ClaimedRun, type GivenRun, type InSlices, pushRuns } from "#workflows";
import type { Body } from "./body.ts";
import type { Endpoint } from "./endpoint.ts";

/** An execution that is about to be sent. */
export interface RunToBegin {
  readonly claim: Claim & { readonly leaseUntil: Timestamp };
  readonly endpoint: Pick<Endpoint, "workflow" | "version">;
  readonly token: string;
  readonly memory: AttemptMemory;
}

const MAX_RUNS = 100;
const WRITERS = 2;

/**
 * Begins executions, those of a workflow that come at the same time in one statement. Returns what to send; null if the run has ended, or there is
 * no memory for it.
 */
export const beginRuns = (db: Transactional, secrets: FillSecrets): Batcher<RunToBegin, Body | null> =>
  new Batcher({
    maxWeight: MAX_RUNS,
    writers: WRITERS,
    workspaceOf: ({ claim }) => claim.workspaceId,
    write: async (runs) => {
      const groups = Map.groupBy(runs, ({ claim, endpoint }) => `${claim.laneId} ${endpoint.version}`).values();
      const begun = new Map<RunToBegin, ReturnType<typeof begin>>();
      for (const group of groups) {
        const bodies = begin(db, secrets, group);
        for (const run of group) begun.set(run, bodies);
      }
      // One that fails does not fail those of other workflows.
      await Promise.allSettled(begun.values());
      return runs.map(async (run) => (await begun.get(run))?.get(run.claim.id)?.() ?? null);
    },
  });

async function begin(
  db: Transactional,
  secrets: FillSecrets,
  group: readonly RunToBegin[],
): Promise<ReadonlyMap<string, () => Promise<Body>>> {
  const [first] = group;
  if (!first) return new Map();
  const { claim, endpoint } = first;
  const runs = group.map((one) => ({ claim: one.claim, workflow: endpoint.workflow, token: one.token, memory: one.memory }));
  const fill = (run: ClaimedRun, input: string) => fillInput(secrets, run.claim, run.workflow, ENDPOINT, input);
  const inSlices: InSlices = (characters, work) => secrets.loopTime.run(claim.workspaceId, characters, work);
  const given = await pushRuns(db, claim.workspaceId, runs, endpoint.version, { fill, inSlices });
  return new Map([...given].map(([id, give]) => [id, async () => bodyOf(await give())]));
}

const bodyOf = ({ text, filled }: GivenRun<FilledPayload>): Body =>
  text === null ? { kind: "unsent", result: filled } : { kind: "body", text, redactor: filled.redactor };
