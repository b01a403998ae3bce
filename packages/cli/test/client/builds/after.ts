import { SignalTimeoutError, Worker, type WorkflowContext, workflow } from "@tidemill/sdk";

const onboard = workflow({ id: "onboard", version: "2" }, async ({ input, step }: WorkflowContext<{ userId: string }>) => {
  const account = await step.run("load account", () => ({ id: input.userId }));
  await step.sleep("a day", "24h");
  return step.run("greet", () => account.id);
});

const ask = workflow({ id: "ask", version: "2" }, async ({ step, run }: WorkflowContext) => {
  try {
    await step.waitForSignal("answer", { signal: `ask.${run.id}`, timeout: "1h" });
  } catch (error) {
    if (!(error instanceof SignalTimeoutError)) throw error;
    await step.sleep("later", "24h");
    await step.run("ask again", () => {});
  }
});

const unknown = workflow({ id: "not.registered.yet" }, () => null);

export const worker = new Worker({ url: "http://127.0.0.1:1", key: "tm_none", workflows: [onboard, ask, unknown], signals: [] });
