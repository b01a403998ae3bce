import { setTimeout as wait } from "node:timers/promises";
import type { BenchNode } from "../environment.ts";

interface Operation {
  readonly id: string;
  readonly state: string;
  readonly done: number;
}

const ASK_EVERY_MS = 250;

/** Retries all failed jobs of the workspace by one operation. Returns how many, and how long it took. */
export async function retryAllFailed(node: BenchNode): Promise<{ jobs: number; seconds: number }> {
  const from = performance.now();
  const { id } = await node.api<Operation>("POST", "/v1/jobs/retry", { filter: { state: "failed" } });
  for (;;) {
    const { state, done } = await node.api<Operation>("GET", `/v1/operations/${id}`);
    if (state !== "running") return { jobs: done, seconds: (performance.now() - from) / 1_000 };
    await wait(ASK_EVERY_MS);
  }
}
