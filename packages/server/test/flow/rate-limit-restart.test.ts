import { expect } from "vitest";
import { enqueueAll, patch, times } from "../harness/pair.ts";
import { startsOf, untilRateIsUsed } from "../harness/rate-limit.ts";
import { newWorkspace, Service, startTestNode, test, until } from "../harness/service.ts";

test("a rate limit remembers what started before all nodes were stopped", async ({ database, clock, onTestFinished }) => {
  const workspace = await newWorkspace(database);
  const before = new Service(await startTestNode(database, clock), database, clock, workspace);
  onTestFinished(() => before.close());
  const handler = await before.handler({ rate_limit: { max: 3, per_seconds: 60 } });
  await enqueueAll(before, handler.queue, times(8, {}));
  await until(() => handler.received.length === 3, "three to start");
  await before.node.stop();

  const after = new Service(await startTestNode(database, clock), database, clock, workspace);
  onTestFinished(() => after.node.stop());
  await after.advance(59.9);
  // New jobs are checked before waiting ones.
  await patch(after, handler.queue, { callback_timeout: 60 });
  await untilRateIsUsed(after, handler.queue);
  await after.advance(0.1);
  await until(() => handler.received.length === 6, "three more to start");
  const starts = await startsOf(after, handler.queue);
  const startMs = clock.nowMs() - 60_000;
  expect(starts.map((ms) => ms - startMs)).toEqual([0, 0, 0, 60_000, 60_000, 60_000]);
});
