import { describe, expect, onTestFinished } from "vitest";
import { limitedTo } from "../harness/limits.ts";
import { newWorkspace, Service, test } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

describe("a trigger with an idempotency key", () => {
  test("starts one run, also when it is sent twice at once", async ({ service }) => {
    const { id } = await putWorkflow(service);
    const send = () => service.api("POST", `/v1/workflows/${id}/trigger`, { idempotencyKey: "k", input: 1 });
    const replies = await Promise.all([send(), send(), send()]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    expect(new Set(replies.map(({ body }) => body.runIds[0])).size).toBe(1);
    expect((await service.ok("GET", `/v1/runs?workflowId=${id}`)).data).toHaveLength(1);
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(1);
  });

  test("is a duplicate whatever its input, and starts a run of its own under another workflow or another key (Workflow behavior 7)", async ({
    service,
  }) => {
    const [one, other] = [await putWorkflow(service), await putWorkflow(service)];
    const send = (id: string, body: object) => service.ok("POST", `/v1/workflows/${id}/trigger`, body);
    const first = await send(one.id, { idempotencyKey: "k", input: 1 });
    expect(first.duplicate).toBe(false);
    expect(await send(one.id, { idempotencyKey: "k", input: 2 })).toEqual({ ...first, duplicate: true });
    for (const again of [
      await send(one.id, {}),
      await send(one.id, { idempotencyKey: "l" }),
      await send(other.id, { idempotencyKey: "k" }),
    ]) {
      expect(again.duplicate).toBe(false);
      expect(again.runIds).not.toEqual(first.runIds);
    }
  });
});

describe("the header Idempotency-Key", () => {
  const requests: Record<string, (service: Service) => Promise<readonly [path: string, body: object]>> = {
    "a trigger": async (service) => [`/v1/workflows/${(await putWorkflow(service)).id}/trigger`, {}],
    "an event": async (service) => {
      await putWorkflow(service, { events: ["a"] });
      return ["/v1/events", { name: "a" }];
    },
  };
  for (const [what, prepare] of Object.entries(requests)) {
    test(`of ${what} is its idempotency key`, async ({ service }) => {
      const [path, body] = await prepare(service);
      const post = (key: string, more: object = {}) => service.api("POST", path, { ...body, ...more }, { "idempotency-key": key });
      const first = await post("k");
      expect(first.body).toMatchObject({ duplicate: false, runIds: [expect.any(String)] });
      expect((await post("k")).body).toEqual({ ...first.body, duplicate: true });
      expect((await post("k", { idempotencyKey: "k" })).body).toEqual({ ...first.body, duplicate: true });
      expect(await service.ok("POST", path, { ...body, idempotencyKey: "k" })).toEqual({ ...first.body, duplicate: true });
      const { status, body: refused } = await post("k", { idempotencyKey: "l" });
      expect([status, refused.error.details.issues[0].path]).toEqual([400, "idempotency-key"]);
      expect((await post("l")).body).toMatchObject({ duplicate: false });
    });
  }
});

describe("a trigger of a workspace whose executions are used up", () => {
  test("is refused with 402, also with a known key, and starts nothing (Workflow behavior 8)", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const { id, trigger } = await putWorkflow(limited);
    await trigger({ idempotencyKey: "k" });
    for (const body of [{}, { idempotencyKey: "k" }]) {
      const { status, body: reply } = await limited.api("POST", `/v1/workflows/${id}/trigger`, body);
      expect([status, reply.error.code]).toEqual([402, "QUOTA_EXCEEDED"]);
    }
    expect((await limited.ok("GET", `/v1/runs?workflowId=${id}`)).data).toHaveLength(1);
  });

  test("takes nothing of the quota as a duplicate", async ({ service }) => {
    const { trigger } = await putWorkflow(await limitedTo(service, { executions_per_month: 2 }));
    const first = await trigger({ idempotencyKey: "k" });
    expect(await trigger({ idempotencyKey: "k" })).toBe(first);
    expect(await trigger()).not.toBe(first);
  });
});

describe("triggers that are sent at once", () => {
  test("use up the quota to the last execution, and duplicates take nothing of it", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 10 });
    const { id } = await putWorkflow(limited);
    const bodies = Array.from({ length: 30 }, (_, index) => ({ input: index, idempotencyKey: `k${index % 15}` }));
    const replies = await Promise.all(bodies.map((body) => limited.api("POST", `/v1/workflows/${id}/trigger`, body)));
    const codes = replies.map(({ status }) => status);
    expect(codes.filter((code) => code === 201)).toHaveLength(10);
    expect(codes.every((code) => [200, 201, 402].includes(code))).toBe(true);
    const { data } = await limited.ok("GET", `/v1/runs?workflowId=${id}&limit=100`);
    expect(new Set(data.map(({ idempotencyKey }: { idempotencyKey: string }) => idempotencyKey)).size).toBe(10);
    expect(data).toHaveLength(10);
    // Keys of triggers that were refused are free.
    await service.advance(35 * 24 * 60 * 60);
    const again = await Promise.all(bodies.slice(0, 10).map((body) => limited.api("POST", `/v1/workflows/${id}/trigger`, body)));
    expect(again.every(({ status }) => status === 200 || status === 201)).toBe(true);
  });

  test("go to their own workflows, with their own input; one that does not exist is not found", async ({ service }) => {
    const [one, two] = [await putWorkflow(service), await putWorkflow(service, { attempts: 7 })];
    const names = Array.from({ length: 30 }, (_, index) => [one.id, two.id, "missing"][index % 3] as string);
    const replies = await Promise.all(
      names.map((name, index) => service.api("POST", `/v1/workflows/${name}/trigger`, { input: { index } })),
    );
    for (const [index, { status, body }] of replies.entries()) {
      if (names[index] === "missing") expect([status, body.error.details.resource]).toEqual([404, "workflow"]);
      else {
        const attempts = names[index] === two.id ? 7 : 3;
        expect(await one.get(body.runIds[0])).toMatchObject({ workflowId: names[index], input: { index }, attempts });
      }
    }
  });
});

test("a workflow of another workspace is not there", async ({ service }) => {
  const { id } = await putWorkflow(service);
  const other = new Service(service.node, service.database, service.clock, await newWorkspace(service.database));
  for (const [method, path] of [
    ["GET", ""],
    ["DELETE", ""],
    ["POST", "/trigger"],
  ] as const)
    expect((await other.api(method, `/v1/workflows/${id}${path}`, method === "POST" ? {} : undefined)).status).toBe(404);
  expect((await other.api("POST", "/v1/work", { worker: "w", queues: [], workflows: [id] })).status).toBe(404);
});

describe("many triggers in one call", () => {
  test("start their runs, or are refused, each by itself", async ({ service }) => {
    const { id, work } = await putWorkflow(service);
    const [first] = (await service.ok("POST", `/v1/workflows/${id}/trigger`, { idempotencyKey: "k" })).runIds;
    const large = JSON.stringify("x".repeat(1024 * 1024));
    const triggers = [
      '{"input":{"n":12345678901234567890}}',
      '{"idempotencyKey":"k"}',
      `{"input":${large}}`,
      '{"input":"${{ nope }}"}',
      '{"delay":60}',
    ];
    const { status, body } = await service.api("POST", `/v1/workflows/${id}/trigger/batch`, `{"triggers":[${triggers.join(",")}]}`);
    expect(status).toBe(200);
    const ok = { duplicate: false, code: null, message: null, details: {} };
    expect(body.triggered).toMatchObject([
      { ...ok, runIds: [expect.any(String)] },
      { ...ok, runIds: [first], duplicate: true },
      { runIds: [], code: "PAYLOAD_TOO_LARGE", details: { limit_bytes: 1024 * 1024 } },
      { runIds: [], code: "VALIDATION_ERROR", details: { issues: [{ path: "triggers[3].input" }] } },
      { ...ok, runIds: [expect.any(String)] },
    ]);
    const taken = await work({ workflows: [id], limit: 10 });
    expect(taken.runs.map(({ runId }) => runId)).toEqual([first, body.triggered[0].runIds[0]]);
    await service.advance(60);
    expect((await work({ workflows: [id], limit: 10, wait: 10 })).runs).toMatchObject([{ runId: body.triggered[4].runIds[0] }]);
  });

  test("say which have started when the database is away before the last ones", async ({ service, database }) => {
    const { id } = await putWorkflow(service);
    await database.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception using errcode = '57P03'; end $$;
      create trigger refuse before insert on run for each row when (new.input = '"last"') execute function refuse()`);
    onTestFinished(() => database.query("drop function if exists refuse cascade").then(() => {}));
    const triggers = [...Array.from({ length: 600 }, () => ({ input: 1 })), { input: "last" }];
    const { triggered } = await service.ok("POST", `/v1/workflows/${id}/trigger/batch`, { triggers });
    const codes = Object.groupBy(triggered as { code: string | null; runIds: string[] }[], ({ code }) => String(code));
    expect(Object.keys(codes).sort()).toEqual(["UNAVAILABLE", "null"]);
    expect(codes.UNAVAILABLE?.every(({ runIds }) => runIds.length === 0)).toBe(true);
    const [stored] = await database.query<{ runs: number }>(
      "select count(*)::int as runs from run join lane on lane.id = lane_id where name = $1",
      [id],
    );
    expect(codes.null?.length).toBe(stored?.runs);
    expect((await service.api("POST", `/v1/workflows/${id}/trigger/batch`, { triggers: [{ input: "last" }] })).status).toBe(503);
    await database.query("drop function refuse cascade");
  });

  test("of a workflow that is not there are refused together", async ({ service }) => {
    const refused = await service.api("POST", "/v1/workflows/absent/trigger/batch", { triggers: [{}, {}] });
    expect(refused).toMatchObject({ status: 404, body: { error: { code: "NOT_FOUND" } } });
  });

  test("wake a worker that waits", async ({ service }) => {
    const { id, work } = await putWorkflow(service);
    const waiting = work({ workflows: [id], limit: 10, wait: 20 });
    await service.ok("POST", `/v1/workflows/${id}/trigger/batch`, { triggers: [{}, {}] });
    expect((await waiting).runs.length).toBeGreaterThan(0);
  });
});
