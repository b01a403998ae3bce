import { expect } from "vitest";
import { fractions } from "../harness/chance.ts";
import { limitedTo } from "../harness/limits.ts";
import { joinedBy } from "../harness/nodes.ts";
import { rateOf } from "../harness/rate.ts";
import { test as base } from "../harness/service.ts";

const LIMIT = 200;
const WINDOW_MS = 60_000;
/** After this time everything that was used is free again. The test's steps fit into it. */
const AGAIN_MS = 63_000;

const test = base.extend("nodes", async ({ service }, { onCleanup }) => {
  const nodes = [service.node];
  onCleanup(async () => {
    await Promise.all(nodes.slice(1).map((node) => node.stop()));
  });
  while (nodes.length < 3) nodes.push((await joinedBy(service)).node);
  return nodes;
});

test("three nodes together never let more than the limit through in any 60 seconds, and hardly less", async ({ service, nodes, clock }) => {
  const limited = await limitedTo(service, { requests_per_minute: LIMIT });
  const accepted: number[] = [];
  const winners = new Set<number>();
  const startMs = clock.nowMs();
  const chance = fractions(7);
  let sent = 0;
  while (clock.nowMs() < startMs + 4 * WINDOW_MS) {
    const nowMs = clock.nowMs();
    const wave = Array.from({ length: 24 }, (_, n) =>
      fetch(`${nodes[n % nodes.length]?.url}/v1/queues`, { headers: { authorization: `Bearer ${limited.key}` } }),
    );
    for (const [n, reply] of (await Promise.all(wave)).entries()) {
      await reply.arrayBuffer();
      sent += 1;
      if (reply.status === 200) {
        accepted.push(nowMs);
        winners.add(n % nodes.length);
      } else expect(reply.status).toBe(429);
    }
    await clock.advance(0.2 + 1.2 * chance.next().value);
  }
  expect(sent).toBeGreaterThan(3 * LIMIT);
  expect(winners.size).toBe(3);
  const endMs = clock.nowMs();
  const within = (fromMs: number, lengthMs: number) => accepted.filter((at) => at >= fromMs && at < fromMs + lengthMs).length;
  expect(Math.max(...accepted.map((at) => within(at, WINDOW_MS)))).toBe(LIMIT);
  const starts = [...new Set(accepted)].filter((at) => at + AGAIN_MS < endMs);
  expect(starts.length).toBeGreaterThan(20);
  expect(Math.min(...starts.map((at) => within(at, AGAIN_MS)))).toBeGreaterThanOrEqual(0.95 * LIMIT);
});

test("a burst on three nodes at once is let through up to the limit, to the request", async ({ service, nodes }) => {
  const limited = await limitedTo(service, { requests_per_minute: 50 });
  const burst = Array.from({ length: 150 }, (_, n) =>
    fetch(`${nodes[n % nodes.length]?.url}/v1/queues`, { headers: { authorization: `Bearer ${limited.key}` } }),
  );
  const statuses = await Promise.all(burst.map(async (reply) => (await reply).status));
  expect(statuses.filter((status) => status === 200)).toHaveLength(50);
  expect(statuses.filter((status) => status === 429)).toHaveLength(100);
});

test("a store that fails lets each node's own count stand in, and nobody notices", async ({ service, database }) => {
  const limited = await limitedTo(service, { requests_per_minute: 5 });
  await database.query("alter function take_requests rename to take_requests_kept");
  try {
    const replies = await Promise.all(Array.from({ length: 12 }, () => limited.api("GET", "/v1/queues")));
    expect(replies.map(({ status }) => status).sort()).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
    expect(replies.map((reply) => rateOf(reply)["x-ratelimit-limit"])).toEqual(Array(12).fill("5"));
  } finally {
    await database.query("alter function take_requests_kept rename to take_requests");
  }
});
