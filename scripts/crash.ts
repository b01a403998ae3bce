import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const HELP = `Executes runs of a workflow of ten steps while workers, nodes and PostgreSQL are killed, and checks that each run ended with each value
once and in one order, and that each hook fired once or is reported.

  npm run crash -- [--runs N] [--faults N] [--seed N]

  --runs N    number of runs (default 200)
  --faults N  how many times something is killed, frozen or cut off (default 50)
  --seed N    chooses the faults and their moments (default: random; it is printed)
`;

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TEST = "packages/sdk/test/faults/workflows-killed.test.ts";

function readPlan(): { runs: number; faults: number; seed: number } {
  try {
    const text = { type: "string" } as const;
    const { values } = parseArgs({ options: { runs: text, faults: text, seed: text, help: { type: "boolean", short: "h" } } });
    if (values.help) {
      process.stdout.write(HELP);
      process.exit(0);
    }
    const { runs = "200", faults = "50", seed = String(randomInt(1, 1_000_000)) } = values;
    return { runs: readInteger("runs", runs), faults: readInteger("faults", faults), seed: readInteger("seed", seed) };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(2);
  }
}

function readInteger(name: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number from 1 to 999999.`);
}

const plan = readPlan();
process.stdout.write(`${plan.runs} runs, ${plan.faults} faults. To repeat it: --seed ${plan.seed}\n`);
const env = { ...process.env, CRASH_PLAN: JSON.stringify(plan) };
const { status } = spawnSync(process.execPath, ["--conditions=source", "node_modules/vitest/vitest.mjs", "run", TEST], {
  cwd: ROOT,
  env,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
