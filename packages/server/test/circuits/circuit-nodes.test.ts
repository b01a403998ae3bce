import { describe, expect } from "vitest";
import { test as base } from "../harness/circuits.ts";
import { laneOf } from "../harness/engine.ts";
import { joinedBy, NEVER_POLL } from "../harness/nodes.ts";
import { until } from "../harness/service.ts";

const test = base.extend("other", async ({ service }, { onCleanup }) => {
  const other = await joinedBy(service, NEVER_POLL);
  onCleanup(() => other.node.stop());
  return other;
});

describe("a circuit that one node opened", () => {
  test("a circuit that one node opened holds on another that knows nothing of it, and on one that comes later", async ({
    service,
    stand,
    other,
  }) => {
    const dead = await stand.open();
    const later = await joinedBy(service, NEVER_POLL);
    for (const one of [other, later]) {
      const job = await one.enqueue({ queue: dead.queue });
      await stand.look(one);
      expect(await one.job(job)).toMatchObject({ state: "waiting", attempt: 0 });
    }
    await later.node.stop();
    expect(dead.received).toHaveLength(20);
  });

  test("a circuit that one node opened holds what was under way on another", async ({ stand, other }) => {
    const dead = await stand.dead(0);
    dead.answers = "hang";
    const jobs = [await other.enqueue({ queue: dead.queue }), await other.enqueue({ queue: dead.queue })];
    await until(() => dead.open === 2, "the other's attempts");
    await stand.failing(dead, 20);
    expect(await stand.circuit(dead)).toMatchObject({ state: "open" });
    dead.release(500);
    for (const job of jobs) {
      await other.untilState(job, "waiting");
      expect(await other.job(job)).toMatchObject({ attempt: 1, attempts: 2, attempts_log: [{ outcome: "failed" }] });
    }
  });

  test("a circuit that one node opened is tried by one of them alone", async ({ service, stand, other }) => {
    const dead = await stand.open();
    await stand.batch(dead, 20);
    dead.answers = "hang";
    await service.clock.set(Date.parse((await stand.circuit(dead)).next_probe_at));
    service.node.wake();
    other.node.wake();
    await until(() => dead.open === 1, "the probe");
    await stand.look();
    await stand.look(other);
    expect(dead.received).toHaveLength(21);
    dead.release(500);
  });

  test("a circuit that one node opened is closed for all by a probe of any", async ({ service, stand, other }) => {
    const handler = await stand.open();
    const jobs = await stand.batch(handler, 50);
    handler.answers = 200;
    await service.clock.set(Date.parse((await stand.circuit(handler)).next_probe_at));
    other.node.wake();
    for (const job of jobs) await service.untilState(job, "completed");
    await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
    await stand.failing(handler, 19);
    expect(await stand.circuit(handler)).toMatchObject({ state: "closed" });
    await stand.fail(handler);
    expect(await stand.circuit(handler)).toMatchObject({ state: "open" });
  });

  test("a circuit that one node opened is tried again when the node is lost that had the probe; the job comes back", async ({
    service,
    stand,
  }) => {
    // It does not notice its loss: as one that is gone for good, it says no more of its probe.
    const other = await joinedBy(service, { ...NEVER_POLL, TIDEMILL_NODE_LEASE_SECONDS: "300" });
    const dead = await stand.open({ callback_timeout: 20 });
    const { laneId } = await laneOf(service, dead.queue);
    const pause = (paused: boolean) => service.database.query("update lane set paused = $2 where id = $1", [laneId, paused]);
    // Jobs of a paused lane wake no node. So only the node that is woken below can make the probe.
    await pause(true);
    const jobs = await stand.batch(dead, 2);
    await pause(false);
    dead.answers = "hang";
    await service.clock.set(Date.parse((await stand.circuit(dead)).next_probe_at));
    other.node.wake();
    await until(() => dead.open === 1, "the probe");
    await service.database.query(
      "update lease set expires_at = now() - interval '1 second' where id = (select lease_id from job where state = 'active' and lane_id = $1)",
      [laneId],
    );
    service.node.wake();
    await until(async () => (await stand.metrics(dead)).active === 0, "the job to come back");
    await stand.passMs(24_999);
    await stand.look();
    expect(dead.received).toHaveLength(21);
    dead.answers = 200;
    await stand.passMs(1);
    for (const job of jobs) await service.untilState(job, "completed");
    dead.release();
    await other.node.stop();
  });
});
