import { type Static, Type } from "typebox";
import { LEASE_TOKEN, LeaseToken } from "./leases.ts";
import { LIMITS } from "./limits.ts";
import { StepKey } from "./steps.ts";
import { RUN_ID, RunId, WorkflowId } from "./workflow-ids.ts";

/** A run that a step of a run starts, and waits for (docs/run-protocol.md). Source: specification, Workflow behavior 1. */
export const InvokeWorkflow = Type.Object(
  {
    lease_token: LeaseToken,
    key: StepKey,
    workflow: WorkflowId,
    input: Type.Optional(Type.Unknown({ description: "The input of the workflow: any JSON value of at most 1 MiB, null when left out." })),
    timeout: Type.Integer({
      minimum: 1,
      maximum: LIMITS.invokeTimeoutMs,
      description: "How long the step waits for the run. Milliseconds; at most 24 hours. The run that it waits for continues after that.",
    }),
  },
  {
    title: "InvokeWorkflow",
    description: "A run that a step of a run starts, and waits for.",
    additionalProperties: false,
    examples: [{ lease_token: LEASE_TOKEN, key: "bill", workflow: "billing.start", input: { userId: "u1" }, timeout: 3_600_000 }],
  },
);
export type InvokeWorkflow = Static<typeof InvokeWorkflow>;

export const Invoked = Type.Object(
  { runId: RunId },
  { title: "Invoked", description: "The run that the step waits for.", examples: [{ runId: RUN_ID }] },
);
export type Invoked = Static<typeof Invoked>;
