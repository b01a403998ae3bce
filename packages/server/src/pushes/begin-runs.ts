import type { AttemptMemory } from "#engine";
import type { Claim } from "#jobs";
import { Batcher, type Clock, type LockWaits, type Transactional, toMoment, type WorkspaceId } from "#kernel";
import { ENDPOINT, type FilledPayload, type FillSecrets, fillInput } from "#workers";
import { type BuiltRun, type ClaimedRun, type InSlices, pushRuns } from "#workflows";
import { BeginTurns } from "./begin-turns.ts";
import type { Body } from "./body.ts";
import type { WorkflowEndpoint } from "./endpoint.ts";

/** An execution that is about to be sent. */
interface RunToBegin {
  readonly claim: Claim;
  readonly endpoint: Pick<WorkflowEndpoint, "workflow" | "version">;
  readonly token: string;
  /** How long the execution may take from when it begins. */
  readonly timeoutMs: number;
  readonly memory: AttemptMemory;
}

interface BeginOptions {
  readonly db: Transactional;
  readonly secrets: FillSecrets;
  readonly clock: Pick<Clock, "nowMs">;
  readonly lockWaits: LockWaits;
}

const MAX_RUNS = 100;

type BeginRun = (run: RunToBegin) => Promise<Body | null>;

/**
 * Begins executions, those of a workflow that come at the same time in one statement. Returns what to send; null if the run has ended, or there is
 * no memory for it.
 */
export function beginRuns({ db, secrets, clock, lockWaits }: BeginOptions): BeginRun {
  const turns = new BeginTurns(lockWaits);
  const batcher = new Batcher<RunToBegin, (() => Promise<Body>) | null>({
    maxWeight: MAX_RUNS,
    writers: 1,
    oneWriteEach: true,
    workspaceOf: ({ claim }) => claim.workspaceId,
    write: async (runs) => {
      const begun = new Map<RunToBegin, ReturnType<typeof begin>>();
      const last = new Map<WorkspaceId, Promise<unknown>>();
      for (const [name, group] of Map.groupBy(runs, ({ claim, endpoint }) => `${claim.laneId} ${endpoint.version}`)) {
        const { workspaceId } = (group[0] as RunToBegin).claim;
        const bodies = (last.get(workspaceId) ?? Promise.resolve()).then(() =>
          turns.run({ workspaceId, name }, () => begin({ db, secrets, clock }, group)),
        );
        // A failure does not affect the executions of other workflows.
        last.set(
          workspaceId,
          bodies.catch(() => {}),
        );
        for (const run of group) begun.set(run, bodies);
      }
      return runs.map(async (run) => (await begun.get(run))?.get(run.claim.id) ?? null);
    },
  });
  // Not a part of the write: a run with secrets to fill in does not delay others of its workspace.
  return async (run) => (await batcher.add(run))?.() ?? null;
}

async function begin(
  { db, secrets, clock }: Pick<BeginOptions, "db" | "secrets" | "clock">,
  group: readonly RunToBegin[],
): Promise<ReadonlyMap<string, () => Promise<Body>>> {
  const [first] = group;
  if (!first) return new Map();
  const { claim, endpoint } = first;
  const { workflow } = endpoint;
  const runs = group.map(({ claim, token, timeoutMs, memory }) => {
    // It may have waited for its turn.
    const leaseUntil = toMoment(clock.nowMs() + timeoutMs);
    return { claim: { ...claim, leaseUntil }, workflow, token, memory };
  });
  const fill = (run: ClaimedRun, input: string) => fillInput(secrets, run.claim, run.workflow, ENDPOINT, input, "first");
  const inSlices: InSlices = (characters, work) => secrets.loopTime.run(claim.workspaceId, characters, work);
  const given = await pushRuns(db, claim.workspaceId, runs, endpoint.version, { fill, inSlices });
  return new Map([...given].map(([id, give]) => [id, async () => bodyOf(await give())]));
}

const bodyOf = ({ text, filled }: BuiltRun<FilledPayload>): Body =>
  text === null ? { kind: "unsent", result: filled } : { kind: "body", text, redactor: filled.redactor };
