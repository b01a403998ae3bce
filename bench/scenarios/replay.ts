import { setTimeout as wait } from "node:timers/promises";
import { type WorkflowContext, workflow } from "@tidemill/sdk";
import type { BenchNode, Environment } from "../environment.ts";
import { type Figure, median, thousands } from "../table.ts";
import { withWorker } from "../with-worker.ts";

const FEW = 20;
const MANY = 2_000;
/** Runs with few steps, and with many. The first half warms up. */
const RUNS = { [FEW]: 100, [MANY]: 3 };
const BAR = 2;

/** What a replay of a journal takes the worker's processor for each step: with 20 steps, and with 2,000. */
export async function replay(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const few = await timeReplays(node, environment.key, FEW);
  const many = await timeReplays(node, environment.key, MANY);
  await node.stop();
  const ratio = many.stepUs / few.stepUs;
  const us = (one: number) => `${one.toFixed(1)} µs for each step`;
  return [
    {
      name: `replay of a journal of ${thousands(MANY)} steps, in the program`,
      measured: us(many.stepUs),
      yardstick: `${us(few.stepUs)} of ${FEW}`,
      ratio: ratio.toFixed(2),
      bar: `≤ ${BAR}`,
      met: ratio <= BAR,
    },
    {
      name: `completion of a signal to the end of the run, with ${thousands(MANY)} steps before it`,
      measured: `${many.wholeMs.toFixed(1)} ms`,
      yardstick: `${few.wholeMs.toFixed(1)} ms with ${FEW}`,
      ratio: "",
      bar: "",
      met: true,
    },
  ];
}

/** Executes steps, waits for a signal, and is then executed again: all steps come from the journal. Medians. */
async function timeReplays(node: BenchNode, key: string, steps: number): Promise<{ stepUs: number; wholeMs: number }> {
  const replayedUs: number[] = [];
  const wholeMs: number[] = [];
  const ended = new Map<string, () => void>();
  const stepped = workflow({ id: `steps-${steps}` }, async ({ run, step }: WorkflowContext<null>) => {
    const before = process.cpuUsage();
    for (let at = 0; at < steps; at += 1) await step.run(`step ${at}`, () => at);
    const { user, system } = process.cpuUsage(before);
    await step.waitForSignal("go on", { signal: `go-on-${run.id}`, timeout: "1h" });
    replayedUs.push(user + system);
    ended.get(run.id)?.();
  });
  await withWorker(node, key, [stepped], async (client) => {
    for (let left = RUNS[steps as keyof typeof RUNS]; left > 0; left -= 1) {
      const { runIds } = await client.workflows.trigger(stepped.id, { input: null });
      const [id = ""] = runIds;
      while ((await client.runs.get(id)).status !== "waiting") await wait(5);
      const end = new Promise<void>((resolve) => ended.set(id, resolve));
      const startedMs = performance.now();
      await client.signals.complete(`go-on-${id}`, null);
      await end;
      wholeMs.push(performance.now() - startedMs);
    }
  });
  const late = (took: readonly number[]) => median(took.slice(Math.floor(took.length / 2)));
  return { stepUs: late(replayedUs) / steps, wholeMs: late(wholeMs) };
}
