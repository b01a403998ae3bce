import { SignalTimeoutError, type WorkflowContext, workflow } from "@tidemill/sdk";

const onboard = workflow({ id: "onboard", version: "1" }, async ({ input, step }: WorkflowContext<{ userId: string }>) => {
  const user = await step.run("load user", () => ({ id: input.userId }));
  await step.sleep("a day", "24h");
  return step.run("greet", () => user.id);
});

const ask = workflow({ id: "ask", version: "1" }, async ({ step, run }: WorkflowContext) => {
  try {
    await step.waitForSignal("answer", { signal: `ask.${run.id}`, timeout: "1h" });
  } catch (error) {
    if (!(error instanceof SignalTimeoutError)) throw error;
    await step.sleep("later", "24h");
  }
});

export const workflows = [onboard, ask];
