import { event, signal, type WorkerOptions, type WorkflowContext, workflow } from "@tidemill/sdk";

/** What a worker writes when it executes something. */
export type Trace =
  /** The function of a step was called, with what the workflow had appended before. */
  | { readonly kind: "step"; readonly run: string; readonly step: string; readonly seen: readonly string[]; readonly value: string }
  | { readonly kind: "hook"; readonly run: string };

export interface ParentResult {
  /** Values in the order in which the workflow got them. */
  readonly appended: readonly string[];
  /** Runs that its event has started. */
  readonly started: readonly string[];
}

export const PARENT = "crash.parent";
export const CHILD = "crash.child";
export const INVOKED = "crash.invoked";
/** Names of the steps whose functions append a value, and how many of them a run executes at least. */
export const APPENDING_STEPS = 8;

/** How long a step takes. */
const STEP_MS = 20;

/** What the invoked run of a run returns. */
export const invokedValue = (run: string): string => `invoked ${run}`;

export const signalOf = (run: string): string => `approve.${run}`;

const approval = signal<string>();
const done = event<{ readonly parent: string }>("crash.done");

/**
 * A workflow of eleven steps (steps, a sleep, a signal that is registered first, parallel steps, a race, an invocation and an event) that
 * appends to a list, one that it invokes, and one that its event starts.
 *
 * @param unique gives another text in each call: so two executions of a step differ
 */
export function crashWorkflows(write: (trace: Trace) => void, unique: () => string): NonNullable<WorkerOptions["workflows"]> {
  const invoked = workflow({ id: INVOKED, attempts: 100, backoff: { delay: 10 } }, async ({ input, step }: WorkflowContext<string>) => {
    await step.sleep("nap", 50);
    return step.run("answer", () => invokedValue(input));
  });
  const parent = workflow(
    { id: PARENT, attempts: 100, backoff: { delay: 10 }, onSuccess: ({ runId }) => write({ kind: "hook", run: runId }) },
    async ({ step, run }: WorkflowContext<unknown>): Promise<ParentResult> => {
      const appended: string[] = [];
      const execute = (name: string) =>
        step.run(name, async () => {
          const value = `${name} ${unique()}`;
          write({ kind: "step", run: run.id, step: name, seen: [...appended], value });
          // Something else may happen meanwhile.
          await new Promise((resolve) => setTimeout(resolve, STEP_MS));
          return value;
        });
      const append = async (name: string) => void appended.push(await execute(name));

      await append("first");
      await step.sleep("nap", 100);
      await append("second");
      const { signal } = await step.signal("ask", { signal: signalOf(run.id) });
      await append("third");
      appended.push(await step.waitForSignal("approval", { signal, timeout: "24h", of: approval }));
      await Promise.all([append("left"), append("right")]);
      const { winner, value } = await step.race({ one: execute("one"), other: execute("other") });
      appended.push(value);
      await append(`after ${winner}`);
      appended.push((await step.invoke("ask another", { workflow: invoked, input: run.id, timeout: "1h" })).result);
      const { runIds } = await step.sendEvent("tell", { name: done, data: { parent: run.id } });
      await append("last");
      return { appended, started: runIds };
    },
  );
  const child = workflow({ id: CHILD, on: done, attempts: 100, backoff: { delay: 10 } }, ({ input }) => input.parent);
  return [parent, invoked, child];
}
