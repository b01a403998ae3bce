import { isGeneratorFunction } from "../lost-in-json.ts";
import type { StandardSchema } from "../schema.ts";
import { checkWorkflow } from "./check-workflow.ts";
import type { WorkflowContext } from "./context.ts";
import type { Duration } from "./duration.ts";
import type { LifecycleHooks } from "./hooks.ts";
import type { Remembered } from "./remembered.ts";
import type { NoSignals, WorkflowSignals } from "./signal.ts";
import type { StartInput, Starts } from "./start.ts";

/** Settings of a workflow. */
export interface WorkflowOptions<Parsed, Input, Signals = WorkflowSignals> extends LifecycleHooks {
  /** Unique in the workspace, for example `user.onboard`: letters, digits, dots, hyphens and underscores, at most 128. */
  readonly id: string;
  /** What starts runs, other than a trigger: events, a cron schedule, or a list of these. Without `input`, it gives the input its type. */
  readonly on?: Starts;
  /** Checks the input of each run, and gives it its type. An input that does not fit fails its run for good. */
  readonly input?: StandardSchema<Input, Parsed>;
  /** The signals that the workflow waits for, by the name of the step that waits, with the types of their payloads. */
  readonly signals?: Signals;
  /** After how many failed executions a run fails. 3 by default. */
  readonly attempts?: number;
  /** How long to wait before the second attempt; twice as long before each further one. 1 s by default, at most 24 h. */
  readonly backoff?: { readonly delay: Duration };
  /** How many executions of its code may be under way at once, across all workers: of runs, hooks and undos. No limit by default. */
  readonly concurrency?: number;
  /** Version of the code. */
  readonly version?: string;
}

/** A workflow: a function whose steps are remembered. `Input` is the input of a run, `Result` the result that a caller gets. */
export interface Workflow<Input = unknown, Result = unknown, Signals extends WorkflowSignals = WorkflowSignals> {
  readonly id: string;
  readonly options: WorkflowOptions<unknown, Input>;
  /** The signals that the workflow waits for: `tidemill.signal(onboard.signals.approval, id, payload)` completes one. */
  readonly signals: Signals;
  /** Called again from its top whenever a run continues. */
  readonly program: (context: WorkflowContext<never>) => unknown;
  /** Exists only in types. */
  readonly types?: { readonly input: Input; readonly result: Result };
}

// biome-ignore lint/suspicious/noExplicitAny: workflows of different inputs are in one list.
export type AnyWorkflow = Workflow<any, any>;

const OPTIONS = {
  id: true,
  on: true,
  input: true,
  signals: true,
  attempts: true,
  backoff: true,
  concurrency: true,
  version: true,
  onSuccess: true,
  onFailure: true,
  onCancel: true,
} as const satisfies Record<keyof WorkflowOptions<unknown, unknown>, true>;

/**
 * Defines a workflow.
 *
 * ```ts
 * const onboard = workflow({ id: "user.onboard", attempts: 3 }, async ({ input, step }: WorkflowContext<{ userId: string }>) => {
 *   const user = await step.run("load user", () => db.user(input.userId));
 *   await step.sleep("a day", "24h");
 *   await step.run("greet", () => mail.greet(user));
 * });
 * ```
 *
 * @param program must do the same with the same outcomes of steps. Code that has an effect, or whose result differs from call to call,
 * belongs in a step
 * @throws {TypeError} naming the option that is wrong
 */
export function workflow<Result, const On extends Starts, Signals extends WorkflowSignals = NoSignals>(
  options: WorkflowOptions<StartInput<On>, StartInput<On>, Signals> & { readonly on: On; readonly input?: undefined },
  program: (context: WorkflowContext<StartInput<On>, Signals>) => Result,
): Workflow<StartInput<On>, Remembered<Awaited<Result>>, Signals>;
export function workflow<Result, Parsed = unknown, Input = Parsed, Signals extends WorkflowSignals = NoSignals>(
  options: WorkflowOptions<Parsed, Input, Signals>,
  program: (context: WorkflowContext<Parsed, Signals>) => Result,
): Workflow<Input, Remembered<Awaited<Result>>, Signals>;
export function workflow(options: WorkflowOptions<unknown, unknown>, program: (context: WorkflowContext<never>) => unknown): Workflow {
  checkWorkflow(options, OPTIONS);
  if (typeof program !== "function") throw new TypeError(`The workflow ${options.id} needs a function.`);
  if (isGeneratorFunction(program))
    throw new TypeError(
      `The function of the workflow ${options.id} is a generator, which a call does not execute. Make it an async function.`,
    );
  return { id: options.id, options, signals: options.signals ?? {}, program };
}
