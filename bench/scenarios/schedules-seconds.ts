import { setTimeout as wait } from "node:timers/promises";
import { row, sql } from "../../packages/server/src/kernel/index.ts";
import type { Environment } from "../environment.ts";
import { type Processor, readProcessor } from "../processor.ts";
import { clearSchedules, putSchedules } from "../put-schedules.ts";
import type { Figure } from "../table.ts";

const SCHEDULES = 1_000;
const SECONDS = 20;
const BAR_P99_MS = 500;
const LEAD_MS = 2_000;

interface Ticks {
  readonly ticks: number;
  readonly distinct: number;
  readonly p50: number;
  readonly p99: number;
}

/** 1,000 schedules fire every second on one node: how late their jobs are created, and what each tick costs. There are no callbacks. */
export async function schedulesSeconds(environment: Environment): Promise<Figure[]> {
  const node = await environment.node(process.env.BENCH_PROFILE ? { BENCH_PROFILE: process.env.BENCH_PROFILE } : {});
  const queue = environment.queueName();
  await node.api("POST", "/v1/queues", { name: queue });
  const firstMs = Math.ceil((performance.timeOrigin + performance.now() + LEAD_MS) / 1_000) * 1_000;
  await putSchedules(environment, { queues: [queue], count: SCHEDULES, cron: "* * * * * *", firstMs, spreadSeconds: 0 });
  const untilMs = (ms: number) => wait(ms - performance.timeOrigin - performance.now());
  // Both readings are taken half a second after a tick.
  await untilMs(firstMs + 2_500);
  const before = await readProcessor(environment.connection.host, [node]);
  await untilMs(firstMs + 2_500 + SECONDS * 1_000);
  const after = await readProcessor(environment.connection.host, [node]);
  const found = await row<Ticks>(
    environment.database,
    sql`
      select count(*)::int as ticks, count(distinct (schedule, scheduled_for))::int as distinct,
        percentile_cont(0.5) within group (order by late) as p50, percentile_cont(0.99) within group (order by late) as p99
      from (
        select schedule, scheduled_for, (extract(epoch from created_at - scheduled_for) * 1000)::float8 as late from job
        where scheduled_for >= to_timestamp(${firstMs}::float8 / 1000 + 3)
          and scheduled_for < to_timestamp(${firstMs}::float8 / 1000 + 3 + ${SECONDS}::int)
      ) tick`,
  );
  await node.stop();
  await clearSchedules(environment);
  const { ticks, distinct, p50, p99 } = found ?? { ticks: 0, distinct: 0, p50: Number.NaN, p99: Number.NaN };
  const expected = SCHEDULES * SECONDS;
  const microseconds = (of: (processor: Processor) => number) => ((of(after) - of(before)) / expected) * 1e6;
  const node1 = microseconds(({ nodes }) => nodes);
  const postgres = microseconds((processor) => processor.postgres);
  const name = (what: string) => `1,000 schedules that fire every second, one node: ${what}`;
  const plain = { yardstick: "", ratio: "" };
  return [
    {
      ...plain,
      name: name("jobs, each tick's once"),
      measured: `${ticks} (${distinct} different)`,
      bar: `${expected}`,
      met: ticks === expected && distinct === expected,
    },
    { ...plain, name: name("late, p50"), measured: `${p50.toFixed(0)} ms`, bar: "", met: true },
    { ...plain, name: name("late, p99"), measured: `${p99.toFixed(0)} ms`, bar: `≤ ${BAR_P99_MS} ms`, met: p99 <= BAR_P99_MS },
    {
      ...plain,
      name: name("processor per tick"),
      measured: `${node1.toFixed(0)} µs node + ${postgres.toFixed(0)} µs PostgreSQL`,
      bar: "",
      met: true,
    },
  ];
}
