import { expect } from "vitest";
import { JobKinds } from "#engine";
import { sql } from "#kernel";
import { callKind } from "#workflows";
import { test as base, putNode } from "../harness/engine.ts";
import { Handler } from "../harness/handler.ts";
import { hold, isWaiting } from "../harness/locks.ts";
import { rescue } from "../harness/rescue.ts";
import { type Service, until } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const httpStep = (url: string, more: object = {}, key = "call") => ({ key, type: "http", status: "waiting", http: { url, ...more } });
const suspended = (...steps: object[]) => ({ outcome: "suspended", steps });
const OWN = "workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea))";

/** A run whose call hangs, and the id of the call's job. */
const test = base
  .extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service))
  .extend<"server", Handler>("server", async ({}, { onCleanup }) => {
    const server = await Handler.listen("hang");
    onCleanup(() => server.close());
    return server;
  })
  .extend<"pending", { runId: string; jobId: string }>("pending", async ({ service, flow, server }) => {
    const runId = await flow.trigger();
    await flow.end(await flow.take(), suspended(httpStep(server.url)));
    await until(() => server.open === 1, "the call");
    return { runId, jobId: await idOfCall(service) };
  });

async function idOfCall(service: Service): Promise<string> {
  const [job] = await service.database.query<{ id: string }>(`select id from job where kind = 'http' and ${OWN}`, [service.key]);
  if (!job) throw new Error("There is no call.");
  return job.id;
}

const hasCalls = async (service: Service) =>
  (await service.database.query(`select from job where kind = 'http' and ${OWN}`, [service.key])).length > 0;
const lockOf = (id: string) => sql`select from job where id = ${id} for update`;

test("a cancel does not wait for a call that is being settled, whose outcome is dropped", async ({
  service,
  engine,
  flow,
  server,
  pending,
}) => {
  const lock = hold(engine, lockOf(pending.jobId));
  await lock.held;
  server.release();
  await until(() => isWaiting(service.database, "with gone as"), "the settle to wait");
  await service.ok("POST", `/v1/runs/${pending.runId}/cancel`);
  await lock.release();
  await until(async () => !(await hasCalls(service)), "the call to be gone");
  expect(await flow.get(pending.runId)).toMatchObject({ status: "cancelled", steps: [{ status: "waiting", output: null }] });
});

test("a call that a cancel finds locked is not made again", async ({ service, engine, flow, server }) => {
  server.answers = 503;
  const runId = await flow.trigger();
  await flow.end(await flow.take(), suspended(httpStep(server.url)));
  await until(async () => typeof (await flow.get(runId)).waitingFor[0]?.nextAttemptAt === "string", "an attempt to fail");
  const lock = hold(engine, lockOf(await idOfCall(service)));
  await lock.held;
  await service.ok("POST", `/v1/runs/${runId}/cancel`);
  await lock.release();
  expect(await hasCalls(service)).toBe(true);
  await service.advance(60);
  await until(async () => !(await hasCalls(service)), "the call to be gone");
  expect(server.received).toHaveLength(1);
});

test("an outcome that comes while its run is being suspended lets the run go on", async ({ service, engine, flow, server }) => {
  await flow.trigger();
  const run = await flow.take();
  const report = { lease_token: run.lease_token, steps: [httpStep(server.url)] };
  await service.ok("POST", `/v1/runs/${run.runId}/steps`, report);
  await until(() => server.open === 1, "the call");
  const [job] = await service.database.query<{ id: string }>(`select id from job where kind = 'run' and ${OWN}`, [service.key]);
  const lock = hold(engine, lockOf(job?.id ?? ""));
  await lock.held;
  server.release();
  await until(() => isWaiting(service.database, ") locked"), "the settle of the call to wait");
  const ended = flow.end(run, suspended());
  await lock.release();
  expect(await ended).toMatchObject({ ok: true });
  expect((await flow.take()).journal).toMatchObject([{ key: "call", status: "completed" }]);
});

test("calls of one run that end at the same time all have their outcomes", async ({ flow, server }) => {
  await flow.trigger();
  const keys = Array.from({ length: 20 }, (_, n) => `call ${n}`);
  await flow.end(await flow.take(), suspended(...keys.map((key) => httpStep(server.url, {}, key))));
  await until(() => server.open === keys.length, "the calls");
  server.release();
  for (;;) {
    const run = await flow.take();
    if (run.journal.every(({ status }) => status === "completed")) break;
    await flow.end(run, suspended());
  }
});

test("a call whose nodes are lost three times in a row has failed", async ({ service, database, engine, flow, server, pending }) => {
  const lost = await putNode(database, { alive: false });
  await service.database.query("update job set lease_id = $1, node_losses = 2 where id = $2", [lost, pending.jobId]);
  const never = () => {
    throw new Error("This delivers nothing.");
  };
  await rescue(engine, new JobKinds([callKind({ start: never, enforceDeadlines: () => {} })]));
  const error = { name: "HttpError", code: "NODE_LOST", message: "The node that made the attempt was lost.", status: null };
  expect((await flow.take({ wait: 10 })).journal).toMatchObject([{ key: "call", status: "failed", error }]);
  server.release();
});
