import type { PushedHook, PushedRun } from "@tidemill/contract";
import { expect } from "vitest";
import type { Received } from "../harness/handler.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const RUNS = 100;
const SETTINGS = { TIDEMILL_NODE_LEASE_SECONDS: "2" };

type Pushed = PushedRun | PushedHook;
const read = ({ raw }: Received): Pushed => JSON.parse(raw);
const respond = (outcome: object) => ({ status: 200, body: JSON.stringify(outcome) });

test("runs in progress when their node is killed are executed by another one, and go on behind their steps", async ({ stage }) => {
  const database = await stage.database();
  const first = await stage.node({ DATABASE_URL: database.url, ...SETTINGS });
  let isHanging = true;
  const charged: string[] = [];
  const program = await stage.handler(async (received) => {
    const pushed = read(received);
    if (pushed.kind === "hook") return 500;
    const { runId, lease_token, journal } = pushed;
    if (journal?.length === 0) {
      charged.push(runId);
      await first.client.ok("POST", `/v1/runs/${runId}/steps`, {
        lease_token,
        steps: [{ key: "charge", type: "run", status: "completed", output: 1 }],
      });
    }
    return isHanging ? "hang" : respond({ outcome: "completed", result: "done" });
  });
  await first.client.ok("PUT", "/v1/workflows/charge", { endpoint_url: program.url, endpoint_timeout: 900, attempts: 1 });
  const ids = await Promise.all(
    Array.from({ length: RUNS }, async (_, n) => (await first.client.ok("POST", "/v1/workflows/charge/trigger", { input: n })).runIds[0]),
  );
  await until(() => program.open === RUNS, "every run to be executed");
  isHanging = false;
  await first.kill();
  const second = await stage.node({ DATABASE_URL: database.url, ...SETTINGS });
  await until(
    async () => (await database.query<{ n: number }>("select count(*)::int as n from run where status = 'completed'"))[0]?.n === RUNS,
    "every run to complete",
  );
  expect(charged.toSorted()).toEqual(ids.toSorted());
  // On a busy machine the second node may lose its lease, too.
  expect(program.attempts.filter((attempt) => attempt === 1)).toHaveLength(RUNS);
  expect(program.attempts.filter((attempt) => attempt > 1).length).toBeGreaterThanOrEqual(RUNS);
  const run = await second.client.ok("GET", `/v1/runs/${ids[0]}`);
  expect(run).toMatchObject({ status: "completed", result: "done", attempt: 1, steps: [{ key: "charge" }] });
});

test("a hook in progress when its node is killed is recorded, and does not fire again", async ({ stage }) => {
  const database = await stage.database();
  const first = await stage.node({ DATABASE_URL: database.url, ...SETTINGS });
  const program = await stage.handler((received) => (read(received).kind === "hook" ? "hang" : respond({ outcome: "completed" })));
  await first.client.ok("PUT", "/v1/workflows/hooked", { endpoint_url: program.url, hooks: ["onSuccess"] });
  const [runId] = (await first.client.ok("POST", "/v1/workflows/hooked/trigger", {})).runIds;
  await until(() => program.open === 1, "the hook to begin");
  await first.kill();
  const second = await stage.node({ DATABASE_URL: database.url, ...SETTINGS });
  await until(async () => (await second.client.ok("GET", `/v1/runs/${runId}`)).hookErrors.length > 0, "the hook to be recorded");
  expect((await second.client.ok("GET", `/v1/runs/${runId}`)).hookErrors).toMatchObject([
    { hook: "onSuccess", message: "The node that made the attempt was lost." },
  ]);
  expect(program.received).toHaveLength(2);
});

test("a node that stops ends the executions in progress: a run is executed by another one, a hook is recorded", async ({ stage }) => {
  const database = await stage.database();
  const settings = { DATABASE_URL: database.url, TIDEMILL_DRAIN_SECONDS: "0", ...SETTINGS };
  const first = await stage.node(settings);
  let isHanging = true;
  const program = await stage.handler((received) => {
    const pushed = read(received);
    return isHanging && (pushed.kind === "hook" || pushed.input === "hang") ? "hang" : respond({ outcome: "completed" });
  });
  await first.client.ok("PUT", "/v1/workflows/hooked", { endpoint_url: program.url, hooks: ["onSuccess"], attempts: 1 });
  const trigger = async (input: string) => (await first.client.ok("POST", "/v1/workflows/hooked/trigger", { input })).runIds[0];
  const hooked = await trigger("end");
  await until(() => program.open === 1, "the hook to begin");
  const run = await trigger("hang");
  await until(() => program.open === 2, "the run to be executed");
  isHanging = false;
  first.signal("SIGTERM");
  await first.end();
  const second = await stage.node(settings);
  await until(async () => (await second.client.ok("GET", `/v1/runs/${run}`)).status === "completed", "the run to complete");
  expect(await second.client.ok("GET", `/v1/runs/${run}`)).toMatchObject({ attempt: 1 });
  expect((await second.client.ok("GET", `/v1/runs/${hooked}`)).hookErrors).toMatchObject([
    { message: "The node ended the attempt before the response came." },
  ]);
});
