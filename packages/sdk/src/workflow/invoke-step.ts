import { checkNames, checkObject } from "../check-names.ts";
import type { StepKey } from "./context.ts";
import type { Duration } from "./duration.ts";
import type { Execution } from "./execution.ts";
import type { InvocableWorkflow } from "./invoke.ts";
import { invokeTimeoutMs } from "./invoke-timeout.ts";
import { remember } from "./remembered.ts";
import { checkKeyAlone } from "./step-settings.ts";

interface Asked {
  readonly workflow: InvocableWorkflow | string;
  readonly input?: unknown;
  readonly timeout: Duration;
}

const ASKED = { workflow: true, input: true, timeout: true } as const satisfies Record<keyof Asked, true>;

/** The `step.invoke` of a workflow's function. */
export const invokeStep =
  (execution: Execution) =>
  (name: string, invoked: Asked, options: StepKey = {}): Promise<unknown> => {
    const workflow = invoked?.workflow;
    return execution.ask(
      "invoke",
      name,
      options,
      () => {
        checkObject("The invocation", invoked);
        checkNames("step.invoke", invoked, ASKED);
        checkKeyAlone("step.invoke", options);
        const { input, timeout } = invoked;
        const invocation = {
          workflow: idOf(workflow),
          input: remember(input, `step "${name}"`, "input"),
          timeout: invokeTimeoutMs(timeout),
        };
        const { host } = execution;
        return (step) =>
          execution.beginLater(step, () => execution.callAndWait(step, () => host.invoke({ name, key: step.key }, invocation)));
      },
      typeof workflow === "string" ? workflow : workflow?.id,
    );
  };

function idOf(workflow: InvocableWorkflow | string): string {
  const id = typeof workflow === "string" ? workflow : workflow?.id;
  if (typeof id === "string" && id !== "") return id;
  throw new TypeError("step.invoke needs a workflow, or its id.");
}
