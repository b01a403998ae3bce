import { describe, expect } from "vitest";
import { type Database, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import { disableIfFailing } from "../../src/webhooks/store.ts";
import type { TestDatabase } from "../harness/database.ts";
import { laneOf, test } from "../harness/engine.ts";
import { type Service, until } from "../harness/service.ts";
import { putDeliveries, statesOf } from "../harness/webhook-rows.ts";
import { Receiver } from "../harness/webhooks.ts";

/** Sends a test event: the node knows the webhook from then on. */
async function sendTest(service: Service, receiver: Receiver): Promise<void> {
  const { length } = receiver.server.received;
  await service.ok("POST", "/v1/webhooks/alerts/test");
  await receiver.untilReceived(length + 1);
  await receiver.untilState("delivered");
}

/** Switches the webhook off as PATCH does, before any of its deliveries is cancelled. */
async function switchOff(database: TestDatabase, { laneId }: LaneKey): Promise<void> {
  await database.query("update lane set revision = revision + 1 where id = $1", [laneId]);
  await database.query("update webhook set disabled_at = moment(), disabled_for = 'request' where id = $1", [laneId]);
}

const untilNoJob = (service: Service, database: TestDatabase, { laneId }: LaneKey): Promise<void> =>
  until(async () => {
    service.node.wake();
    return (await database.query("select from job where lane_id = $1", [laneId])).length === 0;
  }, "the deliveries to have no job");

/** Stores deliveries that no node takes until `release`. */
async function putHeld(engine: Database, database: TestDatabase, lane: LaneKey, count: number) {
  await database.query("update lane set paused = true where id = $1", [lane.laneId]);
  const ids = await putDeliveries(engine, database, lane, count);
  return { ids, release: () => database.query("update lane set paused = false where id = $1", [lane.laneId]) };
}

describe("a webhook that was switched off gets", () => {
  test("none of its deliveries that are not cancelled yet, or whose job is still there: they are cancelled", async ({
    service,
    database,
    engine,
    onTestFinished,
  }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"] });
    const lane = await laneOf(service, "alerts");
    await sendTest(service, receiver);
    const { ids, release } = await putHeld(engine, database, lane, 3);
    await switchOff(database, lane);
    await database.query("update webhook_delivery set state = 'cancelled', ended_at = moment() where id = $1", [ids[2]]);
    await release();
    await untilNoJob(service, database, lane);
    expect(receiver.server.received).toHaveLength(1);
    expect(await statesOf(database, lane)).toEqual(["delivered", "cancelled", "cancelled", "cancelled"]);
    expect((await receiver.deliveries()).map(({ attempts }) => attempts)).toEqual([0, 0, 0, 1]);
  });

  test("what is requested afterwards", async ({ service, database, clock, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"] });
    await sendTest(service, receiver);
    await switchOff(database, await laneOf(service, "alerts"));
    await service.moveTo(clock.nowMs() + 1_000);
    await sendTest(service, receiver);
    expect(receiver.server.received).toHaveLength(2);
  });

  test("nothing either if it was switched off because it failed for five days", async ({ service, database, engine, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"] });
    const lane = await laneOf(service, "alerts");
    await sendTest(service, receiver);
    const { release } = await putHeld(engine, database, lane, 1);
    await engine.transaction(async (tx) => {
      await tx.query(sql`update webhook set failing_since = moment() - interval '6 days' where id = ${lane.laneId}`);
      expect(await disableIfFailing(tx, lane)).not.toBeNull();
      await tx.query(sql`update webhook set cancelling = false where id = ${lane.laneId}`);
    });
    await release();
    await untilNoJob(service, database, lane);
    expect(receiver.server.received).toHaveLength(1);
    expect(await statesOf(database, lane)).toEqual(["delivered", "cancelled"]);
  });
});
