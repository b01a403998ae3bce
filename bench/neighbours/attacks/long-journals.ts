import { LIMITS } from "@tidemill/contract";
import type { Attack } from "../attack.ts";
import { type Attacker, repeat } from "../attacker.ts";

const RUNS = 4;
const STEPS = 28;
const REQUESTS = 200;
const AT_ONCE = 12;
const FOLLOWERS = 24;

export const longJournals: Attack = {
  number: 15,
  name: "runs with journals of 28 MiB: 12 read at once, and 24 followed by readers that read nothing",
  plan: "pro",
  prepare: async (attacker) => {
    await attacker.must("PUT", "/v1/workflows/long", {});
    const ids: string[] = [];
    for (let run = 0; run < RUNS; run += 1) ids.push(await runWithJournal(attacker));
    const idOf = (index: number): string => ids[index % RUNS] ?? "";
    return () => {
      for (let reader = 0; reader < FOLLOWERS; reader += 1) attacker.open(`GET /v1/runs/${idOf(reader)}/events`).pause();
      return repeat(REQUESTS, AT_ONCE, (request) => attacker.send("GET", `/v1/runs/${idOf(request)}`));
    };
  },
};

async function runWithJournal(attacker: Attacker): Promise<string> {
  await attacker.must("POST", "/v1/workflows/long/trigger", {});
  const taken = await attacker.must<{ runs: { runId: string; lease_token: string }[] }>("POST", "/v1/work", {
    worker: "attacker",
    workflows: ["long"],
  });
  const [run] = taken.runs;
  if (!run) throw new Error("There was no run to take.");
  const output = "x".repeat(LIMITS.payloadBytes - 2);
  for (let step = 0; step < STEPS; step += 1) {
    const steps = [{ key: `step ${step}`, type: "run", status: "completed", output }];
    await attacker.must("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps });
  }
  return run.runId;
}
