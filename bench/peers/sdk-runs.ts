import { Tidemill, Worker, type WorkflowContext, workflow } from "@tidemill/sdk";
import { STEPS, sayReady } from "../run-orders.ts";
import { silent } from "../with-worker.ts";

/** Workflows of Tidemill, executed by a worker. */
sayReady(async ({ kind, url, key, name }, onEnd) => {
  const five = workflow({ id: name }, async ({ input, step }: WorkflowContext<number>) => {
    for (let at = 0; at < STEPS; at += 1) await step.run(`step ${at}`, () => at);
    onEnd(input);
  });
  const client = new Tidemill({ url, key });
  const start = (number: number) => client.workflows.trigger(name, { input: number });
  // How fast triggers are, and not how much executions beside them take from them.
  if (kind === "trigger") {
    await client.workflows.put(name);
    return { start, executes: false, close: async () => {} };
  }
  const worker = new Worker({ url, key, workflows: [five], concurrency: 500, signals: [], replayEachStep: false, logger: silent });
  const running = worker.run();
  // The worker registers the workflow.
  while (!(await client.workflows.get(name).catch(() => null)));
  return {
    start,
    close: () => worker.stop().then(() => running),
  };
});
