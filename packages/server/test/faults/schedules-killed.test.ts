import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import { fractions } from "../harness/chance.ts";
import { EverySecond } from "../harness/every-second.ts";
import { until } from "../harness/service.ts";
import { type Stage, test } from "../harness/stage.ts";

// In real time, as no other test: frozen clocks of processes that die and start would have to be moved between the very statements
// that a death is to come between. Nothing is asserted of how long anything takes.
const DEATH_COUNT = 12;
const MAX_PAUSE_MS = 500;
/** Three of four deaths come so soon after ticks were seen being taken: during the transaction, its commit, or what comes next. */
const SOON_MS = 15;

const DEATHS = ["node", "database", "both"] as const;

const nowMs = () => performance.timeOrigin + performance.now();

test("a thousand every-second schedules make each tick's job once, while nodes and the database are killed", { timeout: 180_000 }, async ({
  stage,
}) => {
  const seed = Math.floor(nowMs()) % 1_000_000;
  const deaths: string[] = [];
  await run(stage, fractions(seed), deaths).catch((cause: Error) => {
    throw new Error(`With the seed ${seed}, after ${deaths.join(", ")}: ${cause.message}`, { cause });
  });
});

async function run(stage: Stage, chance: Generator<number, never>, deaths: string[]): Promise<void> {
  const draw = () => chance.next().value;
  const cluster = await stage.cluster();
  const settings = { DATABASE_URL: cluster.url(), TIDEMILL_NODE_LEASE_SECONDS: "2" };
  const nodes = [await stage.node(settings), await stage.node(settings)];
  const schedules = await EverySecond.put(cluster);
  const startMs = nowMs();

  while (deaths.length < DEATH_COUNT) {
    await wait(draw() * MAX_PAUSE_MS);
    if (draw() < 0.75) {
      await until(() => schedules.areFiring(), "ticks to be taken");
      await wait(draw() * SOON_MS);
    }
    const death = DEATHS[Math.floor(draw() * DEATHS.length)] ?? "both";
    const victim = draw() < 0.5 ? 0 : 1;
    deaths.push(`${death} ${victim} at ${((nowMs() - startMs) / 1_000).toFixed(3)} s`);
    if (death !== "node") await cluster.stop("immediate");
    if (death !== "database") await nodes[victim]?.kill();
    if (death !== "node") await cluster.start();
    if (death !== "database") nodes[victim] = await stage.node(settings);
  }
  const endMs = nowMs();
  await until(() => schedules.hasTaken(endMs), "the ticks to be caught up with");
  for (const node of nodes) node.signal("SIGTERM");
  for (const node of nodes) expect(await node.end()).toEqual({ code: 0, signal: null });

  expect(await schedules.differences()).toEqual([]);
}
