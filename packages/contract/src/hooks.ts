import { type Static, Type } from "typebox";
import { LEASE_TOKEN, LeaseToken } from "./leases.ts";
import { Moment, Nullable } from "./paging.ts";
import { RunError } from "./run-errors.ts";
import { RUN_ID, RunId, WorkflowId } from "./workflow-ids.ts";

/** The lifecycle hooks of workflows. Source: specification, Lifecycle hooks. */
export const HOOKS = ["onSuccess", "onFailure", "onCancel"] as const;
export type Hook = (typeof HOOKS)[number];
export const HookName = Type.Enum([...HOOKS], { title: "Hook", description: "A lifecycle hook of a workflow." });

/** A lifecycle hook as its worker gets it (docs/run-protocol.md). */
export const TakenHook = Type.Object(
  {
    id: Type.String({
      title: "HookId",
      pattern: "^hook_[0-7][0-9a-hjkmnp-tv-z]{25}$",
      description: "Identifier of the hook of this run.",
      examples: ["hook_01kajv3k4ve6nsd9z5kgtzx0rw"],
    }),
    hook: HookName,
    runId: RunId,
    workflowId: WorkflowId,
    attempt: Type.Integer({ description: "The attempt in which the run ended." }),
    result: Type.Optional(Nullable(Type.Unknown(), { description: "With `onSuccess`: what the run returned." })),
    error: Type.Optional(
      Nullable(RunError, { description: "With `onFailure`: why the run failed. With `onCancel`: null, or why its last attempt failed." }),
    ),
    lease_token: LeaseToken,
    lease_expires_at: Moment("When the hook has failed if the worker has neither settled it nor extended its lease."),
  },
  {
    title: "TakenHook",
    description: "A lifecycle hook of a run that the worker now executes.",
    examples: [
      {
        id: "hook_01kajv3k4ve6nsd9z5kgtzx0rw",
        hook: "onFailure",
        runId: RUN_ID,
        workflowId: "user.onboard",
        attempt: 3,
        error: { name: "Error", message: "The card was declined." },
        lease_token: LEASE_TOKEN,
        lease_expires_at: "2026-11-23T09:30:30.000Z",
      },
    ],
  },
);
export type TakenHook = Static<typeof TakenHook>;

/** The body of a request to an `endpoint_url` that executes a hook. */
export type PushedHook = TakenHook & { readonly kind: "hook" };
