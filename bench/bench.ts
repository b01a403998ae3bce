import { Environment } from "./environment.ts";
import { type NeighboursOptions, readOptions } from "./neighbours/options.ts";
import { batchEnqueue } from "./scenarios/batch-enqueue.ts";
import { callbacks } from "./scenarios/callbacks.ts";
import { claim } from "./scenarios/claim.ts";
import { claimFlow } from "./scenarios/claim-flow.ts";
import { type DashboardOptions, dashboard } from "./scenarios/dashboard.ts";
import { dashboardPages } from "./scenarios/dashboard-pages.ts";
import { failures } from "./scenarios/failures.ts";
import { fairness } from "./scenarios/fairness.ts";
import { idle } from "./scenarios/idle.ts";
import { idleWorkers } from "./scenarios/idle-workers.ts";
import { isolation } from "./scenarios/isolation.ts";
import { keys } from "./scenarios/keys.ts";
import { latency } from "./scenarios/latency.ts";
import { liveStreams } from "./scenarios/live-streams.ts";
import { neighbours } from "./scenarios/neighbours.ts";
import { replay } from "./scenarios/replay.ts";
import { schedulesBurst } from "./scenarios/schedules-burst.ts";
import { schedulesIdle } from "./scenarios/schedules-idle.ts";
import { schedulesSeconds } from "./scenarios/schedules-seconds.ts";
import { secrets } from "./scenarios/secrets.ts";
import { singleEnqueue } from "./scenarios/single-enqueue.ts";
import { sleepingRuns } from "./scenarios/sleeping-runs.ts";
import { workerLatency } from "./scenarios/worker-latency.ts";
import { FLOORS, type WorkersOptions, workers } from "./scenarios/workers.ts";
import { workflows } from "./scenarios/workflows.ts";
import { PEERS } from "./sides.ts";
import { describeMachine, type Figure, printTable } from "./table.ts";

/**
 * `npm run bench` runs all scenarios, one after the other, and prints a table of their figures. Where a figure has a yardstick, both
 * are measured in the same run. `npm run bench -- callbacks latency` runs only the named scenarios.
 */
const SCENARIOS: Record<string, (environment: Environment, options: ScenarioOptions) => Promise<Figure[]>> = {
  // First, while the database is empty.
  idle,
  latency,
  isolation,
  "schedules-idle": schedulesIdle,
  "schedules-seconds": schedulesSeconds,
  "schedules-burst": schedulesBurst,
  callbacks,
  secrets,
  "single-enqueue": singleEnqueue,
  "batch-enqueue": batchEnqueue,
  claim,
  keys,
  fairness,
  failures,
  "claim-flow": claimFlow,
  workers,
  "worker-latency": workerLatency,
  "idle-workers": idleWorkers,
  "live-streams": liveStreams,
  workflows,
  replay,
  "sleeping-runs": sleepingRuns,
  "dashboard-pages": dashboardPages,
  // Last: it leaves six million jobs.
  dashboard,
};

/** Options of scenarios. Those that do not know one leave it. */
type ScenarioOptions = DashboardOptions & WorkersOptions;

/** Runs alone, and only when it is named. */
const NEIGHBOURS = "neighbours";

const PEER_NAMES = [...Object.keys(PEERS), FLOORS];

const HELP = `Measures Tidemill's speed and prints a table of figures.

  npm run bench                  runs all scenarios
  npm run bench -- SCENARIO ...  runs only these
  npm run bench -- dashboard --jobs 50000
                                 runs it with fewer jobs, which shows only that it works
  npm run bench -- workers [--peers redis,floors] [--jobs 30000]
                                 compares with these only: ${PEER_NAMES.join(", ")}
  npm run bench -- ${NEIGHBOURS} [--attacks 1,4+6,all] [--seconds 15] [--nodes 1] [--apart] [--samples FILE]
                                 attacks a node from one workspace and measures another; takes ten minutes and up to 8 GB;
                                 writes each request and delivery of it to FILE; --apart gives it nodes of its own

Scenarios: ${Object.keys(SCENARIOS).join(", ")}.

BENCH_PROFILE=FILE writes a CPU profile of the measured node to FILE (some scenarios only).
`;

const wanted = process.argv.slice(2);
if (wanted.some((argument) => argument === "--help" || argument === "-h")) {
  process.stdout.write(HELP);
  process.exit(0);
}
const isNeighbours = wanted[0] === NEIGHBOURS;
const scenarioOptions = isNeighbours ? {} : takeScenarioOptions();
const unknown = isNeighbours ? [] : wanted.filter((name) => !Object.hasOwn(SCENARIOS, name));
if (unknown.length > 0) refuse(`Unknown scenario: ${unknown.join(", ")}.`);
const options = isNeighbours ? readNeighboursOptions() : null;
process.once("SIGTERM", () => process.exit(143)).once("SIGINT", () => process.exit(130));
const environment = await Environment.open();
let results: string;
try {
  results = options ? await neighbours(environment, options) : printTable(await runScenarios());
} finally {
  await environment.close();
}
process.stdout.write(`\n${describeMachine()}\n\n${results}\n`);

async function runScenarios(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, run] of Object.entries(SCENARIOS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    process.stderr.write(`${name} …\n`);
    figures.push(...(await run(environment, scenarioOptions)));
  }
  return figures;
}

function readNeighboursOptions(): NeighboursOptions {
  try {
    return readOptions(wanted.slice(1));
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/** Takes the options out of what is wanted. */
function takeScenarioOptions(): ScenarioOptions {
  const [jobs, peers] = [takeOption("--jobs"), takeOption("--peers")?.split(",")];
  if (jobs !== null && !(Number.isInteger(Number(jobs)) && Number(jobs) >= 1_000)) refuse("--jobs takes a whole number from 1000.");
  if (peers && !peers.every((name) => PEER_NAMES.includes(name))) refuse(`--peers takes some of ${PEER_NAMES.join(", ")}.`);
  return { ...(jobs && { jobs: Number(jobs) }), ...(peers && { peers }) };
}

function takeOption(name: string): string | null {
  const at = wanted.indexOf(name);
  return at === -1 ? null : (wanted.splice(at, 2)[1] ?? "");
}

function refuse(why: string): never {
  process.stderr.write(`${why}\n\n${HELP}`);
  process.exit(1);
}
