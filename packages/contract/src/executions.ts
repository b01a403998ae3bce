import { type Static, Type } from "typebox";
import { LEASE_TOKEN, LeaseToken } from "./leases.ts";
import { Moment, Nullable } from "./paging.ts";
import { RunStep } from "./steps.ts";
import { RunTrigger } from "./triggers.ts";
import { AT, STEP } from "./workflow-examples.ts";
import { RUN_ID, RunId, WorkflowId } from "./workflow-ids.ts";

/** An execution as its worker gets it (docs/run-protocol.md). */
export const TakenRun = Type.Object(
  {
    runId: RunId,
    workflowId: WorkflowId,
    version: Nullable(Type.String(), { description: "Version of the code that started the run." }),
    attempt: Type.Integer({ description: "Number of this execution: those that failed before it, plus one." }),
    attempts: Type.Integer({ description: "After how many failed executions the run fails." }),
    input: Type.Unknown({ description: "What the run was triggered with." }),
    trigger: RunTrigger,
    createdAt: Moment("When it was triggered."),
    journal: Type.Array(RunStep, { description: "Its steps in the order of their outcomes, then waiting steps." }),
    undo: Type.Optional(Type.Boolean({ description: "True: the run has ended, and only its completed steps are to be undone." })),
    lease_token: LeaseToken,
    lease_expires_at: Moment("When the execution fails if the worker has neither ended it nor extended its lease."),
  },
  {
    title: "TakenRun",
    description: "A run that the worker now executes.",
    examples: [
      {
        runId: RUN_ID,
        workflowId: "user.onboard",
        version: "2026-11-23",
        attempt: 1,
        attempts: 3,
        input: { userId: "u1" },
        trigger: { type: "api" },
        createdAt: AT,
        journal: [STEP],
        lease_token: LEASE_TOKEN,
        lease_expires_at: "2026-11-23T09:30:30.000Z",
      },
    ],
  },
);
export type TakenRun = Static<typeof TakenRun>;

/** The body of a request to an `endpoint_url` that executes a run (docs/run-protocol.md). */
export type PushedRun = Omit<TakenRun, "journal"> & {
  readonly kind: "run";
  /** How long the service waits for the response. Seconds. Older services leave it out. */
  readonly timeout?: number;
  /** Null: the journal is too large to be sent, and has to be fetched. */
  readonly journal: TakenRun["journal"] | null;
  /** If `journal` is null: how many steps it has. Older services leave it out. */
  readonly journalSteps?: number;
};
