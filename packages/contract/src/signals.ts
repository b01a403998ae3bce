import { type Static, Type } from "typebox";
import { LEASE_TOKEN, LeaseToken } from "./leases.ts";
import { LIMITS } from "./limits.ts";
import { SIGNAL_ID } from "./names.ts";
import { StepKey } from "./steps.ts";
import { RUN_ID, RunId } from "./workflow-ids.ts";

/** Source: specification, Signal; contract §11. */
export const SignalId = Type.String({
  title: "SignalId",
  format: "storable",
  pattern: SIGNAL_ID,
  minLength: 1,
  maxLength: LIMITS.signalIdLength,
  description: "Id of a signal, chosen by the workflow: unique in the workspace among runs that have not ended.",
  examples: ["approve.u1"],
});

export const SignalPath = Type.Object({ id: SignalId }, { additionalProperties: false });
export type SignalPath = Static<typeof SignalPath>;

export const SignalPayload = Type.Unknown({
  title: "SignalPayload",
  description: "What the wait returns: any JSON value of at most 1 MiB. Null without a body.",
  examples: [{ ok: true }],
});

export const CompletedSignal = Type.Object(
  { signal: SignalId, runId: RunId },
  {
    title: "CompletedSignal",
    description: "The signal, and the run that gets its payload.",
    examples: [{ signal: "approve.u1", runId: RUN_ID }],
  },
);
export type CompletedSignal = Static<typeof CompletedSignal>;

/** A signal that a step of a run registers (docs/run-protocol.md). */
export const RegisterSignal = Type.Object(
  { lease_token: LeaseToken, key: StepKey, signal: SignalId },
  {
    title: "RegisterSignal",
    description: "A signal that a step of a run registers.",
    additionalProperties: false,
    examples: [{ lease_token: LEASE_TOKEN, key: "approval", signal: "approve.u1" }],
  },
);
export type RegisterSignal = Static<typeof RegisterSignal>;

export const RegisteredSignal = Type.Object(
  { signal: SignalId },
  { title: "RegisteredSignal", description: "The output of the step.", examples: [{ signal: "approve.u1" }] },
);
export type RegisteredSignal = Static<typeof RegisteredSignal>;
