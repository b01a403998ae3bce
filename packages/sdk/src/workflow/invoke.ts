import type { InvokeWorkflow } from "@tidemill/contract";
import type { Duration } from "./duration.ts";
import type { AtMostADay } from "./invoke-timeout.ts";

/** A workflow that a step may invoke: what `workflow` has defined. */
export interface InvocableWorkflow {
  readonly id: string;
  readonly program: (context: never) => unknown;
  /** Exists only in types. */
  readonly types?: { readonly input: unknown; readonly result: unknown };
}

/** What a step invokes. */
export type WorkflowToInvoke<Of extends InvocableWorkflow | string, Timeout extends Duration> = {
  /** The workflow, or its id. */
  readonly workflow: Of;
  /** How long to wait for the run: "90s", "24h", or milliseconds; at most 24 hours. After that, the run continues without the step. */
  readonly timeout: AtMostADay<Timeout>;
} & InputOf<Of>;

type InputOf<Of> = Of extends Typed<infer Input, unknown> ? InputToGive<Input> : { readonly input?: unknown };

/** The input may be left out if the workflow needs none, or accepts null: then it is null. */
export type InputToGive<Input> = undefined extends Input
  ? { readonly input?: Input }
  : null extends Input
    ? { readonly input?: Input }
    : { readonly input: Input };

interface Typed<Input, Result> {
  readonly types?: { readonly input: Input; readonly result: Result };
}

/** The outcome of a run that a step has invoked. */
export interface InvokedRun<Result = unknown> {
  readonly result: Result;
  readonly runId: string;
}

/** What the workflow returns; unknown for an id. */
export type ResultOf<Of> = Of extends Typed<unknown, infer Result> ? Result : unknown;

/** An invocation as the service takes it. */
export type Invocation = Omit<InvokeWorkflow, "lease_token" | "key">;
