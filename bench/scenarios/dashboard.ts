import type { BenchNode, Environment } from "../environment.ts";
import { putDashboardJobs } from "../put-dashboard-jobs.ts";
import { type Figure, median } from "../table.ts";

const JOBS = 1_000_000;
const WAITING = 5_000_000;
const ROUNDS = 9;
const LIST_BAR_MS = 150;
const COUNTS_BAR_MS = 50;

/** The first pages that the dashboard asks for. */
const LISTS = (queue: string): Readonly<Record<string, string>> => ({
  "queues with metrics": "/v1/queues?include=metrics&limit=100",
  "jobs of all queues": "/v1/jobs?limit=100",
  "jobs, failed": "/v1/jobs?state=failed&limit=100",
  "jobs of a queue": `/v1/queues/${queue}/jobs?limit=100`,
  "jobs of a queue by tag": `/v1/queues/${queue}/jobs?tag=tag-3&limit=100`,
  "dead letters": "/v1/dlq?limit=100",
  "dead letters in groups": "/v1/dlq/groups",
  approvals: "/v1/approvals?limit=100",
  schedules: "/v1/schedules?limit=100",
  runs: "/v1/runs?limit=100",
  workers: "/v1/workers?limit=100",
  "audit events": "/v1/audit-events?limit=100",
  "metrics of an hour": "/v1/metrics?step=300",
  changes: "/v1/changes",
});

/** How long first pages take with 1,000,000 jobs, and the status and a queue's counts with 5,000,000 that wait. */
export async function dashboard(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const queue = await putDashboardJobs(environment.database, JOBS, 0);
  const figures: Figure[] = [];
  for (const [name, path] of Object.entries(LISTS(queue))) figures.push(await measure(node, `first page: ${name}`, path, LIST_BAR_MS));
  await putDashboardJobs(environment.database, 0, WAITING);
  figures.push(await measure(node, "status with 5,000,000 waiting", "/v1/status", COUNTS_BAR_MS));
  figures.push(await measure(node, "a queue's counts with 5,000,000 waiting", "/v1/queues/waiting-1", COUNTS_BAR_MS));
  figures.push(
    await measure(node, "first page: queues with metrics, with 5,000,000 waiting", LISTS(queue)["queues with metrics"] ?? "", LIST_BAR_MS),
  );
  await node.stop();
  return figures;
}

/** The median over rounds; the first ones plan the statements. */
async function measure(node: BenchNode, name: string, path: string, barMs: number): Promise<Figure> {
  const took: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = performance.now();
    await node.api("GET", path);
    took.push(performance.now() - from);
  }
  const ms = median(took.slice(2));
  return {
    name,
    measured: `${ms.toFixed(1)} ms; first ${(took[0] ?? 0).toFixed(0)} ms`,
    yardstick: "",
    ratio: "",
    bar: `≤ ${barMs} ms`,
    met: ms <= barMs,
  };
}
