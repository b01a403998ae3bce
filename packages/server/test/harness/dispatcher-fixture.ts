import { setImmediate } from "node:timers/promises";
import { type Attempt, Dispatcher, JobKinds, type Settler } from "#engine";
import type { Claim } from "#jobs";
import { FairShare, type JobId, type Statement, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { AttemptResult, Verdict } from "../../src/engine/judge.ts";

export const workspaceId = "01900000-0000-7000-9000-000000000001" as WorkspaceId;
export const laneKey = (id: number): LaneKey => ({ workspaceId, laneId: id as LaneId });
export const jobId = (id: number) => `01900000-0000-7000-8000-${String(id).padStart(12, "0")}` as JobId;

/** A job as node 7's claim returns it. */
export const claimed = (id: number, lane = 1): Claim => ({
  ...laneKey(lane),
  id: jobId(id),
  kind: "queue",
  leaseId: 7,
  attempt: 1,
  attempts: 3,
  spared: 0,
  backoffDelayMs: 1_000,
  payload: "{}",
  tag: null,
  concurrencyKey: null,
  createdAt: "2026-11-21T12:00:00.000Z",
  startedAt: "2026-11-21T12:00:00.000Z",
  schedule: null,
  scheduledFor: null,
  traceparent: null,
  tracestate: null,
  revision: 1,
  probe: null,
  limited: false,
});

interface RequestedClaim {
  readonly lanes: number[];
  /** Lets the database return the claim's rows, that lanes have limits, that workers serve lanes, and that lanes have more jobs. */
  answer(rows: Claim[], limited?: LaneKey[], pulled?: LaneKey[], cut?: LaneKey[]): Promise<void>;
  /** The connection breaks. */
  fail(): Promise<void>;
}

/** A dispatcher without a database. A test says when a claim returns. Attempts end when they are aborted or answered. */
export class DispatcherFixture {
  readonly claims: RequestedClaim[] = [];
  readonly started: JobId[] = [];
  readonly aborted: JobId[] = [];
  readonly settled: { id: JobId; verdict: Verdict["kind"] }[] = [];
  /** Lanes that workers of this node are to ask for, and those that other nodes were told of. */
  readonly pulled: LaneId[] = [];
  readonly announced: { laneId: LaneId; served: "pull" | "any" }[] = [];
  heldBy: number | null = 7;
  /** The real time unless it is set. */
  elapsedMs: number | null = null;
  /** Settles are written when this resolves. */
  settling: Promise<void> = Promise.resolve();
  /** A job that the deliverer cannot start. */
  uncarried: JobId | null = null;
  readonly dispatcher: Dispatcher;
  readonly #attempts = new Map<JobId, (result: AttemptResult) => void>();

  constructor() {
    const stage = this;
    this.dispatcher = new Dispatcher({
      db: { query: (statement) => this.#ask(statement) },
      claims: { query: (statement) => this.#ask(statement) },
      clock: { nowMs: () => 0, elapsedMs: () => this.elapsedMs ?? performance.now() },
      random: { bytes: (length) => Buffer.alloc(length), fraction: () => 0 },
      emit: () => {},
      settler: {
        add: async ({ id }: Claim, { kind }: Verdict) => {
          await this.settling;
          this.settled.push({ id, verdict: kind });
        },
        isSettling: () => false,
      } as unknown as Settler,
      shares: { deliverySlots: new FairShare(1_000), payloadMemory: new FairShare(2 ** 28) },
      lease: {
        get heldBy() {
          return stage.heldBy;
        },
      },
      kinds: new JobKinds([
        { name: "queue", recorded: true, deliverer: { start: (claim) => this.#start(claim), enforceDeadlines: () => {} } },
      ]),
      onWaiting: (lanes, served) =>
        void this.announced.push(...[...lanes].map(({ laneId }) => ({ laneId, served: served ?? ("any" as const) }))),
      onPulled: (lanes) => void this.pulled.push(...lanes.map(({ laneId }) => laneId)),
      onDueAt: () => {},
    });
  }

  /** Wakes lane 1. Returns the claim that this starts. */
  claimUnderWay(): RequestedClaim {
    this.dispatcher.wake([laneKey(1)]);
    const [claim] = this.claims;
    if (!claim) throw new Error("Nothing was claimed.");
    return claim;
  }

  /** The handler of a job answers with 200. */
  complete(id: JobId): void {
    this.end(id, { kind: "accepted", status: 200, result: null });
  }

  /** The attempt of a job ends with this result. */
  end(id: JobId, result: AttemptResult): void {
    this.#attempts.get(id)?.(result);
  }

  #ask({ values }: Statement): Promise<{ rows: unknown[] }> {
    const lanes = String(values.find((value) => /^\{\d+(,\d+)*\}$/.test(String(value))) ?? "{}")
      .slice(1, -1)
      .split(",")
      .map(Number);
    return new Promise((resolve, reject) => {
      const afterSomeTurns = async () => {
        for (let turn = 0; turn < 5; turn += 1) await setImmediate();
      };
      const answer = async (claims: Claim[], limited: LaneKey[] = [], pulled: LaneKey[] = [], cut: LaneKey[] = []) => {
        const rows = claims.map((claim) => ({ ...claim, found: null }));
        const found = [
          ...limited.map(({ laneId }) => ({ found: { laneId, limited: true, isPulled: false, opensInMs: null } })),
          ...pulled.map(({ laneId }) => ({ found: { laneId, limited: false, isPulled: true, opensInMs: null } })),
          ...cut.map(({ laneId }) => ({ found: { laneId, limited: false, isPulled: false, opensInMs: 0 } })),
        ];
        resolve({ rows: [...rows, ...found] });
        await afterSomeTurns();
      };
      const fail = async () => {
        reject(new Error("The connection broke."));
        await afterSomeTurns();
      };
      this.claims.push({ lanes, answer, fail });
    });
  }

  #start(claim: Claim): Attempt {
    if (claim.id === this.uncarried) throw new Error("It cannot be carried.");
    this.started.push(claim.id);
    const answered = Promise.withResolvers<AttemptResult>();
    this.#attempts.set(claim.id, answered.resolve);
    const abort = () => {
      this.aborted.push(claim.id);
      answered.resolve({ kind: "withdrawn" });
    };
    return { result: answered.promise, abort };
  }
}
