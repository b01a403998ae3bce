import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { batchEnqueue } from "./scenarios/batch-enqueue.ts";
import { callbacks } from "./scenarios/callbacks.ts";
import { claim } from "./scenarios/claim.ts";
import { claimFlow } from "./scenarios/claim-flow.ts";
import { fairness } from "./scenarios/fairness.ts";
import { idle } from "./scenarios/idle.ts";
import { isolation } from "./scenarios/isolation.ts";
import { keys } from "./scenarios/keys.ts";
import { latency } from "./scenarios/latency.ts";
import { schedulesHerd } from "./scenarios/schedules-herd.ts";
import { schedulesIdle } from "./scenarios/schedules-idle.ts";
import { schedulesSeconds } from "./scenarios/schedules-seconds.ts";
import { secrets } from "./scenarios/secrets.ts";
import { singleEnqueue } from "./scenarios/single-enqueue.ts";
import { describeMachine, type Figure, printTable } from "./table.ts";
import { Yard } from "./yard.ts";

/**
 * `npm run bench`: every figure of the design's speed table that this release has, measured in one run, each against its
 * yardstick. `npm run bench -- callbacks latency` runs some of them.
 */
const SCENARIOS: Record<string, (yard: Yard) => Promise<Figure[]>> = {
  // First, while there is nothing in the database.
  idle,
  latency,
  isolation,
  "schedules-idle": schedulesIdle,
  "schedules-seconds": schedulesSeconds,
  "schedules-herd": schedulesHerd,
  callbacks,
  secrets,
  "single-enqueue": singleEnqueue,
  "batch-enqueue": batchEnqueue,
  claim,
  keys,
  fairness,
  "claim-flow": claimFlow,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in SCENARIOS));
if (unknown.length > 0) {
  process.stderr.write(`There is no ${unknown.join(", ")}; there are ${Object.keys(SCENARIOS).join(", ")}.\n`);
  process.exit(1);
}
const directory = mkdtempSync(path.join(tmpdir(), "tidemill-bench-"));
// As root the database runs as somebody else, who must be able to get here.
chmodSync(directory, 0o711);
const yard = await Yard.open(directory);
const figures: Figure[] = [];
try {
  for (const [name, run] of Object.entries(SCENARIOS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    process.stderr.write(`${name} …\n`);
    figures.push(...(await run(yard)));
  }
} finally {
  await yard.close();
  rmSync(directory, { recursive: true, force: true });
}
process.stdout.write(`\n${describeMachine()}\n\n${printTable(figures)}\n`);
