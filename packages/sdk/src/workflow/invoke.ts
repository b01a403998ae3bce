import type { InvokeWorkflow } from "@tidemill/contract";
import type { Duration } from "./duration.ts";
import type { AtMostADay } from "./invoke-timeout.ts";

/** A workflow that a step may invoke: what `workflow` has defined. */
export interface InvocableWorkflow {
  readonly id: string;
  readonly program: (context: never) => unknown;
  /** Present in types alone. */
  readonly types?: { readonly input: unknown; readonly result: unknown };
}

/** What a step invokes. */
export type WorkflowToInvoke<Of extends InvocableWorkflow | string, Timeout extends Duration> = {
  /** The workflow, or its id. */
  readonly workflow: Of;
  /** How long to wait for the run: "90s", "24h", or milliseconds; at most 24 hours. When it has passed, the run goes on. */
  readonly timeout: AtMostADay<Timeout>;
} & InputOf<Of>;

type InputOf<Of> = Of extends Typed<infer Input, unknown> ? InputToGive<Input> : { readonly input?: unknown };

/** The input may be left out where the workflow needs none, or takes null: it gets null. */
export type InputToGive<Input> = undefined extends Input
  ? { readonly input?: Input }
  : null extends Input
    ? { readonly input?: Input }
    : { readonly input: Input };

interface Typed<Input, Result> {
  readonly types?: { readonly input: Input; readonly result: Result };
}

/** What a run that a step has invoked has come to. */
export interface InvokedRun<Result = unknown> {
  readonly result: Result;
  readonly runId: string;
}

/** What the workflow returns; unknown for an id. */
export type ResultOf<Of> = Of extends Typed<unknown, infer Result> ? Result : unknown;

/** An invocation as the service takes it. */
export type Invocation = Omit<InvokeWorkflow, "lease_token" | "key">;
