import { expect } from "vitest";
import { systemRandom } from "#kernel";
import type { LaneKey } from "#lanes";
import { createSchedules } from "#schedules";
import { auditLog, ids } from "../harness/audit.ts";
import { putLane, test } from "../harness/engine.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { putSchedule } from "../harness/schedules.ts";
import { until } from "../harness/service.ts";

test("a tick of a queue that workers serve wakes nodes for their workers only", async ({ database, engine, onTestFinished }) => {
  const [pushed, pulled] = [await putLane(database), await putLane(database)];
  await database.query("update lane set served = 'pull' where id = $1", [pulled.laneId]);
  for (const lane of [pushed, pulled]) await putSchedule(database, lane);
  await database.query("update schedule set cron = '* * * * *', next_run_at = date_trunc('minute', moment()), last_tick_at = null");
  await database.query("delete from schedule_tick");
  const woken: [string, LaneKey][] = [];
  const wake = (of: string) => (lanes: Iterable<LaneKey>) => void woken.push(...[...lanes].map((lane): [string, LaneKey] => [of, lane]));
  const { services = [], expect: expectTick } = createSchedules({
    config: { pollEveryMs: 1_000 } as never,
    tenants: {} as never,
    shares: {} as never,
    engine,
    lockWaits: lockWaits(),
    random: systemRandom,
    clock: { nowMs: () => Date.now(), elapsedMs: () => performance.now() },
    ids,
    audit: auditLog,
    emit: () => {},
    report: () => {},
    room: () => 100,
    startRuns: async () => {},
    waker: { wake: wake("push"), wakePulled: wake("pull"), wakeWorkflows: wake("workflow"), wakeAt: () => {} },
  });
  for (const service of services) {
    await service.start();
    onTestFinished(async () => void (await service.stop()));
  }
  expectTick(0);
  await until(() => woken.length > 1, "both ticks");
  // The next minute may have begun meanwhile.
  const known = new Map(woken.map(([of, lane]) => [`${of} ${lane.laneId}`, lane]));
  expect(Object.fromEntries(known)).toEqual({ [`pull ${pulled.laneId}`]: pulled, [`push ${pushed.laneId}`]: pushed });
});
