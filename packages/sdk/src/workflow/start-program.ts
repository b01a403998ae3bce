import { parsePayload } from "../schema.ts";
import type { Execution } from "./execution.ts";
import { type ExecutedRun, runValues } from "./run-values.ts";
import { stepsOf } from "./steps.ts";
import type { AnyWorkflow } from "./workflow.ts";

/** Calls the function of a workflow. The execution ends when it returns or throws. */
export function startProgram({ options, program }: AnyWorkflow, execution: Execution, run: ExecutedRun): void {
  const start = async (): Promise<unknown> => {
    // Replays get the same input, whatever the program changes of it.
    const given = structuredClone(run.input);
    const input = options.input ? await parsePayload(options.input, given, "input") : given;
    return program({ input: input as never, step: stepsOf(execution, run.runId), run: runValues(execution, run) });
  };
  void start().then(
    (result) => execution.finish({ kind: "returned", result }),
    (error: unknown) => execution.finish({ kind: "threw", error }),
  );
}
