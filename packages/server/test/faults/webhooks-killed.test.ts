import { expect } from "vitest";
import { ask } from "../harness/cluster.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const JOBS = 200;

test("events outlive the node that is killed between their cause and their delivery, and again while it sends them", async ({ stage }) => {
  const dataDir = stage.migratedDataDir();
  const settings = { TIDEMILL_DATA_DIR: dataDir };
  const query = (text: string) => ask(dataDir, text);
  const [handler, receiver] = [await stage.handler(), await stage.handler("hang")];
  // It never looks for events: they wait when it is killed.
  const first = await stage.node({ ...settings, TIDEMILL_POLL_EVERY_MS: "3600000" });
  await first.client.ok("POST", "/v1/webhooks", { name: "alerts", url: receiver.url, events: ["job.completed"] });
  const queue = await first.client.queue("mails", handler.url);
  const jobs = await first.client.enqueueMany(queue, JOBS);
  await until(async () => (await first.client.states(queue)).completed === JOBS, "every job to complete");
  await first.kill();
  await first.endLease(query);
  expect(receiver.received).toEqual([]);
  expect(await ask(dataDir, "select count(*)::int as n from event_outbox")).toEqual([{ n: JOBS }]);

  const second = await stage.node(settings);
  await until(() => receiver.open === JOBS, "every event to be on its way");
  await second.kill();
  await second.endLease(query);
  await until(() => receiver.open === 0, "its connections to be gone");

  receiver.answers = 204;
  const third = await stage.node(settings);
  const delivered = () => ask<{ n: number }>(dataDir, "select count(*)::int as n from webhook_delivery where state = 'delivered'");
  await until(async () => (await delivered())[0]?.n === JOBS, "every event to be delivered");
  const events = receiver.received.map(({ raw }) => JSON.parse(raw) as { id: string; data: { id: string } });
  expect(new Set(events.map(({ data }) => data.id))).toEqual(new Set(jobs));
  // Each event was sent twice, with the same id.
  expect(new Set(events.map(({ id }) => id)).size).toBe(JOBS);
  expect(events).toHaveLength(2 * JOBS);
  expect(await ask(dataDir, "select (select count(*) from event_outbox) + (select count(*) from job) as n")).toEqual([{ n: "0" }]);
  third.signal("SIGTERM");
  expect(await third.end()).toEqual({ code: 0, signal: null });
});
