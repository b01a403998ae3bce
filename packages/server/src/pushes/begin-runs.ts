import type { AttemptMemory } from "#engine";
import type { Claim } from "#jobs";
import { Batcher, type Clock, type Db, type LockWaits, type Transactional, toMoment, type WorkspaceId } from "#kernel";
import { ENDPOINT, type FilledPayload, type FillSecrets, fillInput } from "#workers";
import { type BuiltRun, type ClaimedRun, countSteps, type InSlices, pushRuns } from "#workflows";
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

/** Makes the body of a run that has begun. */
type MakeBody = () => Promise<Body | null>;

/** Executions with the same name may begin in one statement. */
const nameOf = ({ claim, endpoint }: RunToBegin): string => `${claim.laneId} ${endpoint.version}`;

/**
 * Begins executions, those of a workflow that come at the same time in one statement. Returns what to send; null if the run has ended, or there is
 * no memory for it.
 */
export function beginRuns(options: BeginOptions): BeginRun {
  const turns = new BeginTurns(options.lockWaits);
  const beginGroups = (runs: readonly RunToBegin[]): ((run: RunToBegin) => Promise<MakeBody>) => {
    const begun = new Map<RunToBegin, ReturnType<typeof begin>>();
    const last = new Map<WorkspaceId, Promise<unknown>>();
    for (const [name, group] of Map.groupBy(runs, nameOf)) {
      const { workspaceId } = (group[0] as RunToBegin).claim;
      const bodies = (last.get(workspaceId) ?? Promise.resolve()).then(() => turns.run({ workspaceId, name }, () => begin(options, group)));
      // A failure does not affect the executions of other workflows.
      last.set(
        workspaceId,
        bodies.catch(() => {}),
      );
      for (const run of group) begun.set(run, bodies);
    }
    return async (run) => {
      const makeBody = (await begun.get(run))?.get(run.claim.id);
      return async () => makeBody?.() ?? null;
    };
  };
  const batcher = (write: (runs: readonly RunToBegin[]) => (MakeBody | Promise<MakeBody>)[]) =>
    new Batcher<RunToBegin, MakeBody>({
      maxWeight: MAX_RUNS,
      writers: 1,
      oneWriteEach: true,
      workspaceOf: ({ claim }) => claim.workspaceId,
      write: async (runs) => write(runs),
    });
  // Executions that begin beside the turns may wait for long. They have a batcher of their own, and so do not keep other workflows of their
  // workspace waiting.
  const slow = batcher((runs) => runs.map(beginGroups(runs)));
  const usual = batcher((runs) => {
    const isSlow = (run: RunToBegin) => turns.isSlow(nameOf(run));
    const begun = beginGroups(runs.filter((run) => !isSlow(run)));
    return runs.map((run) => (isSlow(run) ? async () => (await slow.add(run))() : begun(run)));
  });
  // Not a part of the write: a run with secrets to fill in does not delay others of its workspace.
  return async (run) => (await usual.add(run))();
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
    return { claim: { ...claim, leaseUntil }, workflow, token, memory, timeoutMs };
  });
  const fill = (run: ClaimedRun, input: string) => fillInput(secrets, run.claim, run.workflow, ENDPOINT, input, "first");
  const inSlices: InSlices = (characters, work) => secrets.loopTime.run(claim.workspaceId, characters, work);
  const given = await pushRuns(db, claim.workspaceId, runs, endpoint.version, { fill, inSlices });
  return new Map([...given].map(([id, give]) => [id, async () => bodyOf(db, await give())]));
}

function bodyOf(db: Db, { claim, begun, text, filled }: BuiltRun<FilledPayload>): Body {
  if (text === null) return { kind: "unsent", result: filled };
  const hasAdvanced = async () => begun !== undefined && (await countSteps(db, claim.workspaceId, begun.id)) > begun.steps;
  return { kind: "body", text, redactor: filled.redactor, hasAdvanced };
}
