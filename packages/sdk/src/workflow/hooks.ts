import type { Hook, RunError, TakenHook } from "@tidemill/contract";

const HOOKS = ["onSuccess", "onFailure", "onCancel"] as const satisfies readonly Hook[];

/** What every lifecycle hook gets. */
interface HookContext {
  readonly runId: string;
  /** Id of the workflow. */
  readonly functionId: string;
  /** The attempt in which the run ended, from 1. */
  readonly attempt: number;
}

export interface SuccessContext extends HookContext {
  /** What the run returned. */
  readonly result: unknown;
}

export interface FailureContext extends HookContext {
  /** Why the run failed. */
  readonly error: RunError;
}

export interface CancelContext extends HookContext {
  /** Why the last attempt of the run failed; null if none did. */
  readonly error: RunError | null;
}

/**
 * Functions that a worker calls when a run has ended. Each is called once per end of a run. An error that it throws is recorded with the
 * run and changes nothing else. A hook that takes more than 30 seconds is recorded as slow, and continues.
 */
export interface LifecycleHooks {
  /** The run has completed. */
  readonly onSuccess?: (context: SuccessContext) => unknown;
  /** The run has failed for good. */
  readonly onFailure?: (context: FailureContext) => unknown;
  /** The run was cancelled after it had started. */
  readonly onCancel?: (context: CancelContext) => unknown;
}

/** The hooks that a workflow has. */
export const hooksOf = (options: LifecycleHooks): Hook[] => HOOKS.filter((hook) => options[hook] !== undefined);

/** Calls a hook for the service or a test. */
export async function callHook(
  options: LifecycleHooks,
  taken: Pick<TakenHook, "hook" | "runId" | "workflowId" | "attempt" | "result" | "error">,
) {
  const { hook, runId, workflowId: functionId, attempt, result = null, error = null } = taken;
  const call = options[hook] as ((context: object) => unknown) | undefined;
  await call?.({ runId, functionId, attempt, ...(hook === "onSuccess" ? { result } : { error }) });
}
