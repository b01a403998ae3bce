import { expect, onTestFinished } from "vitest";
import { Database } from "#kernel";
import { sweepEventKeysAcrossWorkspaces, sweepExpiredRunsAcrossWorkspaces } from "#workflows";
import { limitedTo } from "../harness/limits.ts";
import { test } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const DAY = 86_400;

test("the key of an event goes with the last run that the event started, and not before its retention ends", async ({ service }) => {
  const limited = await limitedTo(service, { retention_days: 7 });
  const { take, end } = await putWorkflow(limited, { events: ["a"] });
  const send = () => limited.ok("POST", "/v1/events", { name: "a", idempotencyKey: "k" });
  const engine = new Database({ connection: { connectionString: service.database.url }, size: 1, statementTimeoutMs: 10_000 });
  onTestFinished(() => engine.close());
  const sweep = async () => {
    await sweepExpiredRunsAcrossWorkspaces(engine);
    await sweepEventKeysAcrossWorkspaces(engine);
  };
  await send();
  const run = await take({ lease: 43_200 });
  await service.clock.advance(3_600);
  await end(run, { outcome: "completed" });
  await service.clock.advance(7 * DAY - 3_599);
  await sweep();
  expect(await send()).toMatchObject({ duplicate: true, runIds: [run.runId] });
  await service.clock.advance(DAY);
  await sweep();
  expect(await send()).toMatchObject({ duplicate: false });
});
